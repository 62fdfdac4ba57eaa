"""IMKPLCV: the path over sizes, and the choice among them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GroupKFold, StratifiedShuffleSplit

from imkpl import IMKPL, IMKPLCV
from imkpl.estimators import _cv
from imkpl.estimators._cv import choose_smallest, halving_sizes
from imkpl.estimators._training import read_training
from imkpl.kernels import PerFeatureGaussian


def follow_path(model, X, y, weight, limits, sparsities):
    """The path of models learned from arrays."""
    return _cv.follow_path(model, read_training(model, X, y, weight), limits, sparsities)


SMALL = IMKPLCV(sparsity=(1, 3), max_kernels=(2, 5), cv=3)


@pytest.fixture(scope="module")
def fitted(wine):
    return clone(SMALL).fit(wine.X, wine.y)


def test_the_path_lists_all_pairs_of_settings(fitted):
    path = fitted.path_
    assert_array_equal(path["max_kernels"], [5, 5, 2, 2])
    assert_array_equal(path["sparsity"], [1, 3, 1, 3])
    assert_array_equal(path["n_kernels"], path["max_kernels"])
    assert_array_equal(path["n_prototypes"], [3, 9, 3, 9])
    assert path["split_scores"].shape == (4, 3)
    assert_allclose(path["mean_score"], path["split_scores"].mean(axis=1))
    deviation = path["split_scores"].std(axis=1, ddof=1)
    assert_allclose(path["standard_error"], deviation / np.sqrt(3))


def same_size(model):
    """The model that was chosen: as many prototypes per class as samples per prototype."""
    size = {"sparsity": model.sparsity_, "n_prototypes": 3 * model.sparsity_}
    return IMKPL(model.kernels, **size, max_kernels=model.max_kernels_)


def test_the_final_model_is_imkpl_with_the_chosen_settings(fitted, wine):
    chosen = fitted.chosen_index_
    assert fitted.max_kernels_ == fitted.path_["max_kernels"][chosen]
    assert fitted.sparsity_ == fitted.path_["sparsity"][chosen]
    plain = same_size(fitted).fit(wine.X, wine.y)
    assert_array_equal(fitted.predict_proba(wine.new), plain.predict_proba(wine.new))
    assert_array_equal(fitted.kernel_weights_, plain.kernel_weights_)
    assert_array_equal(fitted.prototypes_.toarray(), plain.prototypes_.toarray())
    assert set(vars(plain)) <= set(vars(fitted))
    assert fitted.get_params()["sparsity"] == (1, 3)


def test_split_scores_are_those_of_models_that_have_not_seen_the_samples(wine):
    """Against a fit with as many rounds of codes and prototypes, and weights as they start."""
    splitter = StratifiedShuffleSplit(2, test_size=0.3, random_state=1)
    path = IMKPLCV(sparsity=(3,), max_kernels=(4,), cv=splitter).fit(wine.X, wine.y).path_
    for score, (train, test) in zip(
        path["split_scores"][0], splitter.split(wine.X, wine.y), strict=True
    ):
        points = follow_path(IMKPL(), wine.X[train], wine.y[train], np.ones(train.size), [4], [3])
        predictor = next(points).predictor
        expected = np.argmax(predictor.encode(wine.X[test]).scores, axis=1)
        assert score == np.mean(expected == wine.y[test])
        whole = IMKPL(sparsity=3, n_prototypes=9, max_kernels=4).fit(wine.X[train], wine.y[train])
        assert score == pytest.approx(whole.score(wine.X[test], wine.y[test]), abs=0.06)


def test_a_path_of_one_point_is_a_fit_without_weight_steps(wine):
    point = next(follow_path(IMKPL(), wine.X, wine.y, np.ones(len(wine.y)), [5], [4]))
    whole = IMKPL(sparsity=4, n_prototypes=12, max_kernels=5).fit(wine.X, wine.y)
    assert point.n_kernels == 5
    assert point.n_prototypes <= 12
    same = np.argmax(point.predictor.encode(wine.new).scores, axis=1) == whole.predict(wine.new)
    assert same.mean() > 0.95


def test_more_prototypes_start_from_fewer(wine):
    args = (wine.X, wine.y, np.ones(len(wine.y)), [6])
    both = list(follow_path(IMKPL(), *args, [2, 5]))
    alone = next(follow_path(IMKPL(), *args, [2]))
    assert_array_equal(both[0].predictor.mixes.toarray(), alone.predictor.mixes.toarray())
    assert both[1].n_prototypes > both[0].n_prototypes


def test_the_choice_is_the_smallest_within_one_standard_error():
    scores = np.array([[0.9, 0.92, 0.94], [0.9, 0.9, 0.92], [0.8, 0.82, 0.84], [0.91, 0.91, 0.9]])
    sizes = np.array([100.0, 20.0, 1.0, 30.0])
    # Best is 0.92 with standard error 0.0115: 0.9067 is out, unless the spread is larger.
    assert choose_smallest(scores, sizes) == (0, 0)
    scores[0] = [0.88, 0.92, 0.96]
    assert choose_smallest(scores, sizes) == (0, 1)
    assert choose_smallest(np.full((3, 2), 0.5), np.array([3.0, 1.0, 2.0])) == (1, 1)


def test_best_takes_the_best(wine):
    model = clone(SMALL).set_params(selection="best").fit(wine.X, wine.y)
    assert model.chosen_index_ == model.best_index_ == np.argmax(model.path_["mean_score"])


def test_sizes_halve_from_twice_what_suffices():
    assert halving_sizes(40, 1000, 4).tolist() == [80, 40, 20, 10]
    assert halving_sizes(10, 13, 4).tolist() == [13, 10, 5, 3]
    assert halving_sizes(1, 1, 4).tolist() == [1]


def test_auto_sizes_surround_what_imkpl_keeps(wine):
    model = IMKPLCV(sparsity=(3,), cv=2).fit(wine.X, wine.y)
    n_kept = np.count_nonzero(IMKPL(sparsity=3).fit(wine.X, wine.y).kernel_weights_)
    tried = model.path_["max_kernels"]
    assert tried[0] == min(2 * n_kept, wine.X.shape[1])
    assert n_kept in tried
    assert tried.min() <= n_kept / 2


def test_irrelevant_features_are_not_chosen(rng):
    labels = np.repeat([0, 1, 2], 40)
    X = rng.standard_normal((120, 12))
    X[:, 0] += 8 * (labels == 0)
    X[:, 1] += 8 * (labels == 1)
    model = IMKPLCV(sparsity=(2, 10), max_kernels=(1, 2, 4, 8), cv=4).fit(X, labels)
    assert set(np.flatnonzero(model.kernel_weights_)) == {0, 1}
    assert model.sparsity_ == 2


def test_equal_samples_stay_on_one_side_and_order_does_not_matter(wine, fitted, rng):
    order = rng.permutation(np.tile(np.arange(len(wine.y)), 2))
    twice = clone(SMALL).fit(wine.X[order], wine.y[order])
    weighted = clone(SMALL).fit(wine.X, wine.y, sample_weight=np.full(len(wine.y), 2.0))
    assert_array_equal(twice.path_["split_scores"], weighted.path_["split_scores"])
    shuffled = rng.permutation(len(wine.y))
    again = clone(SMALL).fit(wine.X[shuffled], wine.y[shuffled])
    assert_array_equal(again.path_["split_scores"], fitted.path_["split_scores"])


def test_the_seed_decides_the_folds_and_none_is_a_seed(wine, fitted):
    same = clone(SMALL).set_params(random_state=0).fit(wine.X, wine.y)
    assert_array_equal(same.path_["split_scores"], fitted.path_["split_scores"])
    other = clone(SMALL).set_params(random_state=5).fit(wine.X, wine.y)
    assert not np.array_equal(other.path_["split_scores"], fitted.path_["split_scores"])


def test_balanced_accuracy_counts_classes_alike(wine):
    rows = np.concatenate([np.flatnonzero(wine.y == 0), np.flatnonzero(wine.y == 1)[:6]])
    X, y = wine.X[rows], wine.y[rows]
    splits = [(np.arange(0, len(y), 2), np.arange(1, len(y), 2))] * 2
    settings = {"sparsity": (1,), "max_kernels": (1,), "cv": splits, "scoring": "balanced_accuracy"}
    model = IMKPLCV(**settings).fit(X, y)
    train, test = splits[0]
    point = next(follow_path(IMKPL(), X[train], y[train], np.ones(train.size), [1], [1]))
    predicted = np.argmax(point.predictor.encode(X[test]).scores, axis=1)
    assert model.path_["mean_score"][0] == balanced_accuracy_score(y[test], predicted)


def test_a_generator_of_splits_is_taken_as_it_is(wine):
    groups = np.arange(len(wine.y)) % 4
    splits = GroupKFold(4).split(wine.X, wine.y, groups)
    model = clone(SMALL).set_params(cv=list(splits)).fit(wine.X, wine.y)
    assert model.path_["split_scores"].shape == (4, 4)


def test_precomputed_kernels_are_split_on_both_axes(wine):
    bank = PerFeatureGaussian().adapt(wine.X)
    stack = np.stack([bank.evaluate(j, wine.X) for j in range(5)], axis=-1)
    model = clone(SMALL).set_params(kernels="precomputed").fit(stack, wine.y)
    direct = same_size(model).fit(stack, wine.y)
    assert_array_equal(model.predict(stack), direct.predict(stack))


def test_a_small_part_offers_fewer_neighbours(rng):
    X, y = rng.standard_normal((6, 3)), np.array([0, 1] * 3)
    X[:, 0] += 9 * y
    model = IMKPLCV(sparsity=(1,), max_kernels=(1,), n_neighbors=6).fit(X, y)
    assert model.path_["mean_score"][0] > 0.5


def test_the_literal_rule_has_a_path_over_sparsity(wine):
    model = IMKPLCV(sparsity=(1, 3), cv=2, weight_rule="lp").fit(wine.X, wine.y)
    assert model.max_kernels_ is None
    assert model.sparsity_ in (1, 3)


def test_verbose_says_how_far_it_is(wine, capsys):
    clone(SMALL).set_params(verbose=1).fit(wine.X, wine.y)
    text = capsys.readouterr().err
    assert text.count("[IMKPLCV] 4 models of 40 samples, accuracy on 20 others") == 3


@pytest.mark.parametrize("name", ["sparsity", "max_kernels"])
@pytest.mark.parametrize("value", [(), (0, 3), (1.5,), [[1, 2]]])
def test_sizes_must_be_positive_whole_numbers(wine, name, value):
    model = clone(SMALL).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name}=.*expected a sequence of positive whole numbers"):
        model.fit(wine.X, wine.y)


def test_a_class_with_one_distinct_sample_cannot_be_split(wine):
    X = np.vstack([wine.X, [wine.X[0] + 100.0] * 3])
    y = np.concatenate([wine.y, [9, 9, 9]])
    with pytest.raises(ValueError, match="Class 9 has one distinct sample, expected at least 2"):
        clone(SMALL).fit(X, y)


def test_a_single_split_takes_the_best(wine):
    rows = np.arange(len(wine.y))
    split = [(rows[rows % 4 > 0], rows[rows % 4 == 0])]
    model = IMKPLCV(sparsity=(1, 3), max_kernels=(2, 5), cv=split).fit(wine.X, wine.y)
    assert model.path_["split_scores"].shape == (4, 1)
    assert_array_equal(model.path_["standard_error"], 0.0)
    assert model.path_["mean_score"][model.chosen_index_] == model.path_["mean_score"].max()
