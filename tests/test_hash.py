"""One digest for all data."""

from imkpl._hash import digest


def test_other_bytes_divisions_and_keys_have_other_digests():
    found = [digest(b"ab", b"c"), digest(b"a", b"bc"), digest(b"abc"), digest(b"ab", b"d"),
             digest(b"ab", b"c", key=b"k"), digest()]  # fmt: skip
    assert len(set(found)) == len(found)
    assert digest(b"ab", b"c").hex() == found[0].hex()
    assert {len(one) for one in found} == {16}
    assert len(digest(b"a", size=32)) == 32
