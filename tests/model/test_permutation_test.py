import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl import IMKPL, ISKPL
from imkpl.kernels import PerFeatureGaussian
from imkpl.kernels.normalize import ScaledKernels
from imkpl.model import permutation_test as module
from imkpl.model.permutation_test import run_permutation_test, tail_probabilities, weigh_evidence
from model.problems import laws, pose, seeds


def compare(X, labels, sample_weight=None, counts=None, factors=None):
    kernels = PerFeatureGaussian().on(X, sample_weight)
    if factors is not None:
        kernels = ScaledKernels(kernels, factors)
    problem = pose(kernels, labels, sample_weight, counts)
    return run_permutation_test(problem, problem.average())


def make_noise(rng, n_samples=200):
    """Five normal columns, and five of zeros and ones of which some are rare."""
    flips = rng.random((n_samples, 5)) < np.array([0.03, 0.05, 0.1, 0.3, 0.5])
    return np.hstack([rng.standard_normal((n_samples, 5)), flips])


def test_kernels_that_separate_have_evidence_and_noise_has_none():
    n_wrong = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        labels = np.arange(200) % 3
        useful = rng.standard_normal((200, 3)) + labels[:, None] * np.array([2.0, 1.0, 0.6])
        found = compare(np.hstack([useful, make_noise(rng)]), labels)
        assert found.has_structure
        assert found.shares[:3].min() > 0.9
        n_wrong += np.count_nonzero(found.passing >= 3)
    # A hundred columns of noise.
    assert n_wrong <= 5


def test_features_that_matter_only_together_have_evidence():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 6))
    labels = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert set(compare(X, labels).passing) == {0, 1}


def test_without_structure_nothing_passes():
    found = [
        compare(make_noise(rng), rng.integers(0, 2, 200))
        for rng in (np.random.default_rng(seed) for seed in range(20))
    ]
    assert sum(one.has_structure for one in found) <= 3
    assert all(one.passing.size == 0 for one in found if not one.has_structure)


def test_dependent_noise_is_noise():
    # All columns carry the same meaningless signal: neighbours in their average agree with each.
    n_passing = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 1)) + 0.5 * rng.standard_normal((150, 12))
        n_passing += compare(X, rng.permutation(np.arange(150) % 2)).passing.size > 0
    assert n_passing <= 4


def test_a_factor_on_a_kernel_changes_nothing():
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 2
    X = np.hstack([rng.standard_normal((80, 2)) + labels[:, None], make_noise(rng, 80)])
    scaled = compare(X, labels, factors=rng.uniform(0.1, 10.0, 12))
    assert_allclose(scaled.shares, compare(X, labels).shares, atol=1e-4)


def test_a_constant_kernel_has_no_evidence():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    X = np.column_stack([labels + 0.3 * rng.standard_normal(60), np.ones(60)])
    found = compare(X, labels)
    assert found.shares[0] > 0.9
    assert found.shares[1] == 0


def make_answers(seed, n_samples=400):
    """Answers of yes and no: two depend on the class, two do not. Distinct rows, and counts."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % 2
    chances = np.where(np.arange(4) < 2, np.where(labels == 1, 0.65, 0.35)[:, None], 0.5)
    rows = np.column_stack([rng.random((n_samples, 4)) < chances, labels]).astype(float)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return distinct[:, :4], distinct[:, 4].astype(int), counts.astype(float)


def test_equal_rows_are_as_many_samples():
    n_found, n_wrong = 0, 0
    for seed in range(10):
        X, labels, counts = make_answers(seed)
        passing = compare(X, labels, counts, counts=counts).passing
        n_found += np.count_nonzero(passing < 2)
        n_wrong += np.count_nonzero(passing >= 2)
    assert n_found == 20
    assert n_wrong <= 2
    # Permuted as one, the same rows say little.
    alone = [compare(X, labels, counts) for X, labels, counts in map(make_answers, range(10))]
    assert sum(np.count_nonzero(found.passing < 2) for found in alone) < 15


def test_equal_rows_may_be_too_many_to_permute_all(monkeypatch):
    monkeypatch.setattr(module, "MOST_UNFOLDED", 250)
    X, labels, counts = make_answers(0)
    assert set(compare(X, labels, counts, counts=counts).passing) >= {0, 1}
    found = compare(X, labels, counts, counts=1000 * counts)
    assert_allclose(found.shares, compare(X, labels, counts, counts=counts).shares)


def test_permutations_of_some_kernels_stand_for_those_of_all(monkeypatch):
    n_found, n_apart, n_rare = 0, 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        labels = np.arange(150) % 3
        X = rng.standard_normal((150, 500))
        X[:, :12] += labels[:, None] * np.linspace(0.2, 1.2, 12)
        X[:, 12:20] = make_noise(rng, 150)[:, -8:]
        slow = compare(X, labels)
        with monkeypatch.context() as few:
            few.setattr(module, "MOST_PERMUTED", 120)
            fast = compare(X, labels)
        n_found += np.count_nonzero(fast.passing < 12)
        n_apart += np.setxor1d(fast.passing, slow.passing).size
        # What passes has permutations of its own, which hardly any noise of rare values survives.
        n_rare += np.isin(fast.passing, np.arange(12, 20)).sum()
        both = np.intersect1d(fast.passing, slow.passing)
        assert_allclose(fast.shares[both], slow.shares[both], atol=0.2)
    assert n_found >= 36
    assert n_apart <= 6
    assert n_rare <= 1


@laws
@given(seeds, st.integers(20, 500))
def test_p_values_are_shares_of_permutations_with_an_exponential_tail(seed, n_null):
    rng = np.random.default_rng(seed)
    reference, scores = rng.standard_normal(n_null), np.sort(rng.uniform(-4, 8, 30))
    found = tail_probabilities(scores, reference)
    shares = np.mean(reference >= scores[:, None], axis=1)
    n_top = int(np.ceil(np.sqrt(n_null)))
    threshold = np.sort(reference)[-n_top - 1]
    is_body = scores <= threshold
    assert_array_equal(found[is_body], shares[is_body])
    assert np.all(np.diff(found) <= 0)
    rates = np.diff(np.log(found[~is_body])) / np.diff(scores[~is_body])
    if rates.size:
        assert_allclose(rates, rates[0])
        assert found[~is_body].max() <= n_top / n_null


@laws
@given(seeds, st.integers(1, 200))
def test_evidence_counts_what_chance_gives(seed, n_kernels):
    rng = np.random.default_rng(seed)
    chances = np.where(rng.random(n_kernels) < 0.5, rng.random(n_kernels), 1e-3)
    found = weigh_evidence(chances)
    assert found.shares.min() >= 0
    assert found.shares.max() <= 1
    order = np.argsort(chances)
    assert np.all(np.diff(found.shares[order]) <= 1e-12)
    # Chance gives n_kernels * p kernels of a probability of p or less.
    rates = 1 - found.shares[order]
    ends = np.flatnonzero(np.diff(rates, append=2.0) > 1e-9)
    ends = ends[rates[ends] < 1]
    assert_allclose(np.cumsum(rates)[ends], n_kernels * chances[order][ends], atol=1e-9)


def noisy(seed=2, n_samples=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = np.hstack(
        [rng.standard_normal((n_samples, 3)) + 1.5 * y[:, None], make_noise(rng, n_samples)]
    )
    return X, y


@pytest.mark.parametrize(
    "model",
    [
        IMKPL(n_prototypes=4, contrast=False),
        IMKPL(n_prototypes=4, contrast=False, max_kernels=2),
        IMKPL(n_prototypes=4, contrast=False, max_kernels=12),
        IMKPL(n_prototypes=4, contrast=False, weight_rule="lp"),
        ISKPL(n_prototypes=4, contrast=False),
    ],
)
def test_every_fit_says_how_many_kernels_are_chance(model):
    X, y = noisy()
    model = model.fit(X, y)
    assert model.kernel_evidence_.shape == (13,)
    assert model.kernel_evidence_[:3].min() > 0.9
    assert model.kernel_evidence_[3:].mean() < 0.3
    kept = model.kernel_weights_ > 0
    assert model.expected_false_kernels_ == pytest.approx(np.sum(1 - model.kernel_evidence_[kept]))


def test_without_a_limit_noise_is_left_out():
    model = IMKPL(n_prototypes=4, contrast=False)
    n_kept = [
        np.count_nonzero(model.fit(*noisy(seed)).kernel_weights_[3:]) for seed in range(10, 20)
    ]
    assert np.mean(n_kept) <= 0.4


def test_a_limit_chooses_among_kernels_that_pass_if_there_are_enough():
    X, y = noisy()
    for limit in (1, 2, 3):
        assert (
            not IMKPL(max_kernels=limit, n_prototypes=4, contrast=False)
            .fit(X, y)
            .kernel_weights_[3:]
            .any()
        )
    assert (
        np.count_nonzero(
            IMKPL(max_kernels=10, n_prototypes=4, contrast=False).fit(X, y).kernel_weights_
        )
        > 3
    )


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("model", [IMKPL(), ISKPL(), IMKPL(weight_rule="lp"), IMKPL(max_kernels=2)])
def test_a_model_of_noise_says_so(model):
    model.set_params(n_prototypes=4, contrast=False)
    rng = np.random.default_rng(3)
    X, y = make_noise(rng), rng.integers(0, 2, 200)
    with pytest.warns(UserWarning, match="No kernel tells the classes apart better than shuffled"):
        model.fit(X, y)
    assert model.kernel_weights_.sum() == pytest.approx(1.0)
    assert model.expected_false_kernels_ > 0.5 * np.count_nonzero(model.kernel_weights_)


def test_evidence_does_not_depend_on_the_order_of_rows_or_on_copies():
    X, y = noisy()
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, y.size)
    one = IMKPL(n_prototypes=4, contrast=False).fit(X, y, sample_weight=weight)
    order = rng.permutation(weight.sum())
    rows = np.repeat(np.arange(y.size), weight)[order]
    other = IMKPL(n_prototypes=4, contrast=False).fit(X[rows], y[rows])
    assert_allclose(other.kernel_evidence_, one.kernel_evidence_, atol=1e-6)
