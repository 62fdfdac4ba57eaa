"""A table of kernels is the bank it was made from; a cache is never half-read."""

import dataclasses
import pathlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl.kernels import (
    GlobalAlignment,
    KernelStack,
    Normalized,
    PerFeatureGaussian,
    VarianceNormalized,
    alignment_table,
)
from imkpl.kernels.cache import BlockCache
from imkpl.kernels.tabulated import PackedKernels, pack, unpack
from imkpl.series import SeriesSet


@pytest.fixture
def series(rng):
    arrays = [rng.standard_normal((2, length)).cumsum(axis=1) for length in (5, 9, 12, 6, 9, 7, 11)]
    return SeriesSet.from_list(arrays)


def stack_of(bank, X):
    return np.stack([bank.evaluate(i, X) for i in range(bank.n_kernels)], axis=-1)


def test_the_laws_of_banks_hold(series):
    bank = GlobalAlignment(scales=(1.0, 0.3)).adapt(series)
    table, packed = bank.tabulate(series)
    whole = stack_of(bank, series)
    some = np.array([3, 0, 3, 6])
    assert table.kernel_names() == bank.kernel_names()
    check_bank(
        table, packed, some, lambda X, Y: stack_of(table, X) if Y is None else whole[:, some]
    )
    assert_array_equal(stack_of(table, packed), whole)


def test_a_table_in_single_precision_is_half_as_large(series):
    bank = GlobalAlignment(table_dtype="float32").adapt(series)
    table, packed = bank.tabulate(series)
    assert packed.values.dtype == np.float32
    assert_allclose(stack_of(table, packed), stack_of(bank, series), atol=1e-7)


def test_a_subset_may_list_a_sample_twice(series):
    bank = GlobalAlignment().adapt(series)
    table, packed = bank.tabulate(series)
    chosen = [4, 1, 4, 0]
    found = table.evaluate(0, table.subset(packed, chosen))
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
    assert bank.tabulate(X) == (bank, X)


def test_wrappers_pass_tables_on(series):
    bank = GlobalAlignment().adapt(series)
    for wrapper in (Normalized(bank), VarianceNormalized(bank).measure(series)):
        table, packed = wrapper.tabulate(series)
        assert isinstance(packed, PackedKernels)
        assert_allclose(stack_of(table, packed), stack_of(wrapper, series), rtol=1e-14)
    stack = Normalized(KernelStack(["linear"]))
    assert stack.tabulate(np.eye(3))[0] is stack


def test_blocks_do_not_change_the_table(series, monkeypatch):
    bank = GlobalAlignment().adapt(series)
    whole = bank.tabulate(series)[1].values
    told = []
    monkeypatch.setattr(alignment_table, "BLOCK_PAIRS", 3)
    assert_array_equal(bank.tabulate(series)[1].values, whole)
    monkeypatch.setattr(alignment_table, "BLOCK_CELLS", 200)
    assert_array_equal(bank.tabulate(series, lambda *done: told.append(done))[1].values, whole)
    shares = [done / total for done, total in told]
    assert len(shares) > 4
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def count_blocks(monkeypatch):
    """Counts the blocks that are computed, not read."""
    computed = []
    original = alignment_table.align_triangle

    def counting(*args):
        computed.append(args[-2:])
        return original(*args)

    monkeypatch.setattr(alignment_table, "align_triangle", counting)
    return computed


def test_a_second_table_is_read_from_the_cache(series, tmp_path, monkeypatch):
    bank = GlobalAlignment(cache_dir=str(tmp_path / "cache")).adapt(series)
    computed = count_blocks(monkeypatch)
    first = bank.tabulate(series)[1].values
    assert len(computed) == 2
    assert_array_equal(bank.tabulate(series)[1].values, first)
    assert len(computed) == 2
    # Another width, another table: nothing is found.
    dataclasses.replace(bank, triangular=3).tabulate(series)
    dataclasses.replace(bank, dtype="float32").tabulate(series)
    bank.tabulate(series[::-1])
    assert len(computed) == 8


def test_a_killed_run_is_taken_up_again(series, tmp_path, monkeypatch):
    monkeypatch.setattr(alignment_table, "BLOCK_CELLS", 200)
    bank = GlobalAlignment(cache_dir=str(tmp_path)).adapt(series)
    expected = dataclasses.replace(bank, cache_dir=None).tabulate(series)[1].values
    told = []

    def stop_at_third(done, total):
        told.append(done)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bank.tabulate(series, stop_at_third)
    computed = count_blocks(monkeypatch)
    told.clear()
    found = bank.tabulate(series, lambda *done: told.append(done))[1].values
    assert_array_equal(found, expected)
    assert len(computed) == len(told) - 3


@pytest.mark.parametrize("harm", ["cut", "empty", "flip", "longer", "other"])
def test_a_harmed_block_is_computed_again(series, tmp_path, monkeypatch, harm):
    bank = GlobalAlignment(cache_dir=str(tmp_path)).adapt(series)
    expected = bank.tabulate(series)[1].values
    path = sorted(tmp_path.iterdir())[0]
    content = path.read_bytes()
    flipped = content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]
    path.write_bytes(
        {
            "cut": content[:-8],
            "empty": b"",
            "flip": flipped,
            "longer": content + b"\0" * 8,
            "other": b"something else",
        }[harm]
    )
    computed = count_blocks(monkeypatch)
    assert_array_equal(bank.tabulate(series)[1].values, expected)
    assert len(computed) == 1
    assert path.read_bytes() == content


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    cache, values = BlockCache(tmp_path), np.arange(3.0)

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(KeyboardInterrupt):
        cache.write(values, "a")
    assert list(tmp_path.iterdir()) == []
    assert not cache.read_into(values, "a")


def test_a_folder_that_cannot_be_written_is_a_warning(series, tmp_path):
    blocked = pathlib.Path(tmp_path / "file")
    blocked.write_text("not a folder")
    bank = GlobalAlignment(cache_dir=str(blocked)).adapt(series)
    with pytest.warns(UserWarning, match="Choose another cache_dir") as record:
        found = bank.tabulate(series)[1].values
    assert len(record) == 1
    assert_array_equal(found, dataclasses.replace(bank, cache_dir=None).tabulate(series)[1].values)
