"""What refits choose again, with a control."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPL, ISKPL, stability
from imkpl.estimators._evaluation import _search_regions
from imkpl.measures import selection_stability

SIX = {"n_prototypes": 6, "contrast": False}


@pytest.fixture(scope="module")
def frame():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in range(len(X))]
    return X[::2], np.array(["Barolo", "Grignolino", "Barbera"])[y[::2]]


def frequencies_of(found):
    return {one["kernel"]: one["frequency"] for one in found.kernels["frequencies"]}


@pytest.fixture(scope="module")
def found(frame):
    return stability(IMKPL(**SIX, max_kernels=4), *frame, n_repeats=4)


def test_kernels_are_counted_over_refits(frame, found):
    X, y = frame
    model = IMKPL(**SIX, max_kernels=4)
    # The parts are drawn from the seed alone: class by class, four fifths of each.
    rng, weights = np.random.RandomState(0), []
    for _ in range(4):
        own = [np.flatnonzero(y == label) for label in np.unique(y)]
        rows = np.sort(np.concatenate([rng.permutation(o)[: round(0.8 * o.size)] for o in own]))
        weights.append(model.fit(X.iloc[rows], y[rows]).kernel_weights_)
    weights = np.array(weights)
    frequencies = dict(zip(X.columns, (weights > 0).mean(axis=0), strict=True))
    chosen = frequencies_of(found)
    assert chosen == {k: v for k, v in frequencies.items() if v > 0}
    assert list(chosen.values()) == sorted(chosen.values())[::-1]
    means = dict(zip(X.columns, weights.mean(axis=0), strict=True))
    for one in found.kernels["frequencies"]:
        assert one["weight"] == pytest.approx(means[one["kernel"]])
    index = found.kernels["index"], found.kernels["interval"]
    assert index == selection_stability(weights)
    assert found.kernels["n"] == 13


def test_a_planted_feature_is_always_chosen_and_noise_is_not():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 30))
    X[:, 3] += 4 * y
    found = stability(IMKPL(**SIX, max_kernels=3), X, y, n_repeats=5)
    first = found.kernels["frequencies"][0]
    assert (first["kernel"], first["frequency"]) == ("x3", 1)
    noise = rng.permutation(y)
    with pytest.warns(UserWarning, match="No kernel tells the classes apart"):
        shuffled = stability(IMKPL(**SIX, max_kernels=3), X, noise, n_repeats=5)
    assert shuffled.kernels["index"] < found.kernels["index"]


def test_prototypes_of_crowded_places_are_found_again():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.standard_t(2, size=(200, 2)) + 3 * y[:, np.newaxis]
    found = stability(IMKPL(n_prototypes=2, contrast=False), X, y, n_repeats=5)
    assert [one["control"] for one in found.prototypes["regions"]] == pytest.approx([0.1, 0.1])
    assert found.prototypes["index"] > 0.5


def test_a_region_is_the_nearest_tenth_of_the_class():
    labels = np.repeat([0, 1], 20)
    similarities = np.concatenate([np.arange(20), 100 + np.arange(20)])[:, np.newaxis] / 200
    for sample, expected in ((19, 1), (18, 1), (17, 0), (39, 0)):
        # Samples of another class do not count, however similar.
        found, by_chance = _search_regions(
            similarities, labels, np.array([0]), np.array([sample, 25])
        )
        assert found == [expected]
        assert by_chance == pytest.approx(0.1 if sample < 20 else 0)
    everyone = np.arange(40)
    found, by_chance = _search_regions(similarities, labels, np.array([0]), everyone)
    assert (found, by_chance) == (1, 1)
    one, two = (
        _search_regions(similarities, labels, np.array([0]), np.arange(n))[1] for n in (1, 2)
    )
    assert [*one, *two] == pytest.approx([0.1, 1 - math.comb(18, 2) / math.comb(20, 2)])


def test_the_estimator_stays_as_it_is_and_the_reference_is_its_fit(frame, found):
    fitted = IMKPL(**SIX, max_kernels=4).fit(frame[0][::2], frame[1][::2])
    before = pickle.dumps(fitted)
    again = stability(fitted, *frame, n_repeats=4)
    assert pickle.dumps(fitted) == before
    assert again.to_dict() == found.to_dict()
    model = IMKPL(**SIX, max_kernels=4).fit(*frame)
    assert_array_equal(found.model.support_, model.support_)
    assert_array_equal(found.model.kernel_weights_, model.kernel_weights_)


def test_the_seed_draws_the_parts(frame, found):
    other = stability(IMKPL(**SIX, max_kernels=4), *frame, n_repeats=4, random_state=1)
    assert other.kernels != found.kernels


def test_a_pipeline_is_measured_as_a_whole(frame, found):
    steps = (StandardScaler().set_output(transform="pandas"), IMKPL(**SIX, max_kernels=4))
    again = stability(make_pipeline(*steps), *frame, n_repeats=4)
    # Gaussian kernels do not depend on the scale.
    assert frequencies_of(again) == frequencies_of(found)
    regions = again.prototypes["regions"]
    assert all(one["sample"].startswith("bottle") for one in regions)
    assert str(again).startswith("Stability of IMKPL over 4 refits to 80% of 89 samples:")


def test_stacks_of_kernels_are_cut_on_both_sides(stacks):
    K, y = stacks
    found = stability(IMKPL("precomputed", **SIX, max_kernels=2), K, y, n_repeats=3)
    assert found.kernels["n"] == 5
    assert set(frequencies_of(found)) <= {f"kernel {i}" for i in range(5)}


def test_series_are_measured_in_every_form():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2, 8)), np.arange(24) % 2
    X[y == 1, 0, 3:] += 2
    index = pd.MultiIndex.from_product([range(24), range(8)])
    rows = X.transpose(0, 2, 1).reshape(-1, 2)
    long = pd.DataFrame(rows, columns=["channel 0", "channel 1"], index=index)
    model = IMKPL("global_alignment", **SIX)
    found = stability(model, X, y, n_repeats=2)
    assert stability(model, long, y, n_repeats=2).to_dict() == found.to_dict()
    assert set(frequencies_of(found)) <= {"channel 0", "channel 1"}


def test_tables_are_aligned_by_the_names_of_kernels(frame):
    X = frame[0].iloc[:, :3].copy()
    # Some parts have no missing cell, and so no kernel for it.
    X.iloc[0, 0] = np.nan
    found = stability(IMKPL("per_column", **SIX), X, frame[1], n_repeats=6)
    assert found.kernels["n"] == 4
    assert frequencies_of(found).get("alcohol is missing", 0) < 1


def test_where_all_kernels_are_always_chosen_there_is_no_index(frame):
    found = stability(ISKPL(**SIX), *frame, n_repeats=2)
    assert np.isnan(found.kernels["index"])
    assert found.to_dict()["kernels"]["index"] is None
    assert "Kernels: every refit chooses all 13." in str(found)


def test_results_as_words_dicts_and_frames(found):
    words = str(found).splitlines()
    assert words[1].startswith(f"Kernels: Nogueira's index {found.kernels['index']:.2f} (95%")
    assert words[2].startswith("  most often ")
    assert words[-1].startswith(f"Prototypes: index {found.prototypes['index']:.2f}; ")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    kernels, regions = found.to_dict()["kernels"], found.to_dict()["prototypes"]["regions"]
    assert kernels["frequencies"] == found.kernels["frequencies"]
    assert set(pd.DataFrame(regions)["class"]) == {"Barolo", "Grignolino", "Barbera"}


@pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")
@pytest.mark.parametrize(
    ("estimator", "more", "sentence"),
    [
        (IMKPL, {}, "The model is <class .*IMKPL.>, expected a prototype model"),
        (
            LogisticRegression(),
            {},
            r"The model is LogisticRegression\(\), expected a prototype model",
        ),
        (make_pipeline(LogisticRegression()), {}, "The last step of the pipeline is Log"),
        (IMKPL(), {"n_repeats": 1}, "n_repeats=1, expected at least 2 refits"),
        (IMKPL(), {}, "80% of each class are all of the 4 samples, expected some"),
    ],
)
def test_wrong_use_is_refused_with_a_sentence(estimator, more, sentence):
    X, y = np.random.default_rng(0).normal(size=(4, 2)), [0, 1] * 2
    with pytest.raises((TypeError, ValueError), match=sentence):
        stability(estimator, X, y, **more)
