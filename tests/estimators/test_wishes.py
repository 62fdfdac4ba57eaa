"""Wishes of an expert: always obeyed, or refused with a sentence."""

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
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import (
    IMKPL,
    IMKPLCV,
    ISKPL,
    IMKPLSelector,
    MultiLabelIMKPL,
    TimeSeriesIMKPL,
    cost_of_wishes,
)
from imkpl.estimators import _landmarks

FAST = {"sparsity": 3, "max_iter": 3}


@pytest.fixture(scope="module")
def measured(wine):
    """Wine with names, in which a row is given twice with the same class."""
    X = pd.DataFrame(wine.X, columns=[f"f{i}" for i in range(13)])
    X.iloc[1] = X.iloc[0]
    return X, wine.y


def is_obeyed(model, X, *, eligible=None, pin=None, ban=None):
    """Whether a fitted model does what it was asked for."""
    n = model.prototypes_.shape[1]
    eligible, pin, ban = (
        np.full(n, default) if flags is None else np.asarray(flags)
        for flags, default in ((eligible, True), (pin, False), (ban, False))
    )
    mixes = model.prototypes_.toarray()
    centres = np.argmax(mixes, axis=1)
    assert eligible[model.support_].all()
    assert_array_equal(np.flatnonzero(mixes.any(axis=0)), model.support_)
    assert not ban[centres].any()
    rows = np.asarray(X)
    for place in np.flatnonzero(pin):
        # A row that equals another of its class is the same sample.
        assert any((rows[centre] == rows[place]).all() and pin[centre] for centre in centres)
    number = {name: place for place, name in enumerate(model.kernel_names_)}
    has_weight = model.kernel_weights_ > 0

    def weights_of(wished):
        return has_weight[[number.get(feature, feature) for feature in wished or []]]

    assert weights_of(model.require).all()
    assert not weights_of(model.exclude).any()
    for group in model.groups or []:
        assert np.unique(weights_of(group)).size <= 1
    limit = getattr(model, "max_kernels", None)
    assert not isinstance(limit, int) or has_weight.sum() <= limit
    return True


def fit_or_refuse(model, X, y, **wishes):
    """The fitted model, or None if the wishes were refused with a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y, **wishes)
    except ValueError as error:
        text = str(error)
    assert re.search("expected|as a whole", text)
    assert text.endswith((".", "samples"))
    return None


def listed(first, last):
    return st.lists(st.integers(first, last), max_size=3)


# Sometimes what is required is excluded, or in two groups.
WISHES = {
    "require": listed(0, 5),
    "exclude": listed(5, 8),
    "groups": st.tuples(listed(8, 10), listed(10, 12)).map(list),
    "max_kernels": st.sampled_from([None, 3, 6]),
    "n_prototypes": st.sampled_from([3, 6]),
    "decision": st.sampled_from(["votes", "votes", "share"]),
    "weight_rule": st.sampled_from(["margin", "margin", "ridge"]),
    "solver": st.sampled_from(["auto", "auto", "landmarks"]),
}


def draw_samples(seed, n):
    """Random wishes about samples that rarely contradict each other."""
    rng = np.random.default_rng(seed)
    pin = rng.random(n) < rng.choice([0.0, 0.05])
    ban = rng.random(n) < rng.choice([0.0, 0.3, 0.9])
    eligible = rng.random(n) < rng.choice([0.1, 0.5, 1.0])
    return {
        "eligible": eligible | pin if seed % 4 else eligible,
        "pin": pin,
        "ban": ban & ~pin if seed % 4 else ban,
    }


@settings(max_examples=25, deadline=None, derandomize=True)
@given(parameters=st.fixed_dictionaries(WISHES), seed=st.integers(0, 10**6))
def test_wishes_are_obeyed_or_refused(measured, parameters, seed):
    X, y = measured
    wishes = draw_samples(seed, len(y))
    model = IMKPL(**FAST, **parameters, n_landmarks=30)
    assert fit_or_refuse(model, X, y, **wishes) is None or is_obeyed(model, X, **wishes)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(parameters=st.fixed_dictionaries({**WISHES, "n_prototypes": st.none()}), seed=st.integers(0))
def test_wishes_are_obeyed_or_refused_in_pipelines_and_searches(measured, parameters, seed):
    X, y = measured
    wishes = draw_samples(seed, len(y))
    model = clone(IMKPL(**FAST, **parameters, n_landmarks=30))
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(eligible=True, pin=True, ban=True)
        pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), model)
        search = GridSearchCV(pipe, {"imkpl__code_sparsity": [5]}, cv=2, error_score="raise")
        found = fit_or_refuse(search, X, y, **wishes)
    assert found is None or is_obeyed(found.best_estimator_[-1], X, **wishes)


@pytest.mark.parametrize("kind", [ISKPL, IMKPLCV, IMKPL])
def test_every_classifier_takes_wishes(kind, measured):
    X, y = measured
    wishes = {name: flags.copy() for name, flags in draw_samples(3, len(y)).items()}
    wishes["eligible"][::3] = wishes["eligible"][1::7] = True
    wishes["ban"] &= ~wishes["eligible"]
    options = {IMKPLCV: {"sparsity": (2, 3), "cv": 2}, IMKPL: {"weight_rule": "lp"}}.get(kind, {})
    model = kind(require=["f2"], exclude=["f6", 12], **options).fit(X, y, **wishes)
    assert is_obeyed(model, X, **wishes)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), routed=st.booleans())
def test_wishes_reach_the_model_inside_of_another_estimator(measured, seed, routed):
    """Obeyed or refused, also where labels are several, and in the folds of a path."""
    X, y = measured
    wishes = draw_samples(seed, len(y))
    inner = IMKPL(**FAST, n_prototypes=6, require=["f2"], exclude=["f6"])
    several = (y[:, np.newaxis] == np.arange(3)).astype(int)
    path = IMKPLCV(sparsity=(3,), cv=2, max_iter=2, require=["f2"], exclude=["f6"])
    for model, labels in (
        (MultiLabelIMKPL(inner), several),
        (IMKPLSelector(inner), y),
        (path, y),
    ):
        with sklearn.config_context(enable_metadata_routing=routed):
            if routed:
                model.set_fit_request(eligible=True, pin=True, ban=True)
                model = make_pipeline(StandardScaler().set_output(transform="pandas"), model)
            found = fit_or_refuse(model, X, labels, **wishes)
        last = None if found is None else found[-1] if routed else found
        assert last is None or is_obeyed(getattr(last, "estimator_", last), X, **wishes)


def test_series_and_words_take_wishes(rng):
    y = np.repeat([0, 1], 12)
    series = rng.standard_normal((24, 3, 10)) + y[:, None, None]
    counts = rng.poisson(0.3 + y[:, None] * (np.arange(120) < 40), (24, 120))
    flags = np.arange(24) % 2 == 0
    pin = np.arange(24) == 4
    for model, X in ((TimeSeriesIMKPL(), series), (IMKPL("per_word"), counts)):
        model.set_params(require=[1], exclude=[0], max_iter=2)
        model.fit(X, y, eligible=flags, pin=pin, ban=np.arange(24) == 2)
        assert flags[model.support_].all()
        assert 4 in np.argmax(model.prototypes_.toarray(), axis=1)
        columns = model._kernel_columns
        assert (model.kernel_weights_[columns == 1] > 0).all()
        assert (model.kernel_weights_[columns == 0] == 0).all()


def test_a_model_that_excludes_a_feature_equals_one_without_it(measured):
    X, y = measured
    excluded = IMKPL(n_prototypes=6, exclude=["f6"]).fit(X, y)
    without = IMKPL(n_prototypes=6).fit(X.drop(columns="f6"), y)
    found = without.predict_proba(X.drop(columns="f6"))
    assert_allclose(excluded.predict_proba(X), found, atol=1e-6)


def test_wishes_that_ask_for_nothing_change_nothing(measured):
    X, y = measured
    free = IMKPL(n_prototypes=6).fit(X, y)
    ones, zeros = np.ones(len(y), bool), np.zeros(len(y), bool)
    wished = IMKPL(n_prototypes=6, require=[], exclude=[], groups=[])
    wished.fit(X, y, eligible=ones, pin=zeros, ban=zeros)
    assert_allclose(wished.predict_proba(X), free.predict_proba(X), atol=1e-6)
    assert_array_equal(wished.support_, free.support_)


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
    eligible = np.arange(len(y)) != 0
    model = IMKPL(**FAST).fit(X, y, eligible=eligible, pin=np.arange(len(y)) == 1)
    assert 1 in model.support_
    assert 0 not in model.support_


def test_pinned_samples_become_landmarks(measured, monkeypatch):
    X, y = measured
    pin = np.isin(np.arange(len(y)), [5, 17, 29, 41, 47])
    kept, keep = [], _landmarks.keep_landmarks
    monkeypatch.setattr(_landmarks, "keep_landmarks", lambda *a: kept.append(keep(*a)) or kept[-1])
    model = IMKPL(**FAST, solver="landmarks", n_landmarks=12).fit(X, y, pin=pin)
    # They are drawn twice.
    assert len(kept) == 2
    for landmarks in kept:
        assert np.isin(np.flatnonzero(pin), landmarks.kept).all()
        assert landmarks.sample_weight.sum() == pytest.approx(len(y))
    assert is_obeyed(model, X, pin=pin)


def test_names_and_numbers_mean_the_same_and_a_file_keeps_them(measured, tmp_path):
    X, y = measured
    by_name = IMKPL(**FAST, require=["f2"], exclude=("f6",), groups=[["f0", "f1"]], n_prototypes=6)
    by_number = IMKPL(**FAST, require=[2], exclude=np.array([6]), groups=[[0, 1]], n_prototypes=6)
    pin = np.arange(len(y)) == 5
    found = [model.fit(X, y, pin=pin).predict_proba(X) for model in (by_name, by_number)]
    assert_array_equal(*found)
    imkpl.save(by_name, tmp_path / "m.imkpl")
    twin = imkpl.load(tmp_path / "m.imkpl")
    assert clone(twin).get_params() == by_name.get_params()
    assert_array_equal(twin.predict_proba(X), found[0])
    assert_array_equal(twin.sample_wishes_["pin"], pin)
    assert by_name.fit(X, y).sample_wishes_ is None


def test_a_checkpoint_of_other_wishes_is_not_resumed(measured, tmp_path):
    X, y = measured
    model = IMKPL(sparsity=3, n_prototypes=6, checkpoint=tmp_path)
    wishes = [{}, {"pin": np.arange(len(y)) % 20 == 5}, {"ban": np.arange(len(y)) % 2 == 0}]
    for flags in wishes:
        model.set_params(max_iter=1).fit(X, y, **flags)
        resumed = model.set_params(max_iter=3).fit(X, y, **flags).predict_proba(X)
        fresh = clone(model).set_params(checkpoint=None).fit(X, y, **flags).predict_proba(X)
        assert_array_equal(resumed, fresh)
    assert len({path.name.split("-")[1] for path in tmp_path.glob("*.checkpoint")}) == 3


ROWS = np.arange(60)
CONTRADICTIONS = [
    ({"require": ["f1"], "exclude": [1]}, {}, "'f1' is required and excluded"),
    ({"require": ["f_2"]}, {}, "lists 'f_2'.*Did you mean 'f2'"),
    ({"exclude": [13]}, {}, "the number 13, expected 0 to 12"),
    ({"exclude": [True]}, {}, "lists True"),
    ({"require": "f1"}, {}, "must be an array-like or None"),
    ({"groups": ["f1", "f2"]}, {}, "Put it in brackets"),
    ({"groups": [[1, 2], [2, 3]]}, {}, "'f2' is in two groups"),
    ({"groups": [[1, 2]], "exclude": [2]}, {}, "'f2' is excluded, but others of its group"),
    ({"exclude": list(range(13))}, {}, "exclude names every feature"),
    ({"require": [1, 2, 3], "max_kernels": 2}, {}, "max_kernels=2, but .* take 3 kernels"),
    ({"groups": [[1, 2, 3]], "require": [4], "max_kernels": 3}, {}, "take 4 kernels"),
    ({"groups": [[1, 2]], "weight_rule": "lp"}, {}, "no room for groups"),
    ({}, {"pin": ROWS == 4, "ban": ROWS < 9}, "Sample 4 is pinned and banned"),
    ({}, {"pin": ROWS == 4, "eligible": ROWS > 9}, "Sample 4 is pinned but not eligible"),
    ({}, {"pin": ROWS == 4, "sample_weight": 1.0 * (ROWS != 4)}, "pinned but has the weight 0"),
    ({}, {"eligible": ROWS > 25}, "Class 0 has no eligible sample"),
    ({}, {"ban": ROWS < 25}, "Class 0 has no eligible sample that is not banned"),
    ({}, {"pin": [3, 5]}, r"expected one boolean for each of the 60 samples.*np\.isin"),
    ({"n_prototypes": 4}, {"pin": ROWS % 10 == 0}, "one for each pinned sample"),
]


@pytest.mark.parametrize(("parameters", "wishes", "sentence"), CONTRADICTIONS)
def test_contradictions_get_a_sentence(parameters, wishes, sentence, measured):
    X, y = measured
    wishes = {name: flags[: len(y)] for name, flags in wishes.items()}
    with pytest.raises((ValueError, TypeError), match=sentence.replace("60", str(len(y)))):
        IMKPL(**FAST, **parameters).fit(X, y, **wishes)


def test_what_looks_like_chance_enters_if_it_is_required(measured, rng):
    X, y = measured
    X = X.assign(**{f"noise {i}": rng.standard_normal(len(y)) for i in range(20)})
    model = IMKPL(**FAST, n_prototypes=3, require=["noise 3"], groups=[["noise 3", "noise 4"]])
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


def test_the_cost_of_wishes_is_measured_by_folds(measured):
    X, y = measured
    model = IMKPL(**FAST, n_prototypes=3, exclude=["f6", "f9", "f12"])
    found = cost_of_wishes(model, X, y, eligible=np.arange(len(y)) % 2 == 0, cv=3)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    free = clone(model).set_params(exclude=None)
    expected = [free.fit(X.iloc[a], y[a]).score(X.iloc[b], y[b]) for a, b in folds.split(X, y)]
    assert_array_equal(found.without_wishes, expected)
    assert found.cost == pytest.approx(np.mean(expected) - found.with_wishes.mean())
    assert f"{abs(100 * found.cost):.1f} points" in str(found)
    assert np.isfinite(found.standard_error)


def test_the_cost_of_no_wishes_is_nothing_in_a_pipeline_too(measured):
    X, y = measured
    pipe = make_pipeline(StandardScaler(), IMKPL(**FAST, n_prototypes=3))
    found = cost_of_wishes(pipe, X, y, pin=np.zeros(len(y), dtype=bool), cv=2)
    assert found.cost == 0


class AnyNumbers(doctest.OutputChecker):
    """Other versions of libraries may round other numbers."""

    def check_output(self, want, got, flags):
        want, got = (re.sub(r"\d+", "0", text) for text in (want, got))
        return super().check_output(want, got, flags)


def test_the_documented_example_runs():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "steering.md"
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.M)
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(AnyNumbers()).run(example).failed == 0
