"""IMKPL on series: series in every form, once computed kernels, and scikit-learn's tools."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import get_tags

from contracts.estimator import check_prototype_estimator
from imkpl import IMKPL, load, save
from imkpl.estimators import _kernels
from imkpl.kernels import GlobalAlignment, alignment
from imkpl.kernels.alignment import SeriesKernels
from imkpl.series import VIEWS, SeriesSet, align
from reference.alignment import alignment_stack

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": True}


def make_series(seed, n_per_class=12, n_classes=3, lengths=(12, 30)):
    """Channel 1 tells classes apart by its frequency, channels 0 and 2 are noise."""
    rng = np.random.default_rng(seed)
    arrays, labels = [], np.repeat(np.arange(n_classes), n_per_class)
    for label in labels:
        length = int(rng.integers(*lengths))
        values = rng.standard_normal((3, length))
        phase = 2 * np.pi * np.linspace(0, 1, length) * (label + 1)
        values[1] = 3 * np.sin(phase + rng.uniform(-0.3, 0.3)) + 0.3 * values[1]
        arrays.append(values)
    return SeriesSet.from_list(arrays, ["a", "b", "c"]), labels


@pytest.fixture(scope="module")
def train():
    return make_series(0)


@pytest.fixture(scope="module")
def new():
    return make_series(1)


@pytest.fixture(scope="module")
def model(train):
    return IMKPL("global_alignment", **SMALL).fit(*train)


def test_the_laws_of_prototype_classifiers_hold(model, train, new):
    X, y = train
    live = np.flatnonzero(model.kernel_weights_)
    everyone = SeriesSet.from_list([*X, *new[0][:4]])
    kernels = GlobalAlignment().on(X).select(live)
    whole = alignment_stack(kernels, everyone, X) @ model.kernel_weights_[live]

    def combined(A, B):
        places = [
            [i for i, other in enumerate(everyone) if np.array_equal(one, other)] for one in A
        ]
        columns = [[i for i, other in enumerate(X) if np.array_equal(one, other)] for one in B]
        return whole[np.ix_(np.ravel(places), np.ravel(columns))]

    check_prototype_estimator(model, X, y, new[0][:4], combined)


def test_the_channel_that_matters_is_found(model, new):
    assert model.score(*new) > 0.95
    assert np.argmax(model.feature_importances_) == 1
    assert model.kernel_names_ == ["a", "b", "c"]
    assert model.n_channels_in_ == model.n_features_in_ == 3
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])


@pytest.mark.parametrize("form", [np.asarray, list, lambda X: X])
def test_all_forms_give_the_same_model(model, train, new, form):
    X, y = train
    other = IMKPL("global_alignment", **SMALL).fit(form(X), y)
    assert_array_equal(other.kernel_weights_, model.kernel_weights_)
    expected = model.predict_proba(new[0])
    assert_array_equal(other.predict_proba(form(new[0])), expected)
    assert_array_equal(pickle.loads(pickle.dumps(other)).predict_proba(new[0]), expected)


def test_neither_the_order_of_rows_nor_copies_matter(model, train, new):
    X, y = train
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = IMKPL("global_alignment", **SMALL).fit(X[order], y[order])
    assert_array_equal(shuffled.predict_proba(new[0]), model.predict_proba(new[0]))
    counts = np.ones(len(y))
    counts[:5] = [2, 3, 0, 1, 2]
    rows = np.repeat(np.arange(len(y)), counts.astype(int))
    copied = IMKPL("global_alignment", **SMALL).fit(X[rows], y[rows])
    weighted = IMKPL("global_alignment", **SMALL).fit(X, y, sample_weight=counts)
    assert_array_equal(copied.predict_proba(new[0]), weighted.predict_proba(new[0]))


def count_pairs(monkeypatch):
    """The number of alignments that are computed, those of series with themselves left out."""
    counted = []
    original = alignment.align_pairs

    def counting(left, right, rows, columns, *args):
        counted.append(rows.size)
        return original(left, right, rows, columns, *args)

    monkeypatch.setattr(alignment, "align_pairs", counting)
    return counted


def test_every_kernel_is_computed_once_per_fit(train, monkeypatch):
    X, y = train
    counted = count_pairs(monkeypatch)
    model = IMKPL("global_alignment", **SMALL, max_iter=50, tol=1e-4).fit(X, y)
    n = len(y)
    assert model.n_iter_ > 1
    assert sum(counted) == 3 * n * (n - 1) // 2


def test_prediction_reads_live_channels_and_support_only(train, new, monkeypatch):
    X, y = train
    model = IMKPL("global_alignment", **SMALL, max_kernels=1).fit(X, y)
    counted = count_pairs(monkeypatch)
    model.predict(new[0])
    assert sum(counted) == len(new[0]) * model.support_.size
    # The other channels may hold anything.
    noise = np.asarray(new[0])
    noise[:, [0, 2]] = np.where(np.isnan(noise[:, [0, 2]]), np.nan, 7.0)
    assert_array_equal(model.predict_proba(noise), model.predict_proba(new[0]))


def test_landmarks_never_compare_all_with_all(monkeypatch):
    X, y = make_series(2, n_per_class=60, n_classes=2, lengths=(8, 12))
    counted = count_pairs(monkeypatch)
    model = IMKPL("global_alignment", solver="landmarks", n_landmarks=12, **SMALL).fit(X, y)
    # Drawing, the table of landmarks, and codes and calibration against the support.
    assert sum(counted) < 3 * (3 * len(y) * 12 + 12 * 12)
    assert model.codes_.shape[0] == len(y)
    assert model.score(X, y) > 0.9


def test_missing_values_are_allowed(train, new):
    X, y = train
    rng = np.random.default_rng(0)
    gaps = [np.where(rng.random(one.shape) < 0.2, np.nan, one) for one in X]
    gaps = [
        np.where(np.arange(one.shape[1]) == 3, whole, one)
        for one, whole in zip(gaps, X, strict=True)
    ]
    model = IMKPL("global_alignment", **SMALL).fit(gaps, y)
    assert model.score(*new) > 0.9
    assert get_tags(model).input_tags.allow_nan


def test_bad_input_is_told_what_is_wrong(model, train, new):
    X, y = train
    with pytest.raises(ValueError, match="was fitted to 3"):
        model.predict(X[:, [0, 1]])
    with pytest.raises(ValueError, match="expected a, b, c as in the training part"):
        model.predict(X[:, [0, 2, 1]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        IMKPL().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"X\[:, None, :\] for series of one"):
        IMKPL("per_view").fit(np.zeros((6, 5)), [0, 1] * 3)
    with pytest.raises(ValueError, match="All kernels are constant"):
        IMKPL().fit(np.zeros((6, 2, 5)), [0, 1] * 3)


def test_alignments_are_named_by_kernels_with_weight(model, train, new):
    X, _ = train
    found = align(model, new[0][0], X[int(model.support_[0])])
    live = np.flatnonzero(model.kernel_weights_)
    assert list(found) == [model.kernel_names_[i] for i in live]
    kernels = GlobalAlignment().on(X).take(model.support_[:1])
    similarity = kernels.cross(new[0][:1]).evaluate(1)[0, 0]
    assert_allclose(found["b"].similarity, similarity, rtol=1e-12)
    with pytest.raises(ValueError, match="fitted to 3"):
        align(model, new[0][0][:2], X[0][:2])
    other = IMKPL(n_prototypes=2, contrast=False).fit(
        np.arange(40.0).reshape(20, 2), np.arange(20) > 9
    )
    with pytest.raises(TypeError, match="the model has FeatureKernels"):
        align(other, new[0][0], X[0])


@pytest.fixture(scope="module")
def planted():
    """Many series of which the spread of channel 1 tells the class."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.standard_normal((90, 2, 12))
    X[:, 1] *= 4.0 ** y[:, None]
    return X, y


EACH_CHANNEL = GlobalAlignment(scales=(0.2, 1.0, 5.0), views=VIEWS)


def test_many_kernels_are_screened_on_some_series(planted, monkeypatch):
    X, y = planted
    whole = IMKPL(EACH_CHANNEL, n_prototypes=6, contrast=False, max_kernels=3).fit(X, y)
    monkeypatch.setattr(_kernels, "SCREENING_SAMPLES", 45)
    monkeypatch.setattr(SeriesKernels, "most_kernels", 4)
    tabulated, tabulate = [], SeriesKernels.tabulated

    def note_and_tabulate(kernels):
        tabulated.append((kernels.n_kernels, len(kernels.samples)))
        return tabulate(kernels)

    monkeypatch.setattr(SeriesKernels, "tabulated", note_and_tabulate)
    model = IMKPL(EACH_CHANNEL, n_prototypes=6, contrast=False).fit(X, y)
    assert tabulated == [(26, 45), (8, 90)]
    live = np.flatnonzero(model.kernel_weights_)
    assert 1 <= live.size <= 4
    assert all(model.kernel_names_[i].startswith("channel 1") for i in live)
    assert model.kernel_weights_.size == model.kernel_evidence_.size == 26
    # Kernels that were not computed for all series have the evidence of the screening.
    assert_allclose(model.kernel_evidence_[live], 1.0, atol=0.1)
    assert np.count_nonzero(model.kernel_evidence_ > 0.9) >= 4
    assert model.score(X, y) > whole.score(X, y) - 0.05


def test_what_is_required_survives_the_screening(planted, monkeypatch):
    X, y = planted
    monkeypatch.setattr(_kernels, "SCREENING_SAMPLES", 45)
    monkeypatch.setattr(SeriesKernels, "most_kernels", 4)
    wanted = "channel 0 (level)"
    model = IMKPL(EACH_CHANNEL, n_prototypes=6, contrast=False, require=[wanted]).fit(X, y)
    assert model.kernel_weights_[model.kernel_names_.index(wanted)] > 0


def test_channels_are_weighed_and_noise_is_left_out(train, new):
    X, y = train
    model = IMKPL(sparsity=3, n_prototypes=6, contrast=False).fit(X, y)
    assert_array_equal(np.flatnonzero(model.feature_importances_), [1])
    assert model.channel_evidence_[1] > 0.9
    assert max(model.channel_evidence_[[0, 2]]) < 0.75
    assert model.kernel_names_[0] == "b (width x0.2)"
    assert model.score(*new) > 0.9
    # What is left out may hold anything, in prediction too.
    noise = np.asarray(new[0])
    noise[:, [0, 2]] = np.where(np.isnan(noise[:, [0, 2]]), np.nan, 7.0)
    assert_array_equal(model.predict_proba(noise), model.predict_proba(new[0]))


@pytest.fixture(scope="module")
def both():
    """Channels 0 and 1 tell two of four classes apart each, channel 2 is noise."""

    def make(seed):
        rng = np.random.default_rng(seed)
        y = np.arange(60) % 4
        X = rng.standard_normal((60, 3, 15))
        X[:, 0] += 3 * (y % 2)[:, np.newaxis]
        X[:, 1, 5:] += 3 * (y // 2)[:, np.newaxis]
        return X, y

    return make(0), make(1)


FOUR = {"n_prototypes": 4, "contrast": False}


@pytest.fixture(scope="module")
def joined(both):
    return IMKPL(**FOUR).fit(*both[0])


def test_channels_that_matter_together_share_the_weight(joined, both):
    model, new = joined, both[1]
    assert_array_equal(np.flatnonzero(model.feature_importances_), [0, 1])
    assert_allclose(model.feature_importances_.sum(), 1.0)
    assert all(name.startswith("all channels (") for name in model.kernel_names_)
    assert len(model.kernel_names_) == 13
    assert model.score(*new) > 0.95


def test_a_card_says_which_channel_tells_the_answer_from_the_runner_up(joined, both):
    _, (other, _) = both
    explanation = joined.explain(other)
    for index in range(0, len(other), 5):
        card = explanation.card(index)
        # The classes differ by 1 in channel 0, by 2 in channel 1.
        telling = {"channel 0": 1, "channel 1": 2}
        first = card.series["channels"][0]
        assert (card.answer ^ card.runner_up) & telling[first["name"]]
        assert first["for"] > 0
        # It is also the one that is drawn.
        assert card.series["channel"].startswith(f"{first['name']} (")
        # One prototype a class: what channels add is the difference of the similarities, but for
        # the sums of their coefficients.
        sizes = np.asarray(explanation.evidence.predictor.mixes.sum(axis=1)).ravel()
        gap = card.supporting["similarity"] - card.opposing["similarity"]
        sides = sizes[card.supporting["prototype"]] - sizes[card.opposing["prototype"]]
        added = sum(one["for"] for one in card.series["channels"])
        assert_allclose(added + sides, gap, atol=1e-10)
        assert f"by channel: {first['name']}" in str(card)


def test_units_of_channels_do_not_matter(joined, both):
    (X, y), (other, _) = both
    units, levels = np.array([1e3, 1e-2, 5.0])[:, np.newaxis], np.array([[3.0], [-1.0], [1e4]])
    changed = IMKPL(**FOUR).fit(units * X + levels, y)
    assert_allclose(changed.feature_importances_, joined.feature_importances_, rtol=1e-4)
    found = changed.predict_proba(units * other + levels)
    assert_allclose(found, joined.predict_proba(other), atol=1e-4)


def test_constraints_are_about_channels_where_channels_are_weighed(both):
    (X, y), _ = both
    named = SeriesSet.from_list(list(X), ["u", "v", "w"])
    without = IMKPL(**FOUR, exclude=["u"]).fit(named, y)
    assert without.feature_importances_[0] == 0.0
    # The limit is on kernels, not on channels.
    wanted = IMKPL(**FOUR, require=["v", "w"], max_kernels=1).fit(named, y)
    assert np.all(wanted.feature_importances_[1:] > 0.0)
    assert np.count_nonzero(wanted.kernel_weights_) == 1
    with pytest.raises(ValueError, match="Did you mean 'u'"):
        IMKPL(**FOUR, exclude=["uu"]).fit(named, y)


def test_weights_of_noise_are_not_called_more_than_chance(both):
    (X, y), _ = both
    shuffled = np.random.default_rng(1).permutation(y)
    with pytest.warns(UserWarning, match="No kernel tells the classes apart"):
        model = IMKPL(**FOUR).fit(X, shuffled)
    assert model.channel_evidence_.max() < 0.95


def test_gaps_and_unequal_lengths_of_weighed_channels(both):
    (X, y), new = both
    rng = np.random.default_rng(0)
    series = [one[:, : int(rng.integers(12, 16))].copy() for one in X]
    for one in series:
        one[rng.integers(0, 3), rng.integers(1, 10)] = np.nan
    model = IMKPL(**FOUR).fit(series, y)
    assert_array_equal(np.flatnonzero(model.feature_importances_), [0, 1])
    assert model.score(*new) > 0.95


def test_a_single_channel_needs_no_weights(both):
    (X, y), (other, _) = both
    model = IMKPL(**FOUR).fit(X[:, :1], y)
    each = IMKPL(EACH_CHANNEL, n_prototypes=4, contrast=False).fit(X[:, :1], y)
    assert model.kernel_names_ == each.kernel_names_
    assert_allclose(model.feature_importances_, [1.0])
    assert_array_equal(model.predict_proba(other[:, :1]), each.predict_proba(other[:, :1]))


def test_weighed_channels_are_saved_and_learned_from_landmarks(joined, both, tmp_path):
    (X, y), (other, classes) = both
    model = joined
    save(model, tmp_path / "model.imkpl")
    loaded = load(tmp_path / "model.imkpl")
    assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    assert_array_equal(loaded.channel_evidence_, model.channel_evidence_)
    assert_array_equal(loaded.predict_proba(other), model.predict_proba(other))
    few = IMKPL(**FOUR, solver="landmarks", n_landmarks=24).fit(X, y)
    assert_array_equal(np.flatnonzero(few.feature_importances_), [0, 1])
    assert few.score(other, classes) > 0.95
