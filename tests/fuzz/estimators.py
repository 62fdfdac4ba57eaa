"""Cases for estimators: input of every kind, a fit, and questions to the model."""

import inspect

import numpy as np
from sklearn.base import clone

from fuzz import oracle
from fuzz.labels import draw_places, draw_weight, name_places
from fuzz.matrices import draw_matrix
from fuzz.wrappings import SAME, wrap
from imkpl import IMKPL, IMKPLCV, ISKPL, IMKPLSelector
from imkpl_paper.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection

FITTED, REFUSED = "fitted", "refused"
VECTOR_KERNELS = (
    "per_feature_gaussian",
    "per_column",
    "rbf",
    "linear",
    "polynomial",
    "laplacian",
    ["rbf", "linear"],
)
SETTINGS = {
    "sparsity": (3, 1, 2, 10, 10**9),
    "n_neighbors": (1, 2, 4, 3),
    "code_sparsity": (20, 1, 3),
    "learning_code_sparsity": (1, 3),
    "decision": ("calibrated", "joint", "residual", "share"),
    "weight_rule": ("margin", "ridge", "lp"),
    "max_kernels": (None, 1, 2, 10**6),
    "n_prototypes": (None, 4, 2, 1000),
    "discrimination": (0.5, 0.0, 1e-12, 1e3, 1e12, 1e300),
    "separation": (100.0, 0.0, 1e-12, 1e12, 1e300),
    "interpretability": (1.2, 0.0, 1e-12, 1e3, 1e12, 1e300),
    "class_weight": (None, "balanced", {0: 1e-300}, {0: 1e300}, {"a": 2}, {7: 1.0}),
    "solver": ("auto", "exact", "landmarks"),
    "n_landmarks": (None, 1, 4, 6),
    "max_iter": (20, 1, 3),
    "tol": (1e-3, 0.0, 1.0, 1e300),
    "n_jobs": (None, 1, 2, -1, 0),
    "random_state": (None, 0, 2**32 - 1),
}


def draw_settings(source, model, names):
    """The model with a few settings changed."""
    chosen = {name: source.pick(SETTINGS[name]) for name in names if source.chance(25)}
    known = model.get_params(deep=False)
    return model.set_params(**{name: value for name, value in chosen.items() if name in known})


def judge_fit(source, model, X, form, y, weight, plain_y, n):
    """Fit, and ask the model about what it was fitted to; says what came of it."""
    extra = () if weight is None else (weight,)
    _, error = oracle.attempt(lambda: model.fit(X, y, *extra), X, y, weight)
    if error is not None:
        return REFUSED
    oracle.check_learned(model)
    if not hasattr(model, "predict"):
        # Sums over huge numbers overflow where scikit-learn looks for infinite ones.
        with np.errstate(over="ignore", invalid="ignore"):
            kept, error = oracle.attempt(lambda: model.transform(X), X)
        oracle.require(error is None, f"transform refuses what fit took: {error}")
        oracle.require(kept.shape[0] == n, "another number of rows")
        return FITTED
    oracle.check_measures(model, plain_y)
    _, error = oracle.attempt(lambda: oracle.check_answers(model, X, n), X)
    oracle.require(error is None, f"the model refuses what fit took: {error}")
    if hasattr(model, "explain"):
        _, error = oracle.attempt(lambda: oracle.check_explanation(model, X, n), X)
        oracle.require(error is None, f"explain refuses what fit took: {error}")
    return FITTED


def judge_new(source, model, X):
    """Ask a fitted model about other samples of the same kind, or of any kind."""
    rng = source.generator()
    new = draw_matrix(source, smallest=1, widest=X.shape[1] + 1)
    if source.chance(70):
        new = np.resize(new, (max(new.shape[0], 1), X.shape[1])) if new.size else X[:1]
    elif len(X) and X.shape[1]:
        with np.errstate(over="ignore"):
            new = X[rng.integers(0, len(X), 3)] * 10.0 ** rng.integers(-20, 20)
    form, wrapped = wrap(source, new)
    n_new = len(new) - (form == "one row short")
    oracle.attempt(lambda: oracle.check_answers(model, wrapped, n_new), wrapped)
    if hasattr(model, "explain"):
        oracle.attempt(lambda: oracle.check_explanation(model, wrapped, n_new), wrapped)


def run_vectors(source, model):
    """A model of vectors on any matrix with any labels in any form."""
    X = draw_matrix(source)
    places = draw_places(source, len(X))
    form, wrapped = wrap(source, X)
    _, y = name_places(source, places)
    weight = draw_weight(source, len(X))[1] if _takes_weights(model) else None
    outcome = judge_fit(source, model, wrapped, form, y, weight, places, len(X))
    if outcome == FITTED and hasattr(model, "predict"):
        judge_new(source, model, X)
        if form in SAME and source.chance(25):
            _require_same(model, X, wrapped, y, weight)
    return outcome


def _takes_weights(model):
    return "sample_weight" in inspect.signature(model.fit).parameters


def _require_same(model, X, wrapped, y, weight):
    """The same numbers in another form give the same model."""
    twin = clone(model)
    extra = () if weight is None else (weight,)
    with oracle.watched():
        twin.fit(np.array(X), y, *extra)
        same = np.array_equal(twin.decision_function(X), model.decision_function(wrapped))
    oracle.require(same, "another form of the same numbers gives another model")


def imkpl_case(source):
    """IMKPL on vectors."""
    model = IMKPL(source.pick(VECTOR_KERNELS), n_neighbors=source.whole(1, 3), sparsity=3)
    return run_vectors(source, draw_settings(source, model, SETTINGS))


def iskpl_case(source):
    """ISKPL on vectors."""
    model = ISKPL(source.pick(VECTOR_KERNELS), sparsity=3)
    return run_vectors(source, draw_settings(source, model, SETTINGS))


def selector_case(source):
    """IMKPLSelector on vectors."""
    inner = IMKPL(source.pick(VECTOR_KERNELS[:2]), n_neighbors=1, sparsity=2)
    return run_vectors(source, IMKPLSelector(inner, max_features=source.pick([None, 1, 3, 50])))


def cv_case(source):
    """IMKPLCV on vectors."""
    model = IMKPLCV(
        source.pick(VECTOR_KERNELS[:3]),
        sparsity=source.pick([(1, 2), [2], (1,)]),
        max_kernels=source.pick(["auto", (1, 2)]),
        n_neighbors=source.whole(1, 2),
        cv=source.pick([2, 3, None, 1]),
        selection=source.pick(["one_standard_error", "best"]),
        scoring=source.pick(["accuracy", "balanced_accuracy"]),
    )
    return run_vectors(source, model)


def baseline_case(source):
    """The baselines on vectors."""
    kind = source.pick([PrototypeSelection, AKGLVQ, DKMLD, MIDL, MKLDPL])
    return run_vectors(source, kind(source.pick(VECTOR_KERNELS)))
