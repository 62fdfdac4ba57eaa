"""Different values have different hashes, equal values the same, in every process."""

import functools
import itertools
import math
import subprocess
import sys
import textwrap
import threading
import types
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


def make_module(source, **values):
    """A module of a user, whose names can be changed."""
    module = types.ModuleType("of_a_user")
    vars(module).update(np=np, math=math, functools=functools, linear=linear, **values)
    exec(textwrap.dedent(source), vars(module))
    return module


@pytest.mark.parametrize(
    "source",
    [
        "def kernel(X, Y): return WIDTH * (X @ Y.T)",
        "def kernel(X, Y): return [[WIDTH * x @ y for y in Y] for x in X]",
        "def kernel(X, Y): return (lambda: (lambda: WIDTH)())() * (X @ Y.T)",
        """
        def kernel(X, Y): return scale(X @ Y.T)
        def scale(K): return deeper(K) if len(K) else kernel(K, K)
        def deeper(K): return WIDTH * K
        """,
        """
        class Scaler:
            def __call__(self, K): return WIDTH * K
        def kernel(X, Y): return Scaler()(X @ Y.T)
        """,
        """
        class Kernel:
            @property
            def width(self): return Kernel.read()
            @staticmethod
            def read(): return WIDTH
            def __call__(self, X, Y): return self.width * (X @ Y.T)
        kernel = Kernel()
        """,
        """
        class Kernel:
            def compute(self, X, Y): return WIDTH * (X @ Y.T)
        kernel = Kernel().compute
        """,
        """
        @functools.cache
        def find_width(): return WIDTH
        kernel = functools.partial(lambda factor, X, Y: factor * find_width() * (X @ Y.T), 2)
        """,
        "kernel = np.vectorize(lambda x, y: WIDTH * x * y)",
    ],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1.0, 2.0),
        (np.ones(3), np.array([1.0, 1, 2])),
        ({"a": [1]}, {"a": [2]}),
        (math.exp, math.sin),
    ],
)
def test_a_global_that_a_function_reads_counts_however_deep(source, before, after):
    module = make_module(source, WIDTH=before)
    first = hash_values(FunctionKernel(module.kernel))
    assert hash_values(FunctionKernel(module.kernel)) == first
    assert hash_values(FunctionKernel(make_module(source, WIDTH=before).kernel)) == first
    module.WIDTH = after
    assert hash_values(FunctionKernel(module.kernel)) != first
    assert hash_values({"kernels": [module.kernel]}) != first


def test_what_a_function_does_not_read_does_not_count():
    source = "def kernel(X, Y): return np.dot(X, Y.T) + math.pi + len(X)"
    module = make_module(source, OTHER=1, dot=1)
    first = hash_values(module.kernel)
    module.OTHER = module.dot = threading.RLock()
    assert hash_values(module.kernel) == first


def test_a_module_counts_with_its_version(monkeypatch):
    kernel = make_module("def kernel(X, Y): return np.dot(X, Y.T)").kernel
    first = hash_values(kernel)
    monkeypatch.setattr(np, "__version__", "0.1")
    assert hash_values(kernel) != first


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def kernel(X, Y): return THING", "The function kernel reads 'THING', of type RLock"),
        ("def kernel(X, Y): return MINE.f(X)", "reads 'MINE', of type module, .* no __version__"),
        (
            "def kernel(X, Y): return deeper(X)\ndef deeper(X): return THING",
            "The function deeper reads 'THING', of type RLock, which cannot be hashed",
        ),
        ("def kernel(X, Y): return eval('THING')", "The function kernel calls eval, through"),
        ("def kernel(X, Y): return open('x').read()", "The function kernel calls open, through"),
        (
            "def kernel(X, Y):\n import mine\n return mine.f(X)",
            "reads 'mine', of type module, .*no __ver",
        ),
        (
            "class Kernel:\n thing = THING\n def __call__(self, X, Y): return X\nkernel = Kernel()",
            "The class Kernel has 'thing', of type RLock",
        ),
    ],
)
def test_a_function_that_reads_what_cannot_be_hashed_asks_for_a_version(source, sentence):
    module = make_module(source, THING=threading.RLock(), MINE=types.ModuleType("mine"))
    for value in (module.kernel, FunctionKernel(module.kernel), {"kernels": [module.kernel]}):
        with pytest.raises(TypeError, match=f"{sentence}.*FunctionKernel.function, version='1'"):
            hash_values(value)
    hashes = [
        hash_values(FunctionKernel(function, version=version))
        for function in (module.kernel, linear)
        for version in ("1", "2")
    ]
    assert len(set(hashes)) == 4


def test_a_version_is_text():
    with pytest.raises(ValueError, match=r"FunctionKernel\(version=1\) must be text, such as '1'"):
        FunctionKernel(linear, version=1)


@pytest.mark.parametrize("value", [threading.RLock(), {"kernels": threading.RLock()}])
def test_what_cannot_be_pickled_is_refused(value):
    with pytest.raises(TypeError, match=r"cannot be hashed .* Leave out checkpoint"):
        hash_values(value)
