"""Our reader of MATLAB files gives what scipy's gives, and refuses what contradicts itself."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat, savemat

from imkpl.readers.matlab import MAX_DEPTH, DamagedFileError, is_version_5, read_variables

VALUES = {
    "X": np.arange(6.0).reshape(2, 3) / 7,
    "single": np.array([[1.5, -2.0]], dtype=np.float32),
    "three": np.arange(24.0).reshape(2, 3, 4),
    "large": np.array([2**63], dtype=np.uint64),
    "small": np.arange(-3, 3, dtype=np.int8),
    "truth": np.array([True, False]),
    "text": "h\u00e9llo",
    "lines": np.array(["ab", "cde"]),
    "none": np.empty((0, 3)),
    "number": 7,
}


def content_of(values, **options):
    stream = io.BytesIO()
    savemat(stream, values, **options)
    return stream.getvalue()


@pytest.mark.parametrize("is_compressed", [False, True])
def test_numbers_and_text_are_those_of_scipy(is_compressed):
    content = content_of(VALUES, do_compression=is_compressed)
    found, expected = read_variables(content), loadmat(io.BytesIO(content))
    assert list(found) == list(VALUES)
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name])
        assert value.dtype == expected[name].dtype


def test_sparse_matrices_and_cells_are_those_of_scipy():
    matrix = sp.csc_array(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))
    cells = np.array(["a", "bb", 3.0], dtype=object)
    found = read_variables(content_of({"S": matrix, "C": cells}))
    np.testing.assert_array_equal(found["S"].toarray(), matrix.toarray())
    assert [cell.ravel().tolist() for cell in found["C"].ravel()] == [["a"], ["bb"], [3.0]]


def test_what_is_no_table_is_named_without_values():
    found = read_variables(content_of({"c": np.array([1 + 2j]), "s": {"a": 1}, "X": 1.0}))
    assert (found["c"], found["s"]) == (None, None)
    assert found["X"] == 1


def test_files_of_the_other_order_of_bytes():
    header = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI"
    parts = np.array([14, 48, 6, 8, 6, 0, 5, 8, 1, 1], ">u4").tobytes()
    parts += np.array([1 << 16 | 1], ">u4").tobytes() + b"X\0\0\0"
    parts += np.array([9, 8], ">u4").tobytes() + np.array([2.5], ">f8").tobytes()
    parts = parts[:4] + np.array([len(parts) - 8], ">u4").tobytes() + parts[8:]
    assert read_variables(header + parts) == {"X": 2.5}


def test_other_versions_are_not_taken_for_version_5():
    assert is_version_5(content_of({"X": 1.0}))
    assert not is_version_5(content_of({"X": 1.0}, format="4"))
    assert not is_version_5(b"MATLAB 7.3".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_file_that_was_cut_short_anywhere_is_refused(is_compressed):
    content = content_of({"X": VALUES["X"]}, do_compression=is_compressed)
    for size in range(129, len(content)):
        with pytest.raises(ValueError, match=r"contradict each other|damaged|unpack"):
            read_variables(content[:size])


def test_dimensions_beyond_the_values_are_refused():
    content = content_of({"X": VALUES["X"]})
    shape = np.array([2, 3], "<i4").tobytes()
    assert content.count(shape) == 1
    for wrong in ([2, 4], [2**30, 2**30], [-2, -3]):
        with pytest.raises(DamagedFileError, match="contradict each other"):
            read_variables(content.replace(shape, np.array(wrong, "<i4").tobytes()))


def test_sparse_matrices_that_are_too_large_when_dense_are_refused():
    content = content_of({"S": sp.csc_array(np.array([[1.0, 0.0]]))})
    shape = np.array([1, 2], "<i4").tobytes()
    with pytest.raises(DamagedFileError, match="contradict each other"):
        read_variables(content.replace(shape, np.array([2**30, 2], "<i4").tobytes(), 1))


def test_cells_in_cells_end_somewhere():
    cell = np.array([1.0])
    for _ in range(MAX_DEPTH + 2):
        outer = np.empty(1, dtype=object)
        outer[0] = cell
        cell = outer
    with pytest.raises(DamagedFileError, match="contradict each other"):
        read_variables(content_of({"C": cell}))
