import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from imkpl.measures import DiscriminationParts, discrimination_score
from reference import measures as slow

laws = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def make_codes(seed, n_samples=10, n_prototypes=5, density=0.3):
    rng = np.random.default_rng(seed)
    codes = rng.uniform(0, 2, (n_samples, n_prototypes))
    codes *= rng.random(codes.shape) < density
    codes[0, 0] = 0.5
    names = np.array(["a", "b", "c"])
    return codes, names[rng.integers(0, 3, n_samples)], names[rng.integers(0, 3, n_prototypes)]


@laws
@given(seeds, st.sampled_from([0.1, 0.3, 0.9]))
def test_score_equals_the_formula(seed, density):
    codes, labels, classes = make_codes(seed, density=density)
    parts = discrimination_score(codes, labels, classes, return_parts=True)
    expected = slow.exclusiveness(codes, labels, classes)
    assert_allclose(parts.exclusiveness, np.array(expected, dtype=float))
    assert parts.score == pytest.approx(slow.discrimination(codes, labels, classes))
    assert parts.used_share == np.mean([share is not None for share in expected])
    assert discrimination_score(codes, labels, classes) == parts.score


@laws
@given(seeds)
def test_score_lies_between_0_and_100(seed):
    codes, labels, classes = make_codes(seed, n_prototypes=40)
    assert 0 <= discrimination_score(codes, labels, classes) <= 100
    assert discrimination_score(codes, ["a"] * 10, ["a"] * 40) == 100
    assert discrimination_score(codes, ["a"] * 10, ["b"] * 40) == 0


@laws
@given(seeds)
def test_order_names_and_form_do_not_matter(seed):
    codes, labels, classes = make_codes(seed)
    score = discrimination_score(codes, labels, classes)
    rng = np.random.default_rng(seed)
    i, t = rng.permutation(len(labels)), rng.permutation(len(classes))
    assert discrimination_score(codes[i], labels[i], classes) == pytest.approx(score)
    assert discrimination_score(codes[:, t], labels, classes[t]) == pytest.approx(score)
    rename = np.vectorize({"a": 5, "b": 0, "c": -2}.get)
    assert discrimination_score(codes, rename(labels), rename(classes)) == pytest.approx(score)
    for form in (sp.csr_array, sp.csc_array, sp.coo_array, np.ndarray.tolist):
        assert discrimination_score(form(codes), list(labels), list(classes)) == pytest.approx(
            score
        )


@laws
@given(seeds)
def test_the_size_of_a_prototypes_codes_does_not_matter(seed):
    codes, labels, classes = make_codes(seed)
    factors = np.random.default_rng(seed).uniform(0.1, 9, classes.size)
    assert discrimination_score(codes * factors, labels, classes) == pytest.approx(
        discrimination_score(codes, labels, classes)
    )


def test_unused_prototypes_are_left_out_of_the_mean():
    parts = discrimination_score(
        [[1.0, 0.0], [3.0, 0.0]], ["a", "b"], ["b", "a"], return_parts=True
    )
    assert isinstance(parts, DiscriminationParts)
    assert parts.score == 75
    assert parts.used_share == 0.5
    assert_array_equal(parts.exclusiveness, [0.75, np.nan])


@pytest.mark.parametrize("n_prototypes", [0, 2])
def test_without_any_code_the_score_is_zero(n_prototypes):
    empty = np.zeros((3, n_prototypes))
    parts = discrimination_score(empty, [0, 1, 1], [0] * n_prototypes, return_parts=True)
    assert parts.score == 0
    assert parts.used_share == 0
    assert np.isnan(parts.exclusiveness).all()


def test_a_class_that_no_sample_has_is_never_right():
    assert discrimination_score([[1.0, 1.0]], ["a"], ["a", "z"]) == 50


def test_absolute_takes_the_sizes_of_codes():
    codes = sp.csr_array([[1.0, 0.0], [-1.0, -3.0]])
    assert discrimination_score(codes, ["a", "b"], ["a", "b"], absolute=True) == 75
    assert codes.min() == -3


def test_stored_zeros_are_no_use():
    codes = sp.csr_array(([0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert discrimination_score(codes, ["a"], ["b", "a"], return_parts=True).used_share == 0.5


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: discrimination_score(np.eye(3), [0, 1], [0, 1, 1]),
            "3 rows of codes but 2 labels",
        ),
        (
            lambda: discrimination_score(np.eye(3), [0, 1, 1], [0, 1]),
            "3 columns of codes but 2 prototype_classes",
        ),
        (lambda: discrimination_score([[-1.0]], [0], [0]), "Some codes are negative"),
        (lambda: discrimination_score([[np.nan]], [0], [0]), "Some codes are negative, NaN"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
