"""Different values have different hashes, equal values the same, in every process."""

import functools
import itertools
import subprocess
import sys
import threading
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from imkpl._hash import hash_values
from imkpl.kernels import FunctionKernel, Gaussian, KernelStack


def linear(X, Y):
    return X @ Y.T


def make_power(exponent):
    return lambda X, Y: (X @ Y.T) ** exponent


@dataclass(frozen=True)
class Settings:
    width: float
    client: object = field(default=None, compare=False)


VALUES = [
    None,
    1,
    True,
    1.0,
    "1",
    b"1",
    [1, 2],
    (1, 2),
    {"a": 1},
    {"b": 1},
    {"a": [1]},
    {1, 2},
    np.zeros(2),
    np.zeros(3),
    np.zeros((1, 2)),
    np.zeros(2, dtype=np.float32),
    np.array(["a", "b"]),
    np.array(["a", "c"], dtype=object),
    pd.DataFrame({"a": [1, 2]}),
    pd.DataFrame({"b": [1, 2]}),
    linear,
    make_power(2),
    make_power(3),
    functools.partial(linear, 1),
    FunctionKernel(linear),
    FunctionKernel(make_power(2)),
    Gaussian(1.0),
    Gaussian(2.0),
    KernelStack((Gaussian(1.0), "linear")),
    Settings(1.0),
    Settings(2.0),
]


def test_different_values_have_different_hashes():
    found = [hash_values(value) for value in VALUES]
    clashes = [
        (VALUES[i], VALUES[j])
        for i, j in itertools.combinations(range(len(VALUES)), 2)
        if found[i] == found[j]
    ]
    assert not clashes


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))),
        (make_power(2), make_power(2)),
        (Settings(1.0, client="here"), Settings(1.0, client="there")),
    ],
)
def test_equal_values_have_the_same_hash(left, right):
    assert hash_values(left) == hash_values(right)


def test_another_process_finds_the_same_hash():
    code = "from imkpl._hash import hash_values; print(hash_values({'a': [1.5, 'b'], 'c': {2}}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == hash_values({"a": [1.5, "b"], "c": {2}})


@pytest.mark.parametrize("value", [threading.RLock(), {"kernels": threading.RLock()}])
def test_what_cannot_be_pickled_is_refused(value):
    with pytest.raises(TypeError, match=r"cannot be hashed .* Leave out checkpoint"):
        hash_values(value)
