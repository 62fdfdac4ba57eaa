"""The laws of every prototype classifier, IMKPL and ISKPL."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from imkpl import ISKPL
from reference import votes as slow_votes

TERMS = {
    "reconstruction",
    "discrimination",
    "interpretability",
    "separation",
    "regularization",
    "votes",
}


def check_prototype_estimator(model, X, y, new, combined):
    """Run all laws on a fitted estimator.

    `X` and `y` are what it was fitted to, `new` are further samples, and `combined(A, B)` is the
    slow twin of its combined kernel, computed from `kernel_weights_` and the formula.
    """
    check_weights(model)
    check_prototypes(model, X, y, combined)
    check_contrasts(model, y)
    check_codes(model, X)
    check_history(model)
    for samples in (X, new):
        check_scores(model, samples)
        check_decision(model, X, samples, combined)
        check_errors(model, X, samples, combined)
    check_names(model, new)
    check_attributes(model)


def check_weights(model):
    weights = model.kernel_weights_
    assert np.all(weights >= 0)
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    assert len(model.kernel_names_) == weights.size
    live = np.flatnonzero(weights)
    if isinstance(model, ISKPL):
        assert_allclose(weights[live], 1 / live.size, rtol=1e-12)
    # The linear programmes know no limit.
    elif model.max_kernels is not None and model.weight_rule == "margin":
        assert 1 <= live.size <= model.max_kernels
    evidence = model.kernel_evidence_
    assert evidence.shape == weights.shape
    assert np.all((evidence >= 0) & (evidence <= 1))
    assert_allclose(model.expected_false_kernels_, np.sum(1 - evidence[live]), rtol=1e-12)


def check_prototypes(model, X, y, combined):
    prototypes = model.prototypes_
    assert isinstance(prototypes, sp.csr_array)
    assert prototypes.shape[1] == len(y)
    assert np.all(prototypes.data > 0)
    assert np.diff(prototypes.indptr).min() >= 1
    assert np.diff(prototypes.indptr).max() <= model.sparsity
    dense = prototypes.toarray()
    norms = np.einsum("is,st,it->i", dense, combined(X, X), dense)
    assert_allclose(norms, 1.0, rtol=1e-8)
    shares = np.stack([dense[:, np.asarray(y) == q].sum(axis=1) for q in model.classes_], axis=1)
    assert_allclose(model.class_shares_, shares, rtol=1e-12)
    assert_array_equal(model.prototype_classes_, model.classes_[np.argmax(shares, axis=1)])
    assert_array_equal(np.unique(model.prototype_classes_), model.classes_)
    is_used = dense.any(axis=0) | model.contrasts_.toarray().any(axis=0)
    assert_array_equal(model.support_, np.flatnonzero(is_used))
    assert_array_equal(model.support_ids_, model.support_)
    assert_array_equal(model.support_classes_, np.asarray(y)[model.support_])
    check_support_values(model, X)
    limit = model.n_prototypes
    if model.decision == "votes":
        # Each speaks for its own class, and without a number they are chosen by folds.
        assert_array_equal(np.count_nonzero(shares, axis=1), 1)
        limit = limit or max(len(y) / 2, model.classes_.size)
    assert model.classes_.size <= prototypes.shape[0]
    assert prototypes.shape[0] <= (limit or model.classes_.size * model.sparsity)


def check_contrasts(model, y):
    """Non-negative mixes of few samples of other classes, with votes, and if they are wanted."""
    contrasts, n_classes = model.contrasts_, model.classes_.size
    assert isinstance(contrasts, sp.csr_array)
    assert contrasts.shape == model.prototypes_.shape
    assert np.all(contrasts.data > 0)
    limit = max(model.sparsity, model.n_neighbors * (n_classes - 1))
    assert np.diff(contrasts.indptr).max() <= limit
    for label, contrast in zip(model.prototype_classes_, contrasts.toarray(), strict=True):
        assert label not in np.asarray(y)[contrast > 0]
    if model.contrast is not None or model.decision == "share":
        assert (contrasts.nnz > 0) == bool(model.contrast and model.decision == "votes")


def check_support_values(model, X):
    if hasattr(X, "iloc"):
        rows = X.iloc[model.support_].to_dict("records")
    elif getattr(X, "ndim", 0) == 2:
        rows = [{f"x{i}": value for i, value in enumerate(X[row])} for row in model.support_]
    else:
        # A list of numbers for every channel.
        names = X.channel_names
        rows = [dict(zip(names, X[row].tolist(), strict=True)) for row in model.support_]
    for row, values in zip(rows, model.support_values_, strict=True):
        assert values
        for name, value in values.items():
            assert value == row[name] or (value is None and row[name] != row[name])


def check_codes(model, X):
    codes = model.codes_
    assert isinstance(codes, sp.csr_array)
    assert codes.shape == (len(X), model.prototypes_.shape[0])
    assert np.all(codes.data >= 0)
    limit = min(model.code_sparsity, model.learning_code_sparsity)
    assert np.diff(codes.indptr).max() <= limit
    # A prototype that no sample uses is not kept, unless it votes.
    assert model.decision == "votes" or np.all(codes.sum(axis=0) > 0)


def check_history(model):
    history = model.history_
    assert set(history) == TERMS | {"total"}
    assert {values.shape for values in history.values()} == {(model.n_iter_,)}
    assert_allclose(sum(history[term] for term in TERMS), history["total"], rtol=1e-12)
    assert np.all((history["votes"] > 0) == (model.decision == "votes"))
    total = history["total"]
    assert np.all(np.diff(total) <= 1e-9 * np.abs(total[:-1]))
    assert 1 <= model.n_iter_ <= model.max_iter


def check_scores(model, samples):
    proba, scores = model.predict_proba(samples), model.decision_function(samples)
    assert proba.shape == (len(samples), model.classes_.size)
    assert np.all(proba >= 0)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    predicted = model.predict(samples)
    assert_array_equal(predicted, model.classes_[np.argmax(proba, axis=1)])
    if model.classes_.size == 2:
        assert scores.shape == (len(samples),)
        assert_array_equal(predicted, model.classes_[(scores > 0).astype(int)])
    else:
        assert_array_equal(predicted, model.classes_[np.argmax(scores, axis=1)])


def check_errors(model, X, samples, combined):
    codes, errors = model.transform(samples), model.reconstruction_error(samples)
    assert isinstance(codes, sp.csr_array)
    assert codes.shape == (len(samples), model.prototypes_.shape[0])
    assert np.all(codes.data > 0)
    assert np.diff(codes.indptr).max() <= model.code_sparsity
    assert np.all((errors >= 0) & (errors <= 1))
    # ||phi(x) - Phi U gamma||^2 by its definition.
    mixes = codes.toarray() @ model.prototypes_.toarray()
    cross = np.einsum("is,is->i", mixes, combined(samples, X))
    size = np.einsum("is,st,it->i", mixes, combined(X, X), mixes)
    assert_allclose(errors, 1 - 2 * cross + size, atol=1e-7)


def check_decision(model, X, samples, combined):
    """Scores are the smooth maximum of resemblances, or shares of the code, by the definition."""
    scores = model.decision_function(samples)
    if model.decision == "votes":
        expected = slow_scores(model, combined(samples, X))
    else:
        amounts = model.transform(samples) @ model.class_shares_
        totals = amounts.sum(axis=1, keepdims=True)
        is_empty = totals == 0
        expected = np.where(is_empty, 1 / model.classes_.size, amounts / (totals + is_empty))
    if expected.shape[1] == 2:
        expected = expected[:, 1] - expected[:, 0]
    assert_allclose(scores, expected, atol=1e-8)


def slow_scores(model, kernel):
    """Class scores from the kernel between new and training samples, vote by vote."""
    votes, expected = model._predictor.votes, []
    assert votes.bonuses.min() == 0
    assert votes.sharpness > 0
    owners = np.searchsorted(model.classes_, model.prototype_classes_)
    mixes = (model.prototypes_ - model.contrasts_).toarray()
    for row in slow_votes.resemblances_to(kernel, mixes):
        said = slow_votes.class_votes(
            row, owners, model.classes_.size, votes.sharpness, votes.sharpness * votes.bonuses
        )
        totals = np.log(said) / votes.sharpness
        expected.append(totals - np.sort(totals)[-2])
    return np.array(expected)


def check_names(model, new):
    names = model.get_feature_names_out()
    prefix = type(model).__name__.lower()
    assert_array_equal(names, [f"{prefix}{i}" for i in range(model.prototypes_.shape[0])])
    assert len(names) == model.transform(new).shape[1]


def check_attributes(model):
    learned = set(vars(model)) - set(model.get_params(deep=False))
    assert all(name.endswith("_") or name.startswith("_") for name in learned)
    # Nothing is kept of the training samples but those that prototypes are made of.
    predictor = model._predictor
    assert predictor.kernels.shape == (model.support_.size, model.support_.size)
    assert predictor.kernels.n_kernels == np.count_nonzero(model.kernel_weights_)
    assert_array_equal(np.sort(predictor.rows), model.support_)
