"""What cannot be read as samples, labels or weights is refused in plain words."""

import datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from imkpl import IMKPL, ISKPL

KINDS = pytest.mark.parametrize("kind", [IMKPL, ISKPL])


@KINDS
@pytest.mark.parametrize(
    "form",
    [
        lambda X: {"a": X},
        lambda X: set(X.ravel().tolist()),
        lambda X: (row for row in X),
        lambda X: [row[: place % 3] for place, row in enumerate(X.tolist())],
        lambda X: np.zeros(len(X), dtype=[("a", float), ("b", "U3")]),
    ],
    ids=["dict", "set", "generator", "ragged", "records"],
)
def test_samples_that_are_no_table(kind, form, two_blobs):
    X, y = two_blobs
    with pytest.raises((TypeError, ValueError), match=r"X is of type \w+ and cannot be read as"):
        kind().fit(form(X), y)


def test_masked_cells_are_not_read_as_if_they_were_there(two_blobs):
    X, y = two_blobs
    masked = np.ma.masked_less(X, 0)
    sentence = r"X has \d+ masked cells, expected none.*kernels=\"per_column\""
    with pytest.raises(ValueError, match=sentence):
        IMKPL("per_feature_gaussian").fit(masked, y)
    with pytest.raises(ValueError, match=sentence):
        IMKPL(sparsity=2, n_prototypes=6, contrast=False).fit(np.ma.array(X), y).predict(masked)


def test_frames_without_columns_or_with_equal_names(two_blobs):
    X, y = two_blobs
    with pytest.raises(ValueError, match=r"X has no columns, expected at least one\. Check"):
        IMKPL().fit(pd.DataFrame(index=range(40)), y)
    with pytest.raises(ValueError, match=r"unique (column )?names"):
        IMKPL("rbf").fit(pd.DataFrame(X, columns=list("aaaa")), y)


@KINDS
@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (lambda y: "a" * len(y), r"y is of type str, expected one label per sample"),
        (lambda y: {0: y}, r"y is of type dict, expected one label per sample"),
        (lambda y: iter(y), r"y is of type \w+, expected one label per sample"),
        (lambda y: np.ma.masked_equal(y, 0), r"y contains missing or infinite"),
        (lambda y: [[1] * (1 + i) for i in y], r"y is of type list, expected one label"),
        (lambda y: [None if i else "a" for i in y], r"y contains missing or infinite"),
        (
            lambda y: np.array([1 if i else "a" for i in y], object),
            r"y holds labels of type int and str, exp",
        ),
        (lambda y: [datetime.date(2020, 1, 1 + i) for i in y], r"y holds labels of type date, exp"),
        (lambda y: np.array(y, "M8[D]"), r"y holds labels of type datetime64\[D\], exp"),
        (lambda y: np.where(y, np.nan, 1), r"y contains missing or infinite"),
        (lambda y: y + 0.5 * np.arange(len(y)), "Unknown label type: continuous"),
        (lambda y: np.where(y, np.inf, 1), r"y contains missing or infinite"),
    ],
)
def test_labels_that_are_no_classes(kind, labels, sentence, two_blobs):
    X, y = two_blobs
    with pytest.raises((TypeError, ValueError), match=sentence):
        kind().fit(X, labels(y))


def test_sparse_labels_are_left_to_scikit_learn(two_blobs):
    X, y = two_blobs
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        IMKPL().fit(X, sp.csr_array(y[:, None]))


@pytest.mark.parametrize("weight", ["a", None, 1j], ids=repr)
def test_weights_that_are_no_numbers(weight, two_blobs):
    X, y = two_blobs
    weights = np.full(len(y), weight, dtype=object if weight is None else None)
    with pytest.raises(
        ValueError, match=r"(?s)sample_weight cannot be used .*, expected one finite"
    ):
        IMKPL().fit(X, y, weights)


@pytest.mark.parametrize("factor", [1e-320, 1e-300, 1e300, 8e307])
def test_weights_of_any_size_are_weights(factor, two_blobs, rng):
    X, y = two_blobs
    weight = np.where(rng.random(len(y)) < 0.5, 1.0, 2.0)
    model = IMKPL(sparsity=3, n_prototypes=9, contrast=False).fit(X, y, weight * factor)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, y) == IMKPL(sparsity=3, n_prototypes=9, contrast=False).fit(
        X, y, weight
    ).score(X, y)


def test_terms_that_outweigh_reconstruction_are_named(two_blobs):
    with pytest.raises(ValueError, match=r"All codes are empty.*Lower discrimination or interpr"):
        ISKPL(discrimination=1e300, decision="share").fit(*two_blobs)


def test_a_stack_without_kernels_is_refused():
    with pytest.raises(ValueError, match=r"training similarities have shape \(4, 4, 0\)"):
        ISKPL("precomputed").fit(np.empty((4, 4, 0)), [0, 0, 1, 1])
