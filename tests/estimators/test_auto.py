"""kernels="auto": what it takes for samples of every kind, and what it says about it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from imkpl import IMKPL
from imkpl._progress import listening
from imkpl.estimators._input import look_at
from imkpl.kernels import ArrayColumns, GlobalAlignment, PerColumn, PerFeatureGaussian, PerWord
from imkpl.series import read_series
from imkpl.tables import read_table

# The samples are noise: what is tested is how they are read.
pytestmark = pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")

RNG = np.random.default_rng(0)
NUMBERS = RNG.standard_normal((30, 4))
GAPS = np.where(RNG.random((30, 4)) < 0.1, np.nan, NUMBERS)
TEXT = [[f"{x:.1f} mm", y] for x, y, *_ in NUMBERS.tolist()]
COUNTS = RNG.poisson(0.05, (30, 120))
SERIES = RNG.standard_normal((30, 2, 15))
RAGGED = [one[:, : 10 + i % 5] for i, one in enumerate(SERIES)]

CASES = {
    "array": (NUMBERS, PerFeatureGaussian),
    "list": (NUMBERS.tolist(), PerFeatureGaussian),
    "integers": (NUMBERS.astype(int), PerFeatureGaussian),
    "booleans": (NUMBERS > 0, PerFeatureGaussian),
    "frame": (pd.DataFrame(NUMBERS), PerFeatureGaussian),
    "polars": (pl.DataFrame(NUMBERS), PerFeatureGaussian),
    "arrow": (pa.table(pd.DataFrame(NUMBERS, columns=list("abcd"))), PerFeatureGaussian),
    "source": (ArrayColumns(NUMBERS), PerFeatureGaussian),
    "sparse columns": (pd.DataFrame(NUMBERS).astype("Sparse[float64]"), PerFeatureGaussian),
    "gaps": (GAPS, PerColumn),
    "masked": (np.ma.masked_invalid(GAPS), PerColumn),
    "gaps in a frame": (pd.DataFrame(GAPS), PerColumn),
    "gaps in polars": (pl.DataFrame(GAPS).fill_nan(None), PerColumn),
    "nullable": (pd.DataFrame(GAPS).astype("Float64"), PerColumn),
    "text": (TEXT, PerColumn),
    "text that is numbers": (np.array(NUMBERS.astype(str), dtype=object), PerColumn),
    "categories": (pd.DataFrame({"a": range(30), "b": pd.Categorical(["x", "y"] * 15)}), PerColumn),
    "table": (read_table(TEXT), PerColumn),
    "sparse matrix": (sp.csr_matrix(np.maximum(NUMBERS, 0)), PerWord),
    "sparse array": (sp.coo_array(COUNTS), PerWord),
    "counts": (COUNTS, PerWord),
    "counts in a frame": (pd.DataFrame(COUNTS), PerWord),
    "counts as floats": (COUNTS.astype(np.float32), PerWord),
    "three axes": (SERIES, GlobalAlignment),
    "list of arrays": (RAGGED, GlobalAlignment),
    "array of arrays": (np.array([*RAGGED, None], dtype=object)[:-1], GlobalAlignment),
    "list of frames": ([pd.DataFrame(one.T) for one in RAGGED], GlobalAlignment),
    "series": (read_series(RAGGED), GlobalAlignment),
}  # fmt: skip


def kernels_of(X):
    return {
        "per_feature_gaussian": PerFeatureGaussian,
        "per_column": PerColumn,
        "per_word": PerWord,
        "per_view": GlobalAlignment,
    }[look_at(X)[0]]


@pytest.mark.parametrize("case", CASES)
def test_samples_of_every_kind_get_their_kernels(case):
    X, expected = CASES[case]
    assert kernels_of(X) is expected


@pytest.mark.parametrize("case", ["list", "gaps", "text", "counts", "sparse array", "three axes"])
def test_a_fit_takes_these_kernels_and_says_so(case):
    X, expected = CASES[case]
    y, heard = np.arange(30) % 2, []
    with listening(heard.append):
        model = IMKPL(sparsity=2, n_prototypes=6, contrast=False).fit(X, y)
    assert type(model._predictor.kernels) is expected().kind
    said = [one.message for one in heard if one.message.startswith("kernels=")]
    assert said == [f"kernels='{look_at(X)[0]}' for {look_at(X)[1]}"]
    assert model.predict(X).shape == (30,)


def test_an_explicit_choice_is_obeyed_and_not_announced():
    heard = []
    with listening(heard.append):
        model = IMKPL("per_feature_gaussian", sparsity=2, n_prototypes=6, contrast=False).fit(
            COUNTS, np.arange(30) % 2
        )
    assert type(model._predictor.kernels) is PerFeatureGaussian().kind
    assert not [one for one in heard if one.message.startswith("kernels=")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda X: X[:, :99], "too few columns"),
        (lambda X: X + (RNG.random(X.shape) < 0.1), "too few zeros"),
        (lambda X: X * 0.5, "halves"),
        (lambda X: -X, "negative"),
    ],
)
def test_other_numbers_are_not_taken_for_counts(change, reason):
    assert kernels_of(change(COUNTS)) is PerFeatureGaussian, reason


def test_texts_are_to_be_counted_first():
    with pytest.raises(ValueError, match=r"list of texts, the first is 'a b', .*Count words first"):
        IMKPL().fit(["a b", "b c", "c d", "d e"], [0, 0, 1, 1])


def test_kernel_values_are_not_taken_for_series():
    K = np.exp(-np.abs(NUMBERS[:, np.newaxis] - NUMBERS))
    for values in (K, K[:, :, 0]):
        with pytest.raises(ValueError, match=r"is symmetric, like kernel values.*'precomputed'"):
            IMKPL().fit(values, np.arange(30) % 2)
