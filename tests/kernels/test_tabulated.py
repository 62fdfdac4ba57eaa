"""A table of kernels is the bank it was made from, also when it is read from a cache."""

import dataclasses
import pathlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl._progress import listening
from imkpl.kernels import (
    GlobalAlignment,
    PerFeatureGaussian,
    VarianceNormalized,
    alignment,
)
from imkpl.kernels.precomputed import PackedKernels, pack, unpack
from imkpl.series import SeriesSet


@pytest.fixture
def series(rng):
    arrays = [rng.standard_normal((2, length)).cumsum(axis=1) for length in (5, 9, 12, 6, 9, 7, 11)]
    return SeriesSet.from_list(arrays)


def stack_of(bank, X):
    return np.stack([bank.evaluate(i, X) for i in range(bank.n_kernels)], axis=-1)


def test_the_laws_of_banks_hold(series):
    bank = GlobalAlignment(scales=(1.0, 0.3)).adapt(series)
    table, packed = bank._tabulate(series)
    whole = stack_of(bank, series)
    some = np.array([3, 0, 3, 6])
    assert table.kernel_names() == bank.kernel_names()
    check_bank(
        table, packed, some, lambda X, Y: stack_of(table, X) if Y is None else whole[:, some]
    )
    assert_array_equal(stack_of(table, packed), whole)


def test_a_table_in_single_precision_is_half_as_large(series):
    bank = GlobalAlignment(table_dtype="float32").adapt(series)
    table, packed = bank._tabulate(series)
    assert packed.values.dtype == np.float32
    assert_allclose(stack_of(table, packed), stack_of(bank, series), atol=1e-7)


def test_a_subset_may_list_a_sample_twice(series):
    bank = GlobalAlignment().adapt(series)
    table, packed = bank._tabulate(series)
    chosen = [4, 1, 4, 0]
    found = table.evaluate(0, table._subset(packed, chosen))
    assert_array_equal(found, bank.evaluate(0, series)[np.ix_(chosen, chosen)])


def test_packing_is_undone_by_unpacking(rng):
    for n in (0, 1, 2, 5):
        K = rng.standard_normal((n, n))
        K = K + K.T
        np.fill_diagonal(K, 1.0)
        assert_array_equal(unpack(pack(K), n), K)


def test_cheap_banks_are_left_as_they_are(two_blobs):
    X, _ = two_blobs
    bank = PerFeatureGaussian().adapt(X)
    assert bank._tabulate(X) == (bank, X)


def test_wrappers_pass_tables_on(series):
    bank = GlobalAlignment().adapt(series)
    wrapper = VarianceNormalized(bank)._measure(series)
    table, packed = wrapper._tabulate(series)
    assert isinstance(packed, PackedKernels)
    assert_allclose(stack_of(table, packed), stack_of(wrapper, series), rtol=1e-14)


def test_blocks_do_not_change_the_table(series, monkeypatch):
    bank = GlobalAlignment().adapt(series)
    whole = bank._tabulate(series)[1].values
    told = []
    monkeypatch.setattr(alignment, "BLOCK_PAIRS", 3)
    assert_array_equal(bank._tabulate(series)[1].values, whole)
    monkeypatch.setattr(alignment, "BLOCK_CELLS", 200)
    with listening(told.append):
        assert_array_equal(bank._tabulate(series)[1].values, whole)
    shares = [progress.done / progress.total for progress in told]
    assert len(shares) > 4
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def count_blocks(monkeypatch):
    """Counts the blocks that are computed, not read."""
    computed = []
    original = alignment.align_triangle

    def counting(*args):
        computed.append(args[-2:])
        return original(*args)

    monkeypatch.setattr(alignment, "align_triangle", counting)
    return computed


def test_a_second_table_is_read_from_the_cache(series, tmp_path, monkeypatch):
    bank = GlobalAlignment(cache_dir=str(tmp_path / "cache")).adapt(series)
    computed = count_blocks(monkeypatch)
    first = bank._tabulate(series)[1].values
    assert len(computed) == 2
    assert_array_equal(bank._tabulate(series)[1].values, first)
    assert len(computed) == 2
    # Another width, another table: nothing is found.
    dataclasses.replace(bank, triangular=3)._tabulate(series)
    dataclasses.replace(bank, dtype="float32")._tabulate(series)
    bank._tabulate(series[::-1])
    assert len(computed) == 8


def test_a_killed_run_is_taken_up_again(series, tmp_path, monkeypatch):
    monkeypatch.setattr(alignment, "BLOCK_CELLS", 200)
    bank = GlobalAlignment(cache_dir=str(tmp_path)).adapt(series)
    expected = dataclasses.replace(bank, cache_dir=None)._tabulate(series)[1].values
    told = []

    def stop_at_third(progress):
        told.append(progress)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listening(stop_at_third):
        bank._tabulate(series)
    computed = count_blocks(monkeypatch)
    told.clear()
    with listening(told.append):
        assert_array_equal(bank._tabulate(series)[1].values, expected)
    assert len(computed) == len(told) - 3


def test_a_folder_that_cannot_be_written_is_a_warning(series, tmp_path):
    blocked = pathlib.Path(tmp_path / "file")
    blocked.write_text("not a folder")
    bank = GlobalAlignment(cache_dir=str(blocked)).adapt(series)
    with pytest.warns(UserWarning, match="Choose another cache_dir") as record:
        found = bank._tabulate(series)[1].values
    assert len(record) == 1
    assert_array_equal(found, dataclasses.replace(bank, cache_dir=None)._tabulate(series)[1].values)


@pytest.mark.parametrize("content", [b"", b"something else"])
@pytest.mark.filterwarnings("ignore:Exception while loading")
def test_a_damaged_block_is_computed_again(series, tmp_path, monkeypatch, content):
    bank = GlobalAlignment(cache_dir=str(tmp_path)).adapt(series)
    expected = bank._tabulate(series)[1].values
    sorted(tmp_path.rglob("output.pkl"))[0].write_bytes(content)
    computed = count_blocks(monkeypatch)
    assert_array_equal(bank._tabulate(series)[1].values, expected)
    assert len(computed) == 1
