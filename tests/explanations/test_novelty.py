"""Samples unlike those of training are refused, and values far outside of training are named."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import IMKPL
from imkpl.model.calibration import CalibrationSamples, find_novelty_threshold


@pytest.fixture(scope="module")
def wine():
    """A model of every other wine, and the other wines."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return IMKPL(n_prototypes=9, max_kernels=5).fit(X[::2], y[::2]), X[1::2]


def is_refused(model, X):
    return np.array([label is None for label in model.predict(X, reject=True)])


def test_novelty_is_one_minus_the_similarity_to_the_nearest_support_sample(wine):
    model, X = wine
    train = load_wine(as_frame=True).data[::2]
    assert_allclose(model.novelty(train.iloc[model.support_]), 0.0, atol=1e-12)
    kernel = model.predictor_.kernel(model.read_new(X))
    expected = 1 - np.array([max(row) for row in kernel])
    assert_allclose(model.novelty(X), expected, atol=1e-12)


def test_noise_is_refused_and_ordinary_samples_are_not():
    X, y = load_digits(return_X_y=True)
    # Digits of the same writers: every other one.
    model = IMKPL(sparsity=5, n_prototypes=50).fit(X[::2], y[::2])
    refused = is_refused(model, X[1::2])
    # The threshold leaves out one training sample of a hundred; new ones are a little farther.
    assert 0 < refused.mean() < 0.05
    answers = model.predict(X[1::2], reject=True)
    assert_array_equal(answers[~refused], model.predict(X[1::2])[~refused])
    noise = np.random.default_rng(0).uniform(0, 16, (100, 64))
    assert is_refused(model, noise).mean() > 0.95


def test_a_class_that_was_left_out_is_told_apart_as_well_as_by_the_fifth_neighbour():
    X, y = load_digits(return_X_y=True)
    X, y = X[:900], y[:900]
    is_known = (np.arange(900) % 2 == 0) & (y != 3)
    model = IMKPL(n_prototypes=45).fit(X[is_known], y[is_known])
    neighbours = NearestNeighbors(n_neighbors=5).fit(X[is_known] / 16)
    distances = neighbours.kneighbors(X[~is_known] / 16)[0][:, -1]
    found, control = (
        roc_auc_score(y[~is_known] == 3, values)
        for values in (model.novelty(X[~is_known]), distances)
    )
    assert found > control - 0.02


def test_three_quarters_of_the_range_beyond_it_are_far_named_with_their_side_and_refused(wine):
    model, X = wine
    assert is_refused(model, X).mean() <= 0.05
    for place, (low, high) in zip(
        model.predictor_.kernels.input_columns, model.predictor_.ranges, strict=True
    ):
        for part, word in ((0.7, ""), (0.8, "far "), (1000, "far ")):
            for value, side in (
                (high + part * (high - low), "above"),
                (low - part * (high - low), "below"),
            ):
                odd = X.iloc[[3]].copy()
                odd.iloc[0, place] = value
                (note,) = model.explain(odd).card(0).notes[:1]
                assert note.startswith(f"{X.columns[place]} = ")
                assert f" is {word}{side} all training values (" in note
                if word:
                    assert is_refused(model, odd).all()
                    assert_array_equal(model.novelty(odd), 1.0)
                    assert model.explain(odd).card(0).doubt == "novel"


def test_features_that_the_model_does_not_use_do_not_count(wine):
    model, X = wine
    odd = X.copy()
    odd.iloc[:, np.flatnonzero(model.feature_importances_ == 0)] *= 1000
    assert_array_equal(model.novelty(odd), model.novelty(X))


def test_categories_and_missing_cells_are_never_far():
    rng, ill = np.random.default_rng(0), np.repeat([0, 1], 60)
    frame = pd.DataFrame(
        {"age": 40 + 15 * ill + rng.normal(0, 8, 120), "smoker": np.where(ill, "yes", "no")}
    )
    frame.loc[::7, "age"] = np.nan
    model = IMKPL(n_prototypes=4, require=["age", "smoker"]).fit(frame, ill)
    odd = frame.iloc[[1, 1, 1]].copy()
    odd["smoker"], odd["age"] = ["pipe", "no", "no"], [40.0, np.nan, 4000.0]
    evidence = model.explain(odd).evidence
    far = model.predictor_.find_far(evidence.kernels)
    assert_array_equal(far.any(axis=1), [False, False, True])


def test_a_pipeline_names_far_values_in_the_units_of_its_data():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), IMKPL(n_prototypes=3, max_kernels=3)).fit(X, y)
    name = imkpl.explain(model, X[:1]).feature_names[0]
    odd = X[:1].copy()
    odd[name] *= 1000
    assert model.predict(odd, reject=True).tolist() == [None]
    low, high = X[name].min(), X[name].max()
    (note,) = imkpl.explain(model, odd).card(0).notes[:1]
    assert note.startswith(f"{name} = ")
    assert note.endswith(f"is far above all training values ({low:.4g} to {high:.4g}).")


def test_the_explanation_refuses_the_same_samples(wine):
    model, X = wine
    samples = pd.concat([X, X * np.linspace(0.2, 3, 89)[:, np.newaxis]])
    explanation, refused = model.explain(samples), is_refused(model, samples)
    assert_array_equal(explanation.is_novel, refused)
    assert_array_equal(model.novelty(samples) > model.novelty_threshold_, refused)
    assert 0 < refused.sum() < refused.size


def test_the_threshold_is_the_novelty_that_99_percent_stay_within():
    rng = np.random.default_rng(0)
    novelty, weight = rng.uniform(0, 1, 300), rng.integers(0, 3, 300) * 1.0
    nothing = np.empty((300, 0))
    labels = np.zeros(300, dtype=int)
    found = find_novelty_threshold(CalibrationSamples(nothing, nothing, labels, weight, novelty))
    values = np.repeat(novelty, weight.astype(int))
    assert np.mean(values <= found) >= 0.99
    assert np.mean(values < found) < 0.99
