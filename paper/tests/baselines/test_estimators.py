"""What all baselines promise, on small data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from imkpl.estimators import discrimination_scorer, interpretability_scorer
from imkpl.kernels import PerFeatureGaussian
from imkpl.measures import discrimination_score, interpretability_score
from imkpl_paper.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection

DICTIONARIES = [
    DKMLD(n_levels=3),
    DKMLD(n_levels=2, n_lines=2),
    MIDL(n_per_class=3, code_sparsity=2),
    MKLDPL(n_per_class=3, max_iter=2),
]
EVERYONE = [
    PrototypeSelection(),
    PrototypeSelection(method="lp", eps=0.4),
    AKGLVQ(),
    AKGLVQ(n_per_class=2, sparsity=5),
    *DICTIONARIES,
]
every_model = pytest.mark.parametrize("model", EVERYONE, ids=str)
every_dictionary = pytest.mark.parametrize("model", DICTIONARIES, ids=str)


# Few prototypes and rounds: these are checks of conventions. The methods share their input,
# prediction and codes, so one dictionary is enough for the default run.
@parametrize_with_checks(
    [PrototypeSelection(), AKGLVQ(max_iter=20), MIDL(n_per_class=5, max_iter=1)]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([DKMLD(n_levels=3), MIDL(max_iter=3), MKLDPL(n_per_class=3, max_iter=2)])
def test_scikit_learn_check_of_larger_models(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    X.flags.writeable = y.flags.writeable = False
    return X[::3], y[::3], X[1::3], y[1::3]


def combined_kernel(model, X, Y):
    """The obvious formula of the combined kernel, with bandwidths from X."""
    widths = 2 * X.var(axis=0)
    parts = np.exp(-((Y[:, None] - X) ** 2) / widths)
    return parts @ model.kernel_weights_


@every_model
def test_the_attributes_fit_together(model, iris):
    X, y, new, new_y = iris
    model = clone(model).fit(X, y)
    n_prototypes = model.prototypes_.shape[0]
    assert isinstance(model.prototypes_, sp.csr_array)
    assert model.prototypes_.shape == (n_prototypes, 50)
    assert model.prototype_classes_.shape == (n_prototypes,)
    assert set(model.prototype_classes_) == set(model.classes_)
    assert_allclose(model.kernel_weights_.sum(), 1.0)
    assert model.kernel_weights_.min() >= 0
    assert len(model.kernel_names_) == 4
    assert model.n_iter_ >= 1
    assert len(model.history_) == model.n_iter_
    assert np.isfinite(model.history_).all()
    used = np.flatnonzero(abs(model.prototypes_).sum(axis=0))
    assert set(used) <= set(model.support_)
    assert model.score(new, new_y) > 0.85
    learned = set(vars(model)) - set(model.get_params(deep=False))
    assert all(name.endswith("_") or name.startswith("_") for name in learned)


@every_model
def test_scores_decide(model, iris):
    X, y, new, _ = iris
    model = clone(model).fit(X, y)
    scores = model.decision_function(new)
    assert scores.shape == (50, 3)
    assert_array_equal(model.predict(new), model.classes_[np.argmax(scores, axis=1)])
    two = clone(model).fit(X[y < 2], y[y < 2])
    scores = two.decision_function(new)
    assert scores.shape == (50,)
    assert_array_equal(two.predict(new), (scores > 0).astype(int))


@every_model
def test_class_shares_are_sizes_of_coefficients_at_unit_norm(model, iris):
    X, y, _, _ = iris
    model = clone(model).fit(X, y)
    kernel = combined_kernel(model, X, X)
    sizes = abs(model.prototypes_).toarray()
    if isinstance(model, PrototypeSelection):
        # A prototype stands for the samples in its ball.
        sizes = (np.sqrt(np.maximum(2 - 2 * kernel, 0)) < model.eps_)[model.prototypes_.indices]
        sizes = sizes.astype(float)
    sizes /= np.sqrt(np.einsum("is,st,it->i", sizes, kernel, sizes))[:, None]
    expected = np.stack([sizes[:, y == q].sum(axis=1) for q in range(3)], axis=1)
    assert_allclose(model.class_shares_, expected, rtol=1e-8)
    score = interpretability_scorer(model)
    assert_allclose(score, interpretability_score(sizes, y, kernel), rtol=1e-8)
    assert 0 < score <= 100


@every_model
def test_names_types_and_order_of_samples_do_not_matter(model, iris):
    X, y, new, _ = iris
    first = clone(model).fit(X, y)
    order = np.random.default_rng(0).permutation(50)
    names = np.array(["a", "b", "c"])
    second = clone(model).fit(X[order], names[y][order])
    assert_array_equal(names[first.predict(new)], second.predict(new))
    assert_allclose(first.decision_function(new), second.decision_function(new))
    assert_allclose(first.prototypes_.toarray()[:, order], second.prototypes_.toarray())
    whole = np.round(10 * X)
    as_int = clone(model).fit(whole.astype(int), y).decision_function(10 * new)
    as_float = clone(model).fit(whole.astype(np.float32), y).decision_function(10 * new)
    assert_allclose(as_int, as_float)


@every_model
def test_equal_settings_give_equal_models_and_more_samples_at_once_equal_answers(model, iris):
    X, y, new, _ = iris
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    assert_array_equal(first.decision_function(new), second.decision_function(new))
    alone = np.concatenate([first.decision_function(new[[i]]) for i in range(5)])
    assert_allclose(first.decision_function(new)[:5], alone)


@every_model
def test_stacks_of_kernels_give_what_the_features_give(model, iris):
    X, y, new, _ = iris
    widths = 2 * X.var(axis=0)
    # Sorted by class, then as the estimators sort vectors.
    _, own = PerFeatureGaussian().kind.find_equal(X, np.arange(len(y)), y)
    order = np.lexsort([own, y])
    X, y = X[order], y[order]
    stack = np.exp(-((X[:, None] - X) ** 2) / widths)
    cross = np.exp(-((new[:, None] - X) ** 2) / widths)
    by_features = clone(model).fit(X, y)
    by_stack = clone(model).set_params(kernels="precomputed").fit(stack, y)
    assert_allclose(by_stack.kernel_weights_, by_features.kernel_weights_, atol=1e-6)
    assert_allclose(
        by_stack.decision_function(cross), by_features.decision_function(new), atol=1e-5
    )


@every_model
def test_equal_samples_and_unused_features_are_no_trouble(model, iris):
    X, y, _, _ = iris
    rows = np.column_stack([X, np.zeros(50)])
    rows = np.concatenate([rows[::5], rows[::5], rows[::5]])
    labels = np.tile(y[::5], 3)
    fitted = clone(model).fit(rows, labels)
    assert np.isfinite(fitted.decision_function(rows)).all()
    assert fitted.score(rows, labels) > 0.85


@every_model
def test_many_classes_of_two_samples_are_no_trouble(model):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 2)
    X = 10 * rng.standard_normal((8, 3))[y] + 0.1 * rng.standard_normal((16, 3))
    fitted = clone(model).fit(X, y)
    assert fitted.predict(X).shape == (16,)
    assert np.isfinite(fitted.decision_function(X)).all()


@every_model
def test_bad_data_gets_a_sentence(model, iris):
    X = iris[0]
    with pytest.raises(ValueError, match="Class 1 has one sample, expected at least 2"):
        clone(model).fit(X[:3], [0, 0, 1])
    with pytest.raises(ValueError, match="samples of one class only"):
        clone(model).fit(X, np.zeros(50))
    with pytest.raises(ValueError, match="All kernels are constant"):
        clone(model).fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])


@every_dictionary
def test_codes_rebuild_samples_in_the_order_of_prototypes(model, iris):
    X, y, new, new_y = iris
    model = clone(model).fit(X, y)
    codes = model.transform(new)
    assert isinstance(codes, sp.csr_array)
    assert codes.shape == (50, model.prototypes_.shape[0])
    kernel, cross = combined_kernel(model, X, X), combined_kernel(model, X, new)
    prototypes = model.prototypes_.toarray()
    assert_allclose(np.einsum("is,st,it->i", prototypes, kernel, prototypes), 1.0, rtol=1e-8)
    # A prototype is made of samples of its class.
    assert np.all((prototypes == 0) | np.equal.outer(model.prototype_classes_, y))
    mixes = codes @ prototypes
    errors = 1 - 2 * np.sum(mixes * cross, axis=1) + np.sum(mixes @ kernel * mixes, axis=1)
    if not isinstance(model, MKLDPL):
        assert np.all((errors >= -1e-9) & (errors <= 1 + 1e-9))
    assert_array_equal(
        model.get_feature_names_out(),
        [f"{type(model).__name__.lower()}{i}" for i in range(codes.shape[1])],
    )
    score = discrimination_scorer(model, new, new_y)
    assert_allclose(
        score, discrimination_score(np.abs(codes.toarray()), new_y, model.prototype_classes_)
    )
    assert 100 / 3 < score <= 100
    assert model.set_output(transform="pandas").transform(new).shape == codes.shape


@every_dictionary
def test_both_rules_are_their_formulas(model, iris):
    X, y, new, new_y = iris
    by_residual = clone(model).fit(X, y)
    by_contribution = clone(model).set_params(rule="contribution").fit(X, y)
    sums = by_contribution.prototypes_ @ np.eye(3)[y]
    codes = by_contribution.transform(new)
    assert_allclose(by_contribution.decision_function(new), codes @ sums, atol=1e-9)
    # For MKLDPL, whose codes need no search, the residual is as simple.
    if isinstance(model, MKLDPL):
        kernel = combined_kernel(by_residual, X, X)
        cross = combined_kernel(by_residual, X, new)
        assert_allclose(codes.toarray(), cross @ by_residual.analysis_.T, atol=1e-8)
        for q in range(3):
            own = by_residual.prototype_classes_ == q
            mixes = codes[:, own] @ by_residual.prototypes_[own]
            mixes = mixes.toarray()
            error = 1 - 2 * np.sum(mixes * cross, axis=1) + np.sum(mixes @ kernel * mixes, axis=1)
            scores = by_residual.decision_function(new)[:, q]
            assert_allclose(scores, 1 - error, atol=1e-8)
    assert by_residual.score(new, new_y) > 0.85


@pytest.mark.parametrize("model", [DKMLD(), MIDL(), MKLDPL()], ids=str)
@pytest.mark.parametrize("max_kernels", [1, 2])
def test_max_kernels_is_kept(model, max_kernels, iris):
    X, y, _, _ = iris
    fitted = clone(model).set_params(max_kernels=max_kernels).fit(X, y)
    assert 1 <= np.count_nonzero(fitted.kernel_weights_) <= max_kernels
    assert_allclose(fitted.kernel_weights_.sum(), 1.0)
    assert fitted.score(X, y) > 0.6


# With few atoms: ten rebuild twenty samples by any kernels.
@pytest.mark.parametrize(
    ("model", "share"),
    [
        (DKMLD(), 0.4),
        (MIDL(n_per_class=3), 0.8),
        (MKLDPL(n_per_class=3), 0.5),
    ],
    ids=str,
)
def test_informative_kernels_among_noise_get_the_weight(model, share):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.standard_normal((60, 21))
    X[:, :3] += 3 * rng.standard_normal((3, 3))[y]
    weights = clone(model).fit(X, y).kernel_weights_
    assert weights[:3].sum() > share
    assert weights[:3].mean() > 2 * weights[3:].mean()


@every_model
def test_prototypes_are_found_in_blobs_that_are_far_apart(model):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 12)
    X = rng.standard_normal((24, 2)) + 30 * y[:, None]
    model = clone(model).fit(X, y)
    shares = model.class_shares_ / model.class_shares_.sum(axis=1, keepdims=True)
    own = shares[np.arange(len(shares)), model.prototype_classes_]
    assert np.all(own > 0.5)
    assert model.score(X, y) == 1


@pytest.mark.parametrize("model", [MIDL(n_per_class=3), DKMLD(n_levels=2), AKGLVQ()], ids=str)
def test_time_series_are_compared_by_aligning_them(model):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 8)
    X = rng.standard_normal((16, 2, 12))
    X[:, 1] += 4 * np.sin(np.arange(12) / (2 + y[:, None]))
    model = clone(model).set_params(kernels="global_alignment").fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.kernel_weights_.size == 2


def test_prototype_selection_without_prototypes_predicts_the_largest_class(iris):
    X, y, new, _ = iris
    keep = np.r_[0:10, 17:50]
    model = PrototypeSelection(eps=0.5, price=1000.0).fit(X[keep], y[keep])
    assert model.prototypes_.shape[0] == 0
    largest = np.argmax(np.bincount(y[keep]))
    assert np.all(model.predict(new) == largest)
    assert model.objective_ == keep.size


def test_prototype_selection_finds_one_ball_per_blob():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = 40 * np.array([[0, 0], [1, 0], [0, 1]])[y] + rng.standard_normal((30, 2))
    for method in ("greedy", "lp"):
        model = PrototypeSelection(method=method, eps=0.4).fit(X, y)
        assert_array_equal(np.sort(model.prototype_classes_), [0, 1, 2])
        assert_array_equal(model.prototype_classes_, y[model.prototypes_.indices])
        assert_allclose(model.objective_, 3 / 30)


def test_the_greedy_history_ends_at_the_objective(iris):
    X, y, _, _ = iris
    model = PrototypeSelection().fit(X, y)
    assert_allclose(model.history_[-1], model.objective_)
    assert np.all(np.diff(model.history_) < 0)
    assert model.eps_ > 0


def test_prototype_selection_with_the_smallest_radius_is_the_nearest_neighbor(iris):
    X, y, X_test, _ = iris
    X, places = np.unique(X, axis=0, return_index=True)
    model = PrototypeSelection(eps=1e-6).fit(X, y[places])
    assert model.prototypes_.shape[0] == len(X)
    nearest = np.argmax(combined_kernel(model, X, X_test), axis=1)
    assert_array_equal(model.predict(X_test), y[places][nearest])


def test_prototypes_of_akglvq_are_sparse(iris):
    X, y, _, _ = iris
    model = AKGLVQ(n_per_class=2, sparsity=5).fit(X, y)
    assert np.diff(model.prototypes_.indptr).max() <= 5
    assert model.prototypes_.shape[0] == 6


def test_the_objective_of_midl_and_mkldpl_ends_below_its_start(iris):
    X, y, _, _ = iris
    for model in (MIDL(n_per_class=3), MKLDPL(n_per_class=3)):
        history = model.fit(X, y).history_
        assert history[-1] < history[0]


def test_methods_without_codes_have_no_discrimination(iris):
    X, y, _, _ = iris
    with pytest.raises(AttributeError, match="has no attribute 'transform'"):
        discrimination_scorer(AKGLVQ().fit(X, y), X, y)


def test_verbose_says_what_is_done(iris, capsys):
    X, y, _, _ = iris
    MIDL(n_per_class=2, verbose=1, max_iter=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[MIDL] learning bandwidths"
    assert lines[1] == "[MIDL] learning from 4 kernels on 50 samples"
    assert all("objective" in line for line in lines[2:])
