import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from imkpl.measures import (
    discrimination_score,
    interpretability_score,
    n_selected_kernels,
    selection_stability,
)
from reference import measures as slow

laws = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


# IP


def make_model(seed, n_prototypes=4, n_samples=9, has_unit_norm=True):
    """Sparse prototypes, labels and a kernel; its diagonal is one for unit-norm prototypes."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n_samples, 2))
    K = np.exp(-0.3 * np.sum((points[:, None] - points) ** 2, axis=-1))
    U = rng.uniform(0.1, 1, (n_prototypes, n_samples)) * (rng.random((n_prototypes, 9)) < 0.4)
    U[np.arange(n_prototypes), rng.integers(0, n_samples, n_prototypes)] += 0.2
    if has_unit_norm:
        U /= np.sqrt(np.einsum("is,st,it->i", U, K, U))[:, None]
    else:
        sizes = rng.uniform(0.3, 1.2, n_samples)
        K, U = K * np.outer(sizes, sizes), 0.4 * U
    return U, np.array(["a", "b", "c"])[rng.integers(0, 3, n_samples)], K


@laws
@given(seeds, st.booleans())
def test_ip_equals_the_formula(seed, has_unit_norm):
    U, labels, K = make_model(seed, has_unit_norm=has_unit_norm)
    expected = pytest.approx(slow.interpretability(U, labels, K), rel=1e-10)
    for form in (np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, np.ndarray.tolist):
        assert interpretability_score(form(U), list(labels), K.tolist()) == expected


@laws
@given(seeds, st.booleans())
def test_ip_lies_between_0_and_100_and_unit_norms_need_no_kernel(seed, is_pure):
    U, labels, K = make_model(seed, n_prototypes=30)
    labels = np.zeros(9) if is_pure else labels
    found = interpretability_score(U, labels, K)
    assert interpretability_score(U, labels) == pytest.approx(found, rel=1e-8)
    assert 0 < found <= 100


def test_single_samples_are_perfectly_interpretable():
    assert interpretability_score(np.eye(3), [0, 1, 1]) == 100
    assert interpretability_score(np.eye(3), [0, 1, 1], np.eye(3)) == 100


def test_mixed_and_spread_out_prototypes_lose():
    K = np.eye(2)
    pure = interpretability_score([[0.6, 0.8]], ["a", "a"], K)
    mixed = interpretability_score([[0.6, 0.8]], ["a", "b"], K)
    assert pure == pytest.approx(100 * np.exp(-4 * 0.6 * 0.8))
    assert mixed == pytest.approx(pure * 0.8 / 1.4)


@pytest.mark.parametrize("kernel", [None, np.eye(2)])
def test_an_empty_prototype_scores_zero(kernel):
    assert interpretability_score(np.diag([0.0, 1.0]), [0, 1], kernel) == 50


def test_no_prototypes_score_zero():
    assert interpretability_score(np.zeros((0, 3)), [0, 1, 1]) == 0


def test_inputs_stay_untouched():
    U, labels, K = make_model(0)
    before = [array.copy() for array in (U, labels, K)]
    for array in (U, labels, K):
        array.flags.writeable = False
    interpretability_score(U, labels, K)
    for array, copy in zip((U, labels, K), before, strict=True):
        assert_array_equal(array, copy)


def test_a_tuple_of_three_rows_is_a_matrix_of_three_rows():
    """scipy would take it for values, indices and pointers, and follow them anywhere."""
    rows = ((1e9, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0))
    assert interpretability_score(rows, [0, 1, 2]) == interpretability_score(list(rows), [0, 1, 2])


@pytest.mark.parametrize(
    ("prototypes", "labels", "kernel", "sentence"),
    [
        (np.eye(3), [0, 1], None, "There are 3 columns of prototypes but 2 labels"),
        (np.eye(3), [0, 1, 1], np.eye(2), "There are 2 rows of kernel but 3 labels"),
        ([[1.0, -1.0]], [0, 1], None, "Some prototypes are negative"),
        ([[1.0, np.nan]], [0, 1], None, "NaN or infinite"),
        ([[1.0, np.inf]], [0, 1], None, "Some prototypes are negative"),
        ([[1.0], [1.0, 2.0]], [], None, "of type list cannot be read as numbers, expected"),
        ([1.0, 2.0], [], None, r"prototypes have shape \(2,\), expected two axes"),
        ([[1e200, 2.0]], [], None, r"prototypes have entries beyond 1e\+150"),
        (np.empty((2, 0)), [], None, "prototypes have no columns, expected one per training"),
    ],
)
def test_bad_prototypes_are_refused_with_a_sentence(prototypes, labels, kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        interpretability_score(prototypes, labels, kernel)


# DR


def make_codes(seed, n_samples=10, n_prototypes=5, density=0.3):
    rng = np.random.default_rng(seed)
    codes = rng.uniform(0, 2, (n_samples, n_prototypes))
    codes *= rng.random(codes.shape) < density
    codes[0, 0] = 0.5
    names = np.array(["a", "b", "c"])
    return codes, names[rng.integers(0, 3, n_samples)], names[rng.integers(0, 3, n_prototypes)]


@laws
@given(seeds, st.sampled_from([0.1, 0.3, 0.9]))
def test_dr_equals_the_formula(seed, density):
    codes, labels, classes = make_codes(seed, density=density)
    expected = slow.discrimination(codes, labels, classes)
    for form in (np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, np.ndarray.tolist):
        found = discrimination_score(form(codes), list(labels), list(classes))
        assert found == pytest.approx(expected)
    # The size of a prototype's codes does not matter.
    factors = np.random.default_rng(seed).uniform(0.1, 9, classes.size)
    assert discrimination_score(codes * factors, labels, classes) == pytest.approx(expected)


@laws
@given(seeds)
def test_dr_lies_between_0_and_100(seed):
    codes, labels, classes = make_codes(seed, n_prototypes=40)
    assert 0 <= discrimination_score(codes, labels, classes) <= 100
    assert discrimination_score(codes, ["a"] * 10, ["a"] * 40) == 100
    assert discrimination_score(codes, ["a"] * 10, ["b"] * 40) == 0


@pytest.mark.parametrize(
    ("codes", "labels", "classes", "score"),
    [
        # Unused prototypes are left out of the mean, those with stored zeros too.
        ([[1.0, 0.0], [3.0, 0.0]], ["a", "b"], ["b", "a"], 75),
        (sp.csr_array(([0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 2)), ["a"], ["b", "a"], 100),
        # Without any code the score is zero.
        (np.zeros((3, 0)), [0, 1, 1], [], 0),
        (np.zeros((3, 2)), [0, 1, 1], [0, 0], 0),
        # A class that no sample has is never right.
        ([[1.0, 1.0]], ["a"], ["a", "z"], 50),
    ],
)
def test_dr_of_special_codes(codes, labels, classes, score):
    assert discrimination_score(codes, labels, classes) == score


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.eye(3), [0, 1], [0, 1, 1]), "3 rows of codes but 2 labels"),
        ((np.eye(3), [0, 1, 1], [0, 1]), "3 columns of codes but 2 prototype_classes"),
        (([[-1.0]], [0], [0]), "Some codes are negative"),
        (([[np.nan]], [0], [0]), "Some codes are negative, NaN"),
    ],
)
def test_bad_codes_are_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        discrimination_score(*arguments)


# Number of kernels


@pytest.mark.parametrize(
    ("weights", "expected"), [([0.1, 0.2, 0.7], 3), ([0, 0], 0), ([], 0), ([1e-300, 1.0], 2)]
)
def test_kernels_with_a_weight_are_counted(weights, expected):
    found = n_selected_kernels(weights)
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize("weights", [[-0.1, 1.1], [np.nan], [np.inf]])
def test_bad_weights_are_refused_with_a_sentence(weights):
    with pytest.raises(ValueError, match="Some weights are negative, NaN or infinite"):
        n_selected_kernels(weights)


# Stability


def draw_choices(seed, n_choices=8, n_features=12):
    """Choices in which features have different probabilities."""
    rng = np.random.default_rng(seed)
    chosen = rng.random((n_choices, n_features)) < rng.random(n_features)
    chosen[0, :2] = True, False
    return chosen


@laws
@given(seeds)
def test_nogueiras_index_equals_the_mean_over_pairs(seed):
    chosen = draw_choices(seed)
    assert selection_stability(chosen)[0] == pytest.approx(slow.selection_stability(chosen))
    assert selection_stability(0.3 * chosen) == selection_stability(chosen)


@laws
@given(seeds)
def test_neither_the_order_of_features_nor_that_of_choices_counts(seed):
    chosen, rng = draw_choices(seed), np.random.default_rng(seed)
    expected = selection_stability(chosen)
    mixed = chosen[rng.permutation(8)][:, rng.permutation(12)]
    for found in (selection_stability(mixed), selection_stability(~chosen)):
        # What is left out is as stable as what is chosen.
        assert found[0] == pytest.approx(expected[0])
        assert found[1] == pytest.approx(expected[1])


def test_equal_choices_have_index_one_and_no_interval_exceeds_it():
    chosen = np.tile([1, 1, 1, 1, 0], (10, 1))
    score, interval = selection_stability(chosen)
    assert [score, *interval] == pytest.approx([1, 1, 1])
    chosen[0] = [1, 1, 1, 0, 1]
    score, (low, high) = selection_stability(chosen)
    assert low < score < high == 1


def test_the_interval_is_as_wide_as_the_index_moves_with_each_choice():
    rng = np.random.default_rng(2)
    # Choices of different sizes.
    chosen = rng.random((300, 10)) < rng.random(10) * rng.random((300, 1))
    _, (low, high) = selection_stability(chosen)
    deviation = slow.selection_deviation(chosen.tolist())
    assert (high - low) / 2 == pytest.approx(1.959964 * deviation, rel=0.02)


def test_without_a_choice_there_is_no_index():
    for chosen in (np.ones((3, 4)), np.zeros((3, 4))):
        score, interval = selection_stability(chosen)
        assert np.isnan([score, *interval]).all()


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ([[1, 0, 1]], r"choices have shape \(1, 3\), .* at least 2 choices to compare"),
        (np.ones((3, 0)), r"choices have shape \(3, 0\), .* at least 2 choices to compare"),
        ([1, 0], r"choices have shape \(2,\), expected two axes"),
        ([[1, np.nan], [0, 1]], "Some choices are negative, NaN or infinite"),
        ([["a", "b"], ["a", "c"]], "choices of type list cannot be read as numbers"),
    ],
)
def test_bad_choices_are_refused_with_a_sentence(chosen, sentence):
    with pytest.raises(ValueError, match=sentence):
        selection_stability(chosen)
