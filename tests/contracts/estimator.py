"""The laws of every prototype classifier."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

TERMS = {"reconstruction", "discrimination", "interpretability", "separation", "regularization"}


def check_prototype_estimator(model, X, y, new, combined):
    """Run all laws on a fitted estimator.

    `X` and `y` are what it was fitted to, `new` are further samples, and `combined(A, B)` is the
    slow twin of its combined kernel, computed from `kernel_weights_` and the formula.
    """
    check_weights(model)
    check_prototypes(model, X, y, combined)
    check_codes(model, X)
    check_history(model)
    for samples in (X, new):
        check_scores(model, samples)
        check_errors(model, X, samples, combined)
    check_names(model, new)
    check_attributes(model)


def check_weights(model):
    weights = model.kernel_weights_
    assert np.all(weights >= 0)
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    assert len(model.kernel_names_) == weights.size
    limit = model.get_params().get("max_kernels")
    if limit is not None:
        assert 1 <= np.count_nonzero(weights) <= limit


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
    assert_array_equal(model.support_, np.flatnonzero(dense.sum(axis=0)))
    limit = model.n_prototypes or model.classes_.size * model.sparsity
    assert model.classes_.size <= prototypes.shape[0] <= limit


def check_codes(model, X):
    codes = model.codes_
    assert isinstance(codes, sp.csr_array)
    assert codes.shape == (len(X), model.prototypes_.shape[0])
    assert np.all(codes.data >= 0)
    limit = min(model.code_sparsity, model.learning_code_sparsity)
    assert np.diff(codes.indptr).max() <= limit
    # A prototype that no sample uses is not kept.
    assert np.all(codes.sum(axis=0) > 0)


def check_history(model):
    history = model.history_
    assert set(history) == TERMS | {"total"}
    assert {values.shape for values in history.values()} == {(model.n_iter_,)}
    assert_allclose(sum(history[term] for term in TERMS), history["total"], rtol=1e-12)
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
    if model.decision != "share":
        rows = np.repeat(np.arange(len(samples)), np.diff(codes.indptr))
        owners = model.prototype_classes_[codes.indices]
        assert_array_equal(owners, model.predict(samples)[rows])
    scores = model.decision_function(samples)
    if model.decision == "residual" and scores.ndim == 2:
        assert_allclose(scores.max(axis=1), 1 - errors, atol=1e-9)
    if model.decision == "joint" and scores.ndim == 2:
        # What all classes explain together is part of the sample's unit norm.
        assert np.all(scores >= 0)
        assert np.all(scores.sum(axis=1) <= 1 + 1e-9)


def check_names(model, new):
    names = model.get_feature_names_out()
    prefix = type(model).__name__.lower()
    assert_array_equal(names, [f"{prefix}{i}" for i in range(model.prototypes_.shape[0])])
    assert len(names) == model.transform(new).shape[1]


def check_attributes(model):
    learned = set(vars(model)) - set(model.get_params(deep=False))
    assert all(name.endswith("_") or name.startswith("_") for name in learned)
