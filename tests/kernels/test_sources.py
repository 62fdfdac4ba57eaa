"""Sources that stand in for arrays: memmaps, files, sparse matrices."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from imkpl.kernels import PerFeatureGaussian
from imkpl.kernels import sources as module
from imkpl.kernels.forms import Form
from imkpl.kernels.per_feature import FeatureKernels
from imkpl.kernels.sources import (
    LARGEST_GAP,
    ArrayColumns,
    ParquetColumns,
    RowBlocks,
    SparseColumns,
    as_source,
    has_row_blocks,
    open_source,
)


class Dataset:
    """Slices along columns only, as chunked files do best; counts what was read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.reads = array, array.shape, array.dtype, []

    def __getitem__(self, key):
        rows, columns = key
        assert rows == slice(None)
        assert isinstance(columns, slice)
        self.reads.append((columns.start, columns.stop))
        return self.array[:, columns]


@pytest.fixture
def table(rng):
    return rng.standard_normal((12, 90)).astype(np.float32)


@pytest.fixture(params=["array", "memmap", "file", "sparse", "parquet"])
def source(request, table, tmp_path):
    if request.param == "array":
        return ArrayColumns(table)
    if request.param == "memmap":
        return ArrayColumns(stored_on_disk(table, tmp_path))
    if request.param == "file":
        return ArrayColumns(Dataset(table))
    if request.param == "sparse":
        return SparseColumns(sp.csr_array(table))
    frame = pd.DataFrame(table, columns=[f"gene {i}" for i in range(table.shape[1])])
    frame.to_parquet(tmp_path / "x.parquet")
    return ParquetColumns(tmp_path / "x.parquet")


def stored_on_disk(table, folder):
    stored = np.memmap(folder / f"{table.shape[1]} columns", np.float32, "w+", shape=table.shape)
    stored[:] = table
    return stored


def test_reading_is_indexing(source, table):
    assert source.shape == table.shape
    assert len(source) == 12
    assert source.dtype == np.float64
    for columns in ([3], [80, 2, 2, 41], np.arange(90), slice(5, 9)):
        assert_array_equal(source[:, columns], table[:, columns].astype(np.float64))
    assert_array_equal(source[2:5, [7, 1]], table[2:5][:, [7, 1]])


def test_a_view_reads_its_rows_only(source, table):
    rows = np.array([7, 0, 3])
    view = source[rows]
    assert view.shape == (3, 90)
    assert_array_equal(view[:, [4, 50]], table[np.ix_(rows, [4, 50])])
    assert_array_equal(view[1:][:, [4]], table[rows[1:]][:, [4]])
    assert_array_equal(view[np.array([2, 2]), 10:12], table[[3, 3], 10:12])


def test_banks_take_a_source_for_an_array(source, table, rng):
    X = table.astype(np.float64)
    plain, other = PerFeatureGaussian().on(X), PerFeatureGaussian().on(source)
    assert_allclose(other.rates, plain.rates)
    weights, M = rng.random(90), rng.standard_normal((12, 12))
    assert_allclose(other.combine(weights), plain.combine(weights))
    assert_allclose(other.contract(M), plain.contract(M))
    rows, columns = np.array([0, 5, 11]), np.array([3, 5, 2])
    assert_allclose(other.pairs(rows, columns), plain.pairs(rows, columns))
    some = np.array([9, 1])
    for found, expected in (
        (other.take(some), plain.take(some)),
        (other.between(rows, some), plain.between(rows, some)),
        (other.take(some).cross(source[:4]), plain.take(some).cross(X[:4])),
        (other.take(some).narrowed().cross(source[:4]), plain.take(some).cross(X[:4])),
    ):
        assert_allclose(found.combine(weights), expected.combine(weights))
    assert_array_equal(other.ranges(), plain.ranges())
    assert other.cells(3) == plain.cells(3)


def test_blocks_of_a_source_are_read_one_at_a_time(table):
    data = Dataset(table)
    kernels = PerFeatureGaussian().on(ArrayColumns(data))
    data.reads.clear()
    with config_context(working_memory=16 * 12 * 10 / 2**20):
        kernels.combine(np.ones(90))
    assert max(stop - start for start, stop in data.reads) <= 10
    assert len(data.reads) == 9


def test_near_columns_are_read_in_one_piece_and_far_ones_are_not(table):
    data = Dataset(table)
    assert_array_equal(ArrayColumns(data)[:, [80, 3, 1]], table[:, [80, 3, 1]])
    assert data.reads == [(1, 4), (80, 81)]
    assert LARGEST_GAP < 77


def test_missing_values_are_named(table):
    table[3, 17] = np.nan
    source = ArrayColumns(table)
    assert np.isfinite(source[:, [16, 18]]).all()
    assert np.isfinite(source[:2, [17]]).all()
    with pytest.raises(ValueError, match="Column 17 contains NaN or infinity"):
        source[:, 10:20]


def test_what_becomes_a_source(table, tmp_path):
    stored, size = stored_on_disk(table, tmp_path), 8 * table.size / 2**20
    assert as_source(stored) is None
    # A little less memory than the table takes.
    with config_context(working_memory=0.99 * size):
        assert isinstance(as_source(stored), ArrayColumns)
        assert as_source(table) is None
        assert as_source([[1.0, 2.0]]) is None
        # A sparse matrix becomes one where it is opened.
        assert as_source(sp.csr_array(table)) is None
        assert isinstance(open_source(sp.csr_array(table)), SparseColumns)
    assert_array_equal(open_source(sp.csr_array(table)), table)
    source = ArrayColumns(table)
    assert as_source(source) is source


def test_many_rows_on_disk_are_read_a_block_at_a_time(table, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_EXACT", 5)
    long = stored_on_disk(table[:, :4], tmp_path)
    with config_context(working_memory=1e-6):
        assert has_row_blocks(ArrayColumns(long))
        # More columns than rows, or rows that are not in their order.
        assert not has_row_blocks(ArrayColumns(table))
        assert not has_row_blocks(ArrayColumns(long)[np.arange(12)[::-1]])
        samples, form = FeatureKernels.read(long, Form())
        assert isinstance(samples, RowBlocks)
        assert form.n_features == 4
        assert_array_equal(samples[[3, 1]], table[[3, 1], :4])
        new, _ = FeatureKernels.read(long, form)
        assert_array_equal(new[[2]], table[[2], :4])
        with pytest.raises(ValueError, match="X has 4 features, expected 5 as in fit"):
            FeatureKernels.read(long, Form(n_features=5))


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2), dtype="U1"), object()])
def test_a_source_needs_a_table_of_numbers(array):
    with pytest.raises(ValueError, match="expected a 2-D array of numbers"):
        ArrayColumns(array)


def test_a_column_that_the_file_does_not_have_is_named(table, tmp_path):
    pd.DataFrame({"a": [1.0], "b": [2.0]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x\.parquet has no column 'c'"):
        ParquetColumns(tmp_path / "x.parquet", ["a", "c"])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_reading_a_memory_map_loses_nothing(table, tmp_path, mode, order):
    np.save(tmp_path / "x.npy", np.asarray(table, order=order))
    stored = np.load(tmp_path / "x.npy", mmap_mode=mode)
    expected = table.copy()
    if mode != "r":
        stored[4, 7] = expected[4, 7] = 5.0
    source = ArrayColumns(stored[2:])
    for _ in range(2):
        assert_array_equal(source[:, [7, 1]], expected[2:, [7, 1]])
    assert_array_equal(stored, expected)
