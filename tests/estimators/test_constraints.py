"""Constraints of an expert: always obeyed, or refused with a sentence."""

import doctest
import pathlib
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import IMKPL, ISKPL
from imkpl.estimators import _kernels

FAST = {"sparsity": 3, "max_iter": 3}
SIX = {"n_prototypes": 6, "contrast": False}


@pytest.fixture(scope="module")
def measured(wine):
    """Wine with names, in which a row is given twice with the same class."""
    X = pd.DataFrame(wine.X, columns=[f"f{i}" for i in range(13)])
    X.iloc[1] = X.iloc[0]
    return X, wine.y


def is_obeyed(model, eligible=None):
    """Whether a fitted model does what it was asked for."""
    assert eligible is None or eligible[model.support_].all()
    used = (model.prototypes_ + model.contrasts_).sum(axis=0)
    assert_array_equal(np.flatnonzero(used), model.support_)
    number = {name: place for place, name in enumerate(model.kernel_names_)}
    has_weight = model.kernel_weights_ > 0

    def weights_of(listed):
        return has_weight[[number.get(feature, feature) for feature in listed or []]]

    assert weights_of(model.require).all()
    assert not weights_of(model.exclude).any()
    limit = getattr(model, "max_kernels", None)
    assert limit is None or has_weight.sum() <= limit
    return True


def fit_or_refuse(model, X, y, eligible):
    """The fitted model, or None if the constraints were refused with a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y, eligible=eligible)
    except ValueError as error:
        text = str(error)
    assert "expected" in text
    assert text.endswith(".")
    return None


# Sometimes what is required is excluded.
CONSTRAINTS = {
    "require": st.lists(st.integers(0, 5), max_size=3),
    "exclude": st.lists(st.integers(5, 8), max_size=3),
    "max_kernels": st.sampled_from([None, 2, 6]),
    "n_prototypes": st.sampled_from([3, 6]),
    "decision": st.sampled_from(["votes", "votes", "share"]),
    "contrast": st.sampled_from([False, True]),
    "solver": st.sampled_from(["auto", "auto", "landmarks"]),
}


def draw_eligible(seed, n):
    rng = np.random.default_rng(seed)
    return rng.random(n) < rng.choice([0.1, 0.5, 1.0])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(parameters=st.fixed_dictionaries(CONSTRAINTS), seed=st.integers(0, 10**6))
def test_constraints_are_obeyed_or_refused(measured, parameters, seed):
    X, y = measured
    eligible = draw_eligible(seed, len(y))
    model = IMKPL(**FAST, **parameters, n_landmarks=30)
    assert fit_or_refuse(model, X, y, eligible) is None or is_obeyed(model, eligible)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    parameters=st.fixed_dictionaries({**CONSTRAINTS, "n_prototypes": st.sampled_from([None, 3])}),
    seed=st.integers(0),
)
def test_constraints_are_obeyed_or_refused_in_pipelines_and_searches(measured, parameters, seed):
    X, y = measured
    eligible = draw_eligible(seed, len(y))
    model = clone(IMKPL(**FAST, **parameters, n_landmarks=30))
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(eligible=True)
        pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), model)
        search = GridSearchCV(pipe, {"imkpl__code_sparsity": [5]}, cv=2, error_score="raise")
        found = fit_or_refuse(search, X, y, eligible)
    assert found is None or is_obeyed(found.best_estimator_[-1], eligible)


@pytest.mark.parametrize(
    "model",
    [ISKPL(), IMKPL(weight_rule="lp"), IMKPL(weight_rule="large_margin"), IMKPL(decision="share")],
)
def test_every_classifier_takes_constraints(model, measured):
    X, y = measured
    eligible = np.arange(len(y)) % 3 == 0
    model = clone(model).set_params(require=["f2"], exclude=["f6", 12])
    assert is_obeyed(model.fit(X, y, eligible=eligible), eligible)


def test_series_and_words_take_constraints(rng):
    y = np.repeat([0, 1], 12)
    series = rng.standard_normal((24, 3, 10)) + y[:, None, None]
    counts = rng.poisson(0.3 + 2 * y[:, None] * (np.arange(120) < 40), (24, 120))
    eligible = np.arange(24) % 2 == 0
    for kernels, X in (("global_alignment", series), ("per_word", counts)):
        model = IMKPL(kernels, require=[1], exclude=[0]).fit(X, y, eligible=eligible)
        assert eligible[model.support_].all()
        assert model.feature_importances_[1] > 0
        assert model.feature_importances_[0] == 0
    weighed = IMKPL(require=[1], exclude=[0]).fit(series, y, eligible=eligible)
    assert weighed.feature_importances_[1] > 0
    assert weighed.feature_importances_[0] == 0


def test_a_model_that_excludes_a_feature_equals_one_without_it(measured):
    X, y = measured
    excluded = IMKPL(**SIX, exclude=["f6"]).fit(X, y)
    without = IMKPL(**SIX).fit(X.drop(columns="f6"), y)
    found = without.predict_proba(X.drop(columns="f6"))
    assert_allclose(excluded.predict_proba(X), found, atol=1e-6)


@pytest.mark.parametrize("decision", ["votes", "share"])
def test_constraints_that_ask_for_nothing_change_nothing(measured, decision):
    X, y = measured
    free = IMKPL(**SIX, decision=decision).fit(X, y)
    bound = IMKPL(**SIX, decision=decision, require=[], exclude=[])
    bound.fit(X, y, eligible=np.ones(len(y), bool))
    assert_allclose(bound.predict_proba(X), free.predict_proba(X), atol=1e-6)
    assert_array_equal(bound.support_, free.support_)


def test_all_samples_are_learned_from_though_few_are_shown(measured):
    X, y = measured
    few = np.zeros(len(y), dtype=bool)
    few[[np.flatnonzero(y == q)[2] for q in range(3)]] = True
    model = IMKPL(**FAST).fit(X, y, eligible=few)
    assert_array_equal(model.support_, np.flatnonzero(few))
    assert model.score(X, y) > 0.7
    assert model.codes_.shape[0] == len(y)


def test_of_equal_rows_the_one_that_may_be_shown_is_shown(measured):
    X, y = measured
    eligible = (np.arange(len(y)) == 1) | (y != y[1])
    model = IMKPL(**FAST).fit(X, y, eligible=eligible)
    assert 1 in model.support_
    assert 0 not in model.support_


def test_an_eligible_sample_of_every_class_is_a_landmark(measured, monkeypatch):
    X, y = measured
    few = np.isin(np.arange(len(y)), [np.flatnonzero(y == q)[7] for q in range(3)])
    kept, keep = [], _kernels.keep_landmarks
    monkeypatch.setattr(_kernels, "keep_landmarks", lambda *a: kept.append(keep(*a)) or kept[-1])
    model = IMKPL(**FAST, solver="landmarks", n_landmarks=12).fit(X, y, eligible=few)
    # They are drawn twice.
    assert len(kept) == 2
    for landmarks in kept:
        assert np.isin(np.flatnonzero(few), landmarks.data.rows).all()
        assert landmarks.data.sample_weight.sum() == pytest.approx(len(y))
    assert is_obeyed(model, few)


def test_names_and_numbers_mean_the_same(measured):
    X, y = measured
    by_name = IMKPL(**FAST, require=["f2"], exclude=("f6",), **SIX)
    by_number = IMKPL(**FAST, require=[2], exclude=np.array([6]), **SIX)
    assert_array_equal(*(model.fit(X, y).predict_proba(X) for model in (by_name, by_number)))


def test_a_file_keeps_the_constraints(measured, tmp_path):
    X, y = measured
    eligible = np.arange(len(y)) % 2 == 0
    model = IMKPL(**FAST, require=["f2"], **SIX).fit(X, y, eligible=eligible)
    imkpl.save(model, tmp_path / "m.imkpl")
    twin = imkpl.load(tmp_path / "m.imkpl")
    assert clone(twin).get_params() == model.get_params()
    assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    assert_array_equal(twin.eligible_, eligible)
    assert model.fit(X, y).eligible_ is None


ROWS = np.arange(60)
CONTRADICTIONS = [
    ({"require": ["f1"], "exclude": [1]}, {}, "'f1' is required and excluded"),
    ({"require": ["f_2"]}, {}, "lists 'f_2'.*Did you mean 'f2'"),
    ({"exclude": [13]}, {}, "exclude lists 13, expected .* or numbers from 0 to 12"),
    ({"exclude": [True]}, {}, "lists True"),
    ({"require": "f1"}, {}, "must be an array-like or None"),
    ({"exclude": list(range(13))}, {}, "exclude names every feature"),
    ({"require": [1, 2, 3], "max_kernels": 2}, {}, "max_kernels=2, but require takes 3 kernels"),
    ({}, {"eligible": ROWS > 25}, "Class 0 has no eligible sample"),
    ({}, {"eligible": ROWS == 4, "sample_weight": 1.0 * (ROWS != 4)}, "has no eligible sample"),
    ({}, {"eligible": [3, 5]}, r"expected one boolean for each of the 60 samples.*np\.isin"),
]


@pytest.mark.parametrize(("parameters", "metadata", "sentence"), CONTRADICTIONS)
def test_contradictions_get_a_sentence(parameters, metadata, sentence, measured):
    X, y = measured
    metadata = {name: values[: len(y)] for name, values in metadata.items()}
    with pytest.raises((ValueError, TypeError), match=sentence.replace("60", str(len(y)))):
        IMKPL(**FAST, **parameters).fit(X, y, **metadata)


def test_what_looks_like_chance_enters_if_it_is_required(measured, rng):
    X, y = measured
    X = X.assign(**{f"noise {i}": rng.standard_normal(len(y)) for i in range(20)})
    model = IMKPL(**FAST, n_prototypes=3, contrast=False, require=["noise 3", "noise 4"])
    model.fit(X, y)
    has_weight = dict(zip(model.kernel_names_, model.kernel_weights_ > 0, strict=True))
    assert has_weight["noise 3"]
    assert has_weight["noise 4"]
    assert sum(has_weight[f"noise {i}"] for i in range(20)) < 6
    assert model.expected_false_kernels_ > 1


def test_a_constant_feature_cannot_be_required(measured):
    X, y = measured
    with pytest.raises(ValueError, match="'f3' is required, but it is constant"):
        IMKPL(require=["f3"]).fit(X.assign(f3=1.0), y)


class AnyNumbers(doctest.OutputChecker):
    """Other versions of libraries may round other numbers."""

    def check_output(self, want, got, flags):
        want, got = (re.sub(r"\d+", "0", text) for text in (want, got))
        return super().check_output(want, got, flags)


def test_the_documented_example_runs():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "constraints.md"
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.M)
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(AnyNumbers()).run(example).failed == 0
