"""Measures of a prototype model: interpretability (IP), discrimination (DR), stability."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from imkpl._checks import LARGEST, check_nonnegative, require
from imkpl._typing import FloatArray, IntArray

__all__ = [
    "discrimination_score",
    "interpretability_score",
    "n_selected_kernels",
    "selection_stability",
]

# A normal variable is within this many standard deviations with probability 0.95.
NORMAL_95 = 1.959964
# How answers are weighed with class_weight="balanced".
ALIKE = "with classes weighed alike"


def interpretability_score(
    prototypes: Any, labels: ArrayLike, kernel: ArrayLike | None = None
) -> float:
    """Compute IP: the mean over prototypes of purity times compactness, in percent.

    IP is high if prototypes consist of close samples of one class:
    ``IP = 100 / c * sum_i (l^q u_i / ||L u_i||_1) * exp(-sum_st u_si u_ti ||phi_s - phi_t||^2)``
    where q is the class that holds most of prototype i. A prototype that is a single sample has IP
    100, whichever sample it is: report IP beside the number of samples per prototype and of
    prototypes per class.

    Parameters
    ----------
    prototypes : array or sparse array of shape (n_prototypes, n_samples)
        Coefficients of the samples, not negative.
    labels : array of shape (n_samples,)
        Class of each sample.
    kernel : array of shape (n_samples, n_samples), optional
        The combined kernel. When None, the prototypes have unit norm in a kernel of unit diagonal,
        as those of a fitted estimator do; the sum in the exponent is then
        ``2 (sum_s u_s)^2 - 2``.

    Returns
    -------
    float
        IP between 0 and 100.

    Examples
    --------
    >>> interpretability_score([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    100.0
    >>> interpretability_score([[0.5, 0.5]], ["a", "b"], [[1.0, 1.0], [1.0, 1.0]])
    50.0
    """
    rows = _as_rows(prototypes, "prototypes")
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    _check_lengths(rows.shape[1], codes.size, "columns of prototypes", "labels")
    require(
        codes.size,
        "prototypes have no columns, expected one per training sample. Pass prototypes_ of a "
        "fitted model.",
    )
    indicator = sp.csr_array(
        (np.ones(codes.size), (np.arange(codes.size), codes)), shape=(codes.size, classes.size)
    )
    # Sizes are sums over classes, so that no class holds more than the size by round-off.
    held = rows @ indicator
    sizes = held.sum(axis=1)
    is_empty = sizes == 0
    largest = held.max(axis=1).toarray().ravel()
    purity = np.where(is_empty, 0.0, largest / np.where(is_empty, 1.0, sizes))
    if kernel is None:
        spread = 2 * sizes**2 - 2
    else:
        K = np.asarray(kernel, dtype=np.float64)
        _check_lengths(K.shape[0], codes.size, "rows of kernel", "labels")
        # sum_st u_s u_t (K_ss + K_tt - 2 K_st) = 2 (sum_s u_s)(sum_s u_s K_ss) - 2 u'Ku.
        norms = np.asarray((rows.multiply(rows @ K)).sum(axis=1)).ravel()
        spread = 2 * sizes * (rows @ np.diagonal(K)) - 2 * norms
    compactness = np.exp(-np.maximum(spread, 0.0))
    return float(100 * np.mean(purity * compactness)) if sizes.size else 0.0


def discrimination_score(codes: Any, labels: ArrayLike, prototype_classes: ArrayLike) -> float:
    """Compute DR: the mean share of a prototype's codes that goes to its own class, in percent.

    DR is high if each prototype represents its own class alone:
    ``DR = 100 / c * sum_i sum_{s: y_s = q_i} gamma_is / ||gamma^i||_1``. Unused prototypes are left
    out of the mean. With labels at random, the expected share of a prototype is that of its class
    among the samples.

    Parameters
    ----------
    codes : array or sparse array of shape (n_samples, n_prototypes)
        Codes in which the prototypes of all classes compete, of test samples in the paper; not
        negative. Codes limited to the prototypes of a predicted class say only how accurate the
        predictions are.
    labels : array of shape (n_samples,)
        Class of each sample.
    prototype_classes : array of shape (n_prototypes,)
        Class of each prototype.

    Returns
    -------
    float
        DR between 0 and 100.

    Examples
    --------
    >>> discrimination_score([[1.0, 0.0], [1.0, 3.0]], ["a", "b"], ["a", "b"])
    75.0
    """
    amounts = sp.coo_array(_as_rows(codes, "codes"))
    y, owners = np.asarray(labels), np.asarray(prototype_classes)
    _check_lengths(amounts.shape[0], y.size, "rows of codes", "labels")
    _check_lengths(amounts.shape[1], owners.size, "columns of codes", "prototype_classes")
    rows, columns = amounts.coords
    is_own = y[rows] == owners[columns]
    totals = np.bincount(columns, amounts.data, minlength=owners.size)
    own = np.bincount(columns[is_own], amounts.data[is_own], minlength=owners.size)
    is_used = totals > 0
    return float(100 * np.mean(own[is_used] / totals[is_used])) if is_used.any() else 0.0


def n_selected_kernels(weights: ArrayLike) -> int:
    """Count the kernels that have a weight: ``||beta||_0``.

    Parameters
    ----------
    weights : array of shape (n_kernels,)
        Non-negative kernel weights.

    Returns
    -------
    int
        The number of selected kernels.

    Examples
    --------
    >>> n_selected_kernels([0.7, 0.0, 0.3])
    2
    """
    array = np.asarray(weights, dtype=np.float64)
    check_nonnegative(array, "weights")
    return int(np.count_nonzero(array))


def selection_stability(chosen: ArrayLike) -> tuple[float, tuple[float, float]]:
    """Compute how alike several choices of features are, corrected for chance.

    Nogueira's index compares the variance of each feature's choice with that of features drawn at
    random, as many as are chosen on average: ``1 - mean_f s_f^2 / (q (1 - q))`` where ``s_f^2``
    is the unbiased variance of feature f over the choices and q the mean share of features chosen.
    The interval takes the choices as independent; those on overlapping parts of the same data are
    not, so it tells how the index varies with the parts drawn, not with new data.

    Parameters
    ----------
    chosen : array-like of shape (n_choices, n_features)
        Whether each choice takes each feature: zeros and ones, or weights.

    Returns
    -------
    score : float
        Nogueira's index: 1 for equal choices, about 0 for random ones; NaN where every choice takes
        all features, or none.
    interval : tuple (float, float)
        Its 95 % confidence interval, cut off at 1.

    References
    ----------
    S. Nogueira, K. Sechidis and G. Brown, "On the stability of feature selection algorithms",
    Journal of Machine Learning Research 18 (174), 2018.

    Examples
    --------
    >>> selection_stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])[0]
    0.333...
    """
    rows = _as_rows(chosen, "choices")
    n_choices, n_features = rows.shape
    require(
        n_choices >= 2 and n_features,
        f"choices have shape {rows.shape}, expected (n_choices, n_features) with at least 2 "
        "choices to compare. Pass one row of zeros and ones for each choice.",
    )
    taken = (rows.toarray() > 0).astype(np.float64)
    # Means over features: of each choice, and of all.
    shares, frequencies = taken.mean(axis=1), taken.mean(axis=0)
    share = shares.mean()
    by_chance = share * (1 - share)
    if by_chance == 0:
        return np.nan, (np.nan, np.nan)
    variances = frequencies * (1 - frequencies) * n_choices / (n_choices - 1)
    score = 1 - variances.mean() / by_chance
    # The influence of each choice on the index.
    slope = 2 * shares * share - shares - share + 1
    influences = taken @ frequencies / n_features - shares * share + score / 2 * slope
    influences /= by_chance
    margin = NORMAL_95 * 2 * influences.std() / np.sqrt(n_choices)
    return float(score), (float(score - margin), min(1.0, float(score + margin)))


def wilson_interval(share: float, n: float) -> list[float]:
    """Wilson's 95 % interval of a share of `n` draws."""
    squared = NORMAL_95**2 / n
    center, width = share + squared / 2, (squared * (share * (1 - share) + squared / 4)) ** 0.5
    return [float((center + side * width) / (1 + squared)) for side in (-1, 1)]


# Draws of groups behind an interval, fewer where probabilities are many.
FEWEST_DRAWS, MOST_DRAWS, DRAWN_AT_MOST = 40, 200, 2e7
# Parts of a calibration curve, and cases in each.
MOST_PARTS, FEWEST_IN_PART = 10, 20
# Probabilities are this far from 0 and 1 where logarithms are taken of them.
LEAST_CHANCE = 1e-6


def measure_chances(
    probabilities: FloatArray, labels: IntArray, groups: IntArray, classes: Sequence[Any]
) -> dict[str, Any] | None:
    """What probabilities of classes are worth, with intervals; None if only one class occurs."""
    n, n_classes = probabilities.shape
    own = np.eye(n_classes)[labels]
    is_used = (own.sum(axis=0) > 0) & (own.sum(axis=0) < n)
    if not is_used.any():
        return None
    target = int(np.argmin(own.sum(axis=0))) if n_classes == 2 else None
    used = np.flatnonzero(is_used) if target is None else np.array([target])
    chances, own = probabilities[:, used], own[:, used]
    members = np.split(
        np.argsort(groups, kind="stable"), np.cumsum(np.unique(groups, return_counts=True)[1])[:-1]
    )
    source, drawn = np.random.default_rng(0), []
    for _ in range(int(np.clip(DRAWN_AT_MOST / chances.size, FEWEST_DRAWS, MOST_DRAWS))):
        places = source.integers(len(members), size=len(members))
        rows = np.concatenate([members[one] for one in places])
        drawn.append(_score_chances(chances[rows], own[rows]))
    found, ends = _score_chances(chances, own), np.nanquantile(drawn, [0.025, 0.975], axis=0).T
    names = ("auc", "average_precision", "skill")
    # With more than two classes, all probabilities together.
    units = np.repeat(groups, used.size)
    return {
        "target": None if target is None else classes[target],
        **{
            name: {"value": float(value), "interval": interval.tolist()}
            for name, value, interval in zip(names, found, ends, strict=True)
        },
        "base_precision": float(own.mean()),
        "calibration": _calibration(chances.ravel(), own.ravel(), units),
        "benefit": None if target is None else _net_benefit(chances[:, 0], own[:, 0]),
    }


def _score_chances(chances: FloatArray, own: FloatArray) -> tuple[float, float, float]:
    """AUC and average precision, means over classes, and the skill; NaN if there are none."""
    # Half a second to import.
    from scipy.stats import rankdata

    n_own, n = own.sum(axis=0), len(own)
    used = (n_own > 0) & (n_own < n)
    if not used.any():
        return float("nan"), float("nan"), float("nan")
    chances, own, n_own = chances[:, used], own[:, used], n_own[used]
    ranks = np.sum(rankdata(chances, axis=0) * own, axis=0)
    areas = (ranks - n_own * (n_own + 1) / 2) / (n_own * (n - n_own))
    precision = np.mean([_average_precision(*pair) for pair in zip(chances.T, own.T, strict=True)])
    base = np.sum((own.mean(axis=0) - own) ** 2)
    return float(np.mean(areas)), float(precision), float(1 - np.sum((chances - own) ** 2) / base)


def _average_precision(chances: FloatArray, own: FloatArray) -> float:
    """The mean precision at the cases of the class, from the most probable one on."""
    order = np.argsort(-chances, kind="stable")
    n_own = np.cumsum(own[order])
    # Samples of equal probability share one threshold.
    last = np.append(np.flatnonzero(np.diff(chances[order])), order.size - 1)
    gained = np.diff(n_own[last], prepend=0.0)
    return float(np.sum(gained * n_own[last] / (last + 1)) / n_own[-1])


def _calibration(chances: FloatArray, own: FloatArray, groups: IntArray) -> dict[str, Any]:
    """Slope, intercept (at slope 1) and curve of probabilities against what happened."""
    kept = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE)
    logits = np.log(kept / (1 - kept))
    n_parts = int(np.clip(chances.size // FEWEST_IN_PART, 2, MOST_PARTS))
    ends = np.quantile(chances, np.linspace(0, 1, n_parts + 1))[1:-1]
    part = np.searchsorted(np.unique(ends), chances, side="right")
    curve = []
    for number in np.unique(part):
        rows = part == number
        observed, n_units = float(own[rows].mean()), np.unique(groups[rows]).size
        curve.append(
            {
                "predicted": float(chances[rows].mean()),
                "observed": observed,
                "n": int(rows.sum()),
                "interval": wilson_interval(observed, n_units),
            }
        )
    both = np.column_stack([np.ones(logits.size), logits])
    return {
        "slope": float(_regress(both, np.zeros(logits.size), own)[1]),
        "intercept": float(_regress(both[:, :1], logits, own)[0]),
        "mean": float(chances.mean()),
        "share": float(own.mean()),
        "curve": curve,
    }


def _regress(columns: FloatArray, offset: FloatArray, own: FloatArray) -> FloatArray:
    """The coefficients of a logistic regression, by Newton's method with a slight ridge."""
    found, ridge = np.zeros(columns.shape[1]), 1e-3 * np.eye(columns.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-np.clip(offset + columns @ found, -30, 30)))
        slopes = columns.T @ (chances - own) + ridge @ found
        curvature = (columns.T * (chances * (1 - chances))) @ columns + ridge
        step = np.linalg.solve(curvature, slopes)
        found -= np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    return found


def _net_benefit(chances: FloatArray, own: FloatArray) -> list[dict[str, float]]:
    """Of every threshold what answering by it is worth, and what "always" is; "never" is 0."""
    share, found = float(own.mean()), []
    # Beyond this nobody would act upon a class that is so rare.
    for percent in range(1, int(np.clip(400 * share, 20, 95)) + 1):
        threshold = percent / 100
        odds, is_found = threshold / (1 - threshold), chances >= threshold
        gain = float(np.mean(is_found * own) - odds * np.mean(is_found * (1 - own)))
        always = share - odds * (1 - share)
        found.append({"threshold": threshold, "model": gain, "always": always})
    return found


def say_chances(chances: dict[str, Any]) -> str:
    """What :func:`measure_chances` found, in a line."""
    said = []
    for key, name in (("auc", "AUC"), ("average_precision", "average precision")):
        low, high = chances[key]["interval"]
        said.append(f"{name} {chances[key]['value']:.2f} ({low:.2f} to {high:.2f})")
    of = "" if chances["target"] is None else f" for {chances['target']}"
    said[-1] += f"{of}, by chance {chances['base_precision']:.2f}"
    skill, calibration = chances["skill"], chances["calibration"]
    low, high = (100 * end for end in skill["interval"])
    side = "below" if skill["value"] >= 0 else "above"
    said.append(
        f"Brier score {abs(100 * skill['value']):.0f}% {side} the base rate's ({low:.0f} to "
        f"{high:.0f}%)"
    )
    said.append(
        f"calibration slope {calibration['slope']:.2f}, intercept {calibration['intercept']:.2f}"
    )
    return f"{'; '.join(said)}."


def weigh_answers(
    right: FloatArray, labels: list[Any], groups: IntArray, costs: Any, class_weight: Any
) -> dict[str, Any] | None:
    """Accuracy in which answers count as their classes cost or weigh; None if all are alike."""
    labels = [str(label) for label in labels]
    names = list(dict.fromkeys(labels))
    if costs is not None:
        said = {str(name): float(cost) for name, cost in costs.items()}
        worth, how = {name: said.get(name, 1.0) for name in names}, "at these costs"
    elif class_weight is not None:
        alike = isinstance(class_weight, str)  # scikit-learn knows one word: "balanced".
        how = ALIKE if alike else "with these weights"
        said = {} if alike else {str(name): float(one) for name, one in class_weight.items()}
        worth = {n: 1 / labels.count(n) if alike else said.get(n, 1.0) for n in names}
    else:
        return None
    weight = np.array([worth[label] for label in labels])
    totals = {name: float(weight[[one == name for one in labels]].sum()) for name in names}
    best, total = min(names, key=lambda one: (-totals[one], one)), float(weight.sum())
    by_group = np.bincount(np.unique(groups, return_inverse=True)[1], weight)
    accuracy = float(right @ weight) / total
    return {
        "how": how,
        "accuracy": accuracy,
        "interval": wilson_interval(accuracy, total**2 / float(by_group @ by_group)),
        "baseline": {"class": best, "accuracy": totals[best] / total},
    }


def measure_errors(y: FloatArray, found: FloatArray, mean: float, line: Any) -> dict[str, Any]:
    """How far values are off, beside those of the mean and of a line; R² with a 95 % interval."""

    def compare(some: Any) -> dict[str, float]:
        r2 = float(1 - np.sum((y - some) ** 2) / np.sum((y - mean) ** 2))
        return {"r2": r2, "mean_error": float(np.mean(np.abs(y - some)))}

    own, usual = compare(found), (y - mean) ** 2
    rests = (y - found) ** 2 - (1 - own["r2"]) * usual
    half = float(1.96 * np.std(rests) / usual.mean() / np.sqrt(y.size))
    return {
        "rows": y.size,
        "distinct_rows": y.size,
        **own,
        "interval": [own["r2"] - half, own["r2"] + half],
        "mean": {"value": mean, **compare(mean)},
        "line": None if line is None else compare(line),
    }


def judge_errors(measured: dict[str, Any]) -> dict[str, str]:
    """The verdict on a model of values; see :func:`judge`."""
    usual, line, off = measured["mean"], measured["line"], measured["mean_error"]
    rule = (
        f"off by {off:.4g} on average, the mean ({usual['value']:.4g}) by {usual['mean_error']:.4g}"
    )
    if line is not None:
        rule += f", a linear model by {line['mean_error']:.4g} (R² {line['r2']:.2f})"
    if measured["interval"][0] > 0:
        return {"level": "better", "text": f"Clearly better than always saying the mean: {rule}."}
    if measured["r2"] > 0:
        text = f"Not clearly better than always saying the mean: {rule}. More cases are needed."
        return {"level": "unclear", "text": text}
    return {"level": "worse", "text": f"No better than always saying the mean: {rule}."}


def judge(measured: dict[str, Any]) -> dict[str, str]:
    """The verdict on what was measured of a model, a level and a sentence: the same everywhere."""
    if "r2" in measured:
        return judge_errors(measured)
    chances, weighed = measured.get("chances"), measured.get("weighed")
    base = measured["baseline"]
    rule = f"than always saying {base['class']} ({100 * base['accuracy']:.1f}% right)"
    if weighed is not None:
        measured, base = weighed, weighed["baseline"]
        rule = f"than always saying {base['class']}, {weighed['how']}"
    if measured["interval"][0] > base["accuracy"]:
        return {"level": "better", "text": f"Clearly better {rule}."}
    if chances is not None and chances["auc"]["interval"][0] > 0.5:
        low, high = chances["auc"]["interval"]
        ranks = f"AUC {chances['auc']['value']:.2f} (95% interval {low:.2f} to {high:.2f})"
        use = "Use its probabilities, with a cut-off that fits what mistakes cost."
        if chances["skill"]["interval"][0] > 0:
            text = (
                f"Clearly better than guessing by how frequent classes are: {ranks}, Brier score "
                f"{100 * chances['skill']['value']:.0f}% below. Its answers alone are not clearly "
                f"better {rule}. {use}"
            )
            return {"level": "better", "text": text}
        text = (
            f"Its answers are not clearly better {rule}, but it ranks cases clearly better than "
            f"chance: {ranks}. {use}"
        )
        return {"level": "unclear", "text": text}
    if measured["accuracy"] > base["accuracy"]:
        text = f"Not clearly better {rule}: more cases are needed to tell."
        return {"level": "unclear", "text": text}
    text = f"No better {rule}: this model has not learned to tell the classes."
    return {"level": "worse", "text": text}


def _as_rows(values: Any, name: str) -> sp.csr_array:
    """A matrix of finite numbers that are not negative, as a sparse one."""
    if not sp.issparse(values):
        # A tuple of three rows would be taken for the parts of a sparse matrix.
        try:
            values = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} of type {type(values).__name__} cannot be read as numbers, expected an "
                "array or a sparse array of two axes. Convert them first."
            ) from error
    require(
        values.ndim == 2,
        f"{name} have shape {values.shape}, expected two axes. Use reshape(1, -1) for one row.",
    )
    rows = sp.csr_array(values, dtype=np.float64)
    check_nonnegative(rows.data, name)
    require(
        rows.data.max(initial=0.0) <= LARGEST,
        f"{name} have entries beyond {LARGEST:.0e}, expected values that can be squared. Divide "
        "them, or take them from a fitted model as they are.",
    )
    return rows


def _check_lengths(found: int, expected: int, what: str, other: str) -> None:
    """Raise unless two counts agree."""
    require(
        found == expected,
        f"There are {found} {what} but {expected} {other}, expected as many of each. Pass arrays "
        "that belong to the same samples.",
    )
