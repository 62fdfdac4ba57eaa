"""Counts of words: sparse or not, in files and explanations, and prototypes of many documents."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfTransformer

from contracts.estimator import slow_scores
from imkpl import IMKPL, ISKPL
from imkpl.kernels import Averaged, PerWord
from reference.kernels import word_stack

N_TELLING = 12

THREE = {"n_prototypes": 3, "contrast": False}


def make_documents(n_samples, seed, rate=0.5):
    """Three topics, each with four words that are more frequent in it, among 150 words."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % 3
    rates = np.full((n_samples, 150), 0.05)
    for word in range(N_TELLING):
        rates[labels == word % 3, word] = rate
    return rng.poisson(rates), np.array(["milk", "tea", "wine"])[labels]


X, Y = make_documents(150, 0)
NEW, NEW_Y = make_documents(90, 1)


@pytest.fixture(scope="module")
def model():
    return IMKPL(**THREE).fit(X, Y)


def test_topics_are_found_by_their_words(model):
    assert model.score(NEW, NEW_Y) > 0.8
    order = np.argsort(-model.kernel_weights_)
    assert np.mean(order[:N_TELLING] < N_TELLING) > 0.8


def test_prototypes_may_be_mixes_of_many_documents():
    words, topics = make_documents(300, 2, rate=0.25)
    many = IMKPL(**THREE).fit(words, topics)
    few = IMKPL(**THREE, sparsity=4).fit(words, topics)
    assert np.diff(few.prototypes_.indptr).max() <= 4 < np.diff(many.prototypes_.indptr).max()


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_array, pd.DataFrame])
def test_every_form_gives_the_same_model(form, model):
    other = IMKPL(**THREE).fit(form(X), Y)
    assert_array_equal(other.predict_proba(form(NEW)), model.predict_proba(NEW))


def test_scores_are_those_of_votes_with_contrasts():
    against = IMKPL(n_prototypes=3, contrast=True).fit(X, Y)
    assert against.contrasts_.nnz > 0
    kernel = word_stack(NEW, X, X) @ against.kernel_weights_
    assert_allclose(against.decision_function(NEW), slow_scores(against, kernel), atol=1e-8)


def test_weights_of_words_are_read_too():
    terms = TfidfTransformer().fit(X)
    model = IMKPL().fit(terms.transform(X), Y)
    assert model.score(terms.transform(NEW), NEW_Y) > 0.8


def test_a_weight_of_two_is_a_document_given_twice():
    settings = {"n_prototypes": 3, "contrast": False, "max_kernels": 20}
    weight = np.ones(len(X))
    weight[:30] = 2
    weighted = IMKPL(**settings).fit(X, Y, sample_weight=weight)
    repeated = IMKPL(**settings).fit(np.vstack([X, X[:30]]), np.append(Y, Y[:30]))
    assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), atol=1e-9)


def test_explanations_add_up_and_show_counts(model):
    explanation = model.explain(NEW[:3])
    for row in range(3):
        total = explanation.contributions(row).sum(axis=(0, 1))
        assert_allclose(total, explanation.scores[row], atol=1e-9)
    live = np.flatnonzero(model.kernel_weights_)
    assert explanation.cells(1) == NEW[1, live].tolist()
    assert " of the prototype)" in str(explanation[0])


def test_an_empty_document_gets_an_answer(model):
    nothing = sp.csr_array((1, 150))
    assert model.predict_proba(nothing).shape == (1, 3)
    assert np.isfinite(model.transform(nothing).toarray()).all()
    assert 0 <= model.reconstruction_error(nothing)[0] <= 1


def test_words_of_equal_weight_and_groups_of_words():
    assert ISKPL(**THREE).fit(sp.csr_array(X), Y).score(NEW, NEW_Y) > 0.5
    groups = {"milk": [0, 3, 6, 9], "tea": [1, 4, 7, 10], "rest": [2, 5, 8, 11, 12]}
    topics = IMKPL(Averaged(PerWord(), groups), **THREE).fit(sp.csr_array(X), Y)
    assert topics.score(NEW, NEW_Y) > 0.6


def test_landmarks_stand_for_documents():
    model = IMKPL(**THREE, solver="landmarks", n_landmarks=90).fit(sp.csr_array(X), Y)
    assert model.score(NEW, NEW_Y) > 0.7
