"""Equal values have equal digests, in other processes too, and other values have others."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from imkpl.estimators._digest import digest
from imkpl.kernels import ArrayColumns, FunctionKernel, Gaussian, SparseColumns
from imkpl.series import SeriesSet

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


def make_kernel(power, shift=0.0):
    return lambda X, Y: (X @ Y.T + shift) ** power


def add_one(x):
    return x + 1


def add_two(x):
    return x + 2


class Holder:
    def __init__(self, content):
        self.content = content

    def method(self):
        return self.content


def loop():
    values = [1]
    values.append(values)
    return values


@settings(max_examples=60, deadline=None)
@given(plain, plain)
def test_plain_values_are_told_apart(left, right):
    is_same = repr(left) == repr(right)
    assert (digest(left) == digest(right)) == is_same


VALUES = [
    None,
    0,
    False,
    0.0,
    -0.0,
    "",
    "0",
    b"0",
    [],
    (),
    {},
    [[]],
    [1, 2],
    (1, 2),
    ["ab", "c"],
    ["a", "bc"],
    {1, 2},
    np.zeros(2),
    np.zeros(2, np.float32),
    np.zeros((2, 1)),
    np.zeros((1, 2)),
    np.zeros(0),
    np.array(0.0),
    np.float64(0),
    np.array(["a", "b"]),
    np.array(["a", "b"], dtype=object),
    np.array([["a", "b"]], dtype=object),
    np.array([None, 1], dtype=object),
    np.array("2020-01-01", dtype="datetime64[D]"),
    np.dtype("f8"),
    sp.csr_array(np.eye(2)),
    sp.csc_array(np.eye(2)),
    Gaussian(0.1),
    Gaussian(0.2),
    SeriesSet.from_list([[[1.0, 2.0]]]),
    SeriesSet.from_list([[[1.0], [2.0]]]),
    ArrayColumns(np.eye(3)),
    ArrayColumns(2 * np.eye(3)),
    SparseColumns(sp.csc_array(np.eye(3))),
    make_kernel(2),
    make_kernel(3),
    make_kernel(2, 1.0),
    FunctionKernel(make_kernel(2)),
    add_one,
    add_two,
    functools.partial(add_one, 1),
    functools.partial(add_one, 2),
    functools.partial(add_two, 1),
    Holder(1),
    Holder([1]),
    Holder(1).method,
    Holder(2).method,
    Holder,
    np.exp,
    np.log,
    len,
    [].append,
    [1].append,
    os,
    np.random.default_rng(0),
    loop(),
]


def test_no_two_of_many_values_have_the_same_digest():
    assert len({digest(value) for value in VALUES}) == len(VALUES)


def test_the_digest_is_of_the_content():
    for make in (
        lambda: np.arange(6.0).reshape(2, 3),
        lambda: make_kernel(2, 0.5),
        lambda: Holder({"a": np.ones(2)}),
        lambda: {"b", "a"},
        loop,
    ):
        assert digest(make()) == digest(make())
    wide = np.arange(12.0).reshape(3, 4)
    assert digest(wide[:, ::2]) == digest(wide[:, ::2].copy(order="F"))


def test_what_was_computed_so_far_does_not_count():
    series = SeriesSet.from_list([[[1.0, 2.0, 3.0]], [[5.0]]])
    before = digest(series)
    assert series.lengths.tolist() == [3, 1]
    assert digest(series) == before
    assert digest(njit(add_one)) == digest(njit(add_one))
    assert digest(njit(add_one)) != digest(njit(add_two))


def test_the_size_of_blocks_does_not_count():
    from sklearn import config_context

    source = ArrayColumns(np.arange(3000.0).reshape(3, 1000))
    whole = digest(source)
    with config_context(working_memory=0.001):
        assert digest(source) == whole


@pytest.mark.parametrize("seed", ["0", "1"])
def test_other_processes_find_the_same(seed):
    code = (
        "import numpy as np; from imkpl.estimators._digest import digest; "
        "from imkpl.kernels import Gaussian; "
        "print(digest([{'a', 'b'}, Gaussian(0.1), np.arange(3), lambda x: x + 1, {'k': len}]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    own = [{"a", "b"}, Gaussian(0.1), np.arange(3), eval("lambda x: x + 1"), {"k": len}]
    assert found.stdout.strip() == digest(own)


def test_what_cannot_be_told_apart_is_an_error():
    with pytest.raises(TypeError, match=r"A generator cannot be told from another one .* expected"):
        digest(x for x in range(3))
