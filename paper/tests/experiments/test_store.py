import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imkpl_paper.experiments.spec import Cell
from imkpl_paper.experiments.store import RowStore, current_rows

TEXT = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1e6, 1e6) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ROWS = st.lists(
    st.dictionaries(TEXT, VALUES, max_size=3).map(lambda d: {**d, "fingerprint": "f"}),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    # Thousands of appends: whether they have reached the disk does not matter here.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield tmp_path_factory.mktemp("rows")


@settings(max_examples=5, deadline=None)
@given(rows=ROWS)
def test_a_file_cut_at_any_byte_loses_the_last_row_only_and_can_be_appended_to(folder, rows):
    path = folder / "rows.jsonl"
    path.unlink(missing_ok=True)
    store = RowStore(path)
    ends = [0]
    for number, row in enumerate(rows):
        store.append({**row, "key": f"k{number}"})
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    expected = [{**row, "key": f"k{number}"} for number, row in enumerate(rows)]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        # The line break at the end of a row is no part of it.
        n_whole = sum(size >= end - 1 for end in ends[1:])
        assert store.read() == expected[:n_whole]
        store.append({"key": "new", "fingerprint": "f"})
        assert store.read() == [*expected[:n_whole], {"key": "new", "fingerprint": "f"}]


def test_a_file_that_is_not_there_has_no_rows(tmp_path):
    assert RowStore(tmp_path / "none.jsonl").read() == []


def test_of_rows_with_the_same_key_and_source_the_last_one_counts(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")
    for fingerprint, value in [("a", 1), ("b", 2), ("a", 3)]:
        store.append({"key": "k", "fingerprint": fingerprint, "value": value})
    assert [row["value"] for row in store.read()] == [2, 3]


def test_lines_that_are_no_rows_are_ignored(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'[1]\n{"no": "key"}\n\xff\xfe\n{"key": "k"}\n\n')
    assert RowStore(path).read() == [{"key": "k"}]


def test_what_json_does_not_have_becomes_null(tmp_path):
    store = RowStore(tmp_path / "rows.jsonl")
    store.append({"key": "k", "x": float("nan"), "deep": [{"y": float("inf")}], "z": (1, 2.5)})
    (row,) = store.read()
    assert row == {"key": "k", "x": None, "deep": [{"y": None}], "z": [1, 2.5]}
    json.dumps(row, allow_nan=False)


def test_rows_of_another_source_count_only_when_asked_for():
    rows = [
        {"key": "a", "method": "m", "fingerprint": "new", "value": 1},
        {"key": "a", "method": "m", "fingerprint": "old", "value": 2},
        {"key": "b", "method": "m", "fingerprint": "old", "value": 3},
        {"key": "b", "method": "m", "fingerprint": "older", "value": 4},
    ]
    assert {k: r["value"] for k, r in current_rows(rows, {"m": "new"}).items()} == {"a": 1}
    found = current_rows(rows, {"m": "new"}, any_version=True)
    assert {k: r["value"] for k, r in found.items()} == {"a": 1, "b": 4}
    assert [bool(found[k].get("is_older")) for k in "ab"] == [False, True]


def test_cells_have_different_keys_unless_they_are_equal():
    cells = [
        Cell(task, dataset, method, split, chosen)
        for task in ("judge", "embed")
        for dataset in ("wine", "digits")
        for method in ("IMKPL", "ISKPL")
        for split in (0, 1)
        for chosen in ((), (("sparsity", 1),), (("sparsity", 2),), (("max_kernels", None),))
    ]
    assert len({cell.key for cell in cells}) == len(cells)
    assert Cell("judge", "wine", "IMKPL", 0).key == Cell("judge", "wine", "IMKPL", 0).key
