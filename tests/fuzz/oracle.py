"""The judge: a right fit or a documented error with a sentence, and the input as it was."""

import linecache
import warnings
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

# Subclasses count; docs/errors.md lists them. A missing file is an OSError.
DOCUMENTED = (ValueError, TypeError, OSError)
# What numpy, scipy and pandas say to programmers, not to users.
INNARDS = (
    "broadcast", "not aligned", "matmul", "ufunc", "truth value", "not supported between instances",
    "out of bounds", "unhashable", "has no attribute", "object is not", "cannot reshape",
    "dimension mismatch", "zero-size", "SVD", "singular", "'NoneType' object", "inhomogeneous",
    "Traceback",
)  # fmt: skip
SHORTEST = 20
MOST_WARNINGS = 3
QUIET = (ConvergenceWarning, DataConversionWarning, FutureWarning)


class FindingError(AssertionError):
    """What should not have happened."""


def require(claim, sentence):
    """Raise a finding unless the claim holds."""
    if not claim:
        raise FindingError(sentence)


def is_raised(error):
    """Whether a line that checks input raised it, and not an accident in another library."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename
    line = linecache.getline(name, trace.tb_lineno).strip()
    ours = ("imkpl", "sklearn", "narwhals")
    return line.startswith("raise") and any(f"/{package}/" in name for package in ours)


def check_error(error):
    """Raise a finding unless an error is of a documented class and says a sentence."""
    what = f"{type(error).__name__}: {str(error)[:300]}"
    require(isinstance(error, DOCUMENTED), f"an undocumented error, {what}")
    text = str(error)
    require(len(text) >= SHORTEST and " " in text, f"not a sentence, {what}")
    wrong = [word for word in INNARDS if word in text]
    require(not wrong, f"the words of another library ({wrong}), {what}")
    require(is_raised(error), f"an accident, {what}")


def snapshot(value):
    """All that can be seen of a value, to compare it with later."""
    if isinstance(value, np.ma.MaskedArray):
        return snapshot(value.data), snapshot(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return str(value.dtype), value.shape, value.strides, value.flags.writeable, content
    if sp.issparse(value):
        parts = [snapshot(part) for part in (value.tocoo().coords, value.data)]
        return type(value), value.shape, parts
    if isinstance(value, list | tuple):
        return type(value), [snapshot(one) for one in value]
    if isinstance(value, dict):
        return [(repr(key), snapshot(one)) for key, one in value.items()]
    if hasattr(value, "to_numpy") and hasattr(value, "columns"):
        seen = [list(value.columns), list(getattr(value, "dtypes", ()))]
        return repr([*seen, getattr(value, "index", None)]), snapshot(value.to_numpy())
    if hasattr(value, "to_numpy"):
        return snapshot(value.to_numpy()), repr(getattr(value, "index", None))
    return repr(value) if not hasattr(value, "__next__") else None


@contextmanager
def watched(*inputs):
    """Findings for altered input and for warnings about arithmetic, or too many of any kind."""
    before = [snapshot(one) for one in inputs]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    # The same sentence from several questions to a model counts once.
    others = {str(w.message): w for w in caught if not issubclass(w.category, QUIET)}.values()
    arithmetic = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    require(not arithmetic, _tell("arithmetic went wrong", arithmetic))
    require(len(others) <= MOST_WARNINGS, _tell("a flood of warnings", others))
    for one, seen in zip(inputs, before, strict=True):
        require(snapshot(one) == seen, f"altered input of type {type(one).__name__}")


def _tell(what, caught):
    lines = {f"{w.filename}:{w.lineno} {w.message}" for w in caught}
    return f"{what}: {sorted(lines)[:3]}"


def attempt(action, *inputs):
    """The result and None, or None and the error, if it is one that users may see."""
    with watched(*inputs):
        try:
            return action(), None
        except FindingError:
            raise
        except Exception as error:
            check_error(error)
            return None, error


def check_finite(value, name):
    """Raise a finding where a learned value is NaN or infinite."""
    if sp.issparse(value):
        value = value.data
    if isinstance(value, dict):
        for key, one in value.items():
            check_finite(one, f"{name}[{key!r}]")
        return
    if isinstance(value, np.ndarray | np.floating | float):
        array = np.asarray(value)
        if array.dtype.kind == "f":
            require(np.isfinite(array).all(), f"{name} is not finite")


def check_learned(model):
    """Raise findings about the public learned attributes of a fitted model."""
    given = set(model.get_params(deep=False))
    for name, value in vars(model).items():
        # Labels are the user's, and what they hold is not learned.
        if name not in given and not name.startswith("_") and "class" not in name:
            check_finite(value, name)
    weights = getattr(model, "kernel_weights_", None)
    if weights is not None:
        require(np.all(weights >= 0), "negative kernel weights")
        require(abs(weights.sum() - 1) < 1e-9, "kernel weights do not sum to one")
    shares = getattr(model, "class_shares_", None)
    if shares is not None:
        require(np.isfinite(shares).all(), "class_shares_ is not finite")


def check_measures(model, labels):
    """Raise findings unless IP and DR of a fitted model are between 0 and 100."""
    from imkpl.measures import discrimination_score, interpretability_score

    places = np.unique(np.asarray(model.classes_, dtype=object).astype(str), return_inverse=True)[1]
    owners = places[np.argmax(model.class_shares_, axis=1)]
    ip = interpretability_score(model.class_shares_, places)
    require(0 <= ip <= 100, f"IP is {ip}")
    if hasattr(model, "codes_"):
        dr = discrimination_score(model.codes_, labels, owners)
        require(0 <= dr <= 100, f"DR is {dr}")


def check_answers(model, X, n_new):
    """Raise findings unless all that a fitted model says about samples agrees."""
    n_classes = len(model.classes_)
    predicted = model.predict(X)
    require(len(predicted) == n_new, "another number of predictions")
    scores = model.decision_function(X)
    require(np.isfinite(scores).all(), "scores are not finite")
    shape = (n_new,) if n_classes == 2 else (n_new, n_classes)
    require(scores.shape == shape, f"scores of shape {scores.shape}")
    best = (scores > 0).astype(int) if n_classes == 2 else np.argmax(scores, axis=1)
    _require_labels(predicted, model.classes_[best], "predict is not the best score")
    if hasattr(model, "predict_proba"):
        _check_probabilities(model, X, predicted)
    if hasattr(model, "transform"):
        codes = model.transform(X)
        require(codes.shape[0] == n_new, "another number of codes")
        require(np.isfinite(codes.data).all(), "codes are not finite")
    if hasattr(model, "reconstruction_error"):
        errors = model.reconstruction_error(X)
        require(np.all((errors >= 0) & (errors <= 1)), "errors outside 0 to 1")
        rejecting = model.predict(X, reject=True)
        require(len(rejecting) == n_new, "another number of answers with reject")
    if hasattr(model, "explain"):
        _check_explanation(model, X, n_new)


def _check_probabilities(model, X, predicted):
    proba = model.predict_proba(X)
    require(np.isfinite(proba).all() and np.all(proba >= 0), "probabilities are not numbers")
    require(np.allclose(proba.sum(axis=1), 1, rtol=1e-12), "probabilities do not sum to one")
    # Tiny differences of scores may round to equal probabilities.
    best = proba.max(axis=1, initial=0.0)
    own = [proba[i, _place(model.classes_, one)] for i, one in enumerate(predicted)]
    require(np.array_equal(best, np.array(own).reshape(best.shape)), "predict is not most probable")


def _check_explanation(model, X, n_new):
    """Raise findings unless an explanation adds up to the scores and can be printed."""
    explanation = model.explain(X)
    scores = explanation.scores - explanation.evidence.base_scores
    for index in range(min(n_new, 3)):
        table = np.asarray(explanation.contributions(index))
        require(np.isfinite(table).all(), "contributions are not finite")
        require(
            np.allclose(table.sum(axis=(0, 1)), scores[index], rtol=1e-6, atol=1e-8),
            "contributions do not add up to the score",
        )
        require(len(str(explanation[index])) > 10, "an explanation without words")


def _place(classes, label):
    for place, one in enumerate(classes.tolist()):
        if one is label or one == label or (one != one and label != label):
            return place
    raise FindingError(f"the prediction {label!r} is no class")


def _require_labels(found, expected, sentence):
    same = all(
        a is b or a == b or (a != a and b != b) for a, b in zip(found, expected, strict=True)
    )
    require(same, sentence)
