"""Whether a model holds at a site that it has not learned from, and whether it tells sites."""

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import Pipeline

from imkpl._checks import require
from imkpl._progress import announce
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._compat import safe_split
from imkpl.estimators._pipeline import at_threshold, find_model
from imkpl.explanations.exports import to_label
from imkpl.measures import measure_chances, wilson_interval
from imkpl.report.subject import choose_evenly, isolate
from imkpl.series import read_series

# Sites that are left out in turn; of more, the largest.
MOST_SITES = 20
N_FOLDS = 5
# Samples whose sites are told; fewer series, because all pairs must be aligned.
MOST_TOLD, MOST_SERIES = 1000, 80
# A prototype of one site is worth a look if it has this number of samples, if other sites have this
# part of its class, and if samples drawn from the class are rarely of that site alone.
FEWEST_SAMPLES, OTHERS, RARE = 3, 0.2, 0.05
# Answers, probabilities and classes of a model of some rows, asked about others.
Ask: TypeAlias = Callable[[IntArray, IntArray], tuple[Any, FloatArray, Any]]


def measure_sites(
    model: Any, X: Any, y: Any, sites: Any, *, groups: Any = None, eligible: Any = None
) -> dict[str, Any]:
    """Leave every site out in turn, and say whether the model tells the sites apart.

    A copy of the model is fitted to all other sites and asked about the one left out; beside it
    stands how often copies are right about the same samples in five folds of all sites.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL or ISKPL, or a pipeline that ends with one.
    X, y : samples, and array-like of shape (n_samples,)
        The data given to `fit`.
    sites : array-like of shape (n_samples,)
        The site of each sample: a hospital, a scanner, a country.
    groups, eligible : array-like of shape (n_samples,), optional
        As given to `fit`. Nobody is on both sides, and intervals count groups.

    Returns
    -------
    dict
        Ready for JSON, and for ``sites=`` of a report: "left_out" has the accuracy at each site,
        "told" how well the sites are told by the learned kernel, "prototypes" those of one site,
        and "warnings" what is worth a look.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> X, y = load_wine(return_X_y=True)
    >>> model = IMKPL(n_prototypes=6).fit(X, y)
    >>> found = measure_sites(model, X, y, ["north", "south"] * 89)
    >>> [one["site"] for one in found["left_out"]], found["warnings"]
    (['north', 'south'], [])
    """
    base, known = at_threshold(getattr(model, "best_estimator_", model)), find_model(model)
    labels = np.asarray(y).ravel()
    names = _read_sites(sites, labels.size, int(known.prototypes_.shape[1]))
    samples, given = known.read_new(X), X
    if known.predictor_.kernels.input_kind == "series" and not isinstance(base, Pipeline):
        given = read_series(X)
    start = f"{base.steps[-1][0]}__" if isinstance(base, Pipeline) else ""
    metadata = {"groups": groups, "eligible": eligible}
    more = {f"{start}{k}": np.asarray(v) for k, v in metadata.items() if v is not None}

    def ask(inside: IntArray, outside: IntArray) -> tuple[Any, FloatArray, Any]:
        copy = clone(base)
        own = {name: values[inside] for name, values in more.items()}
        copy.fit(*safe_split(copy, given, labels, inside), **own)
        others = safe_split(copy, given, labels, outside, inside)[0]
        return copy.predict(others), copy.predict_proba(others), copy.classes_

    units = np.arange(labels.size)
    if groups is not None:
        units = np.unique(np.asarray(groups), return_inverse=True)[1]
    left_out = leave_out(ask, labels, names, units, persons=None if groups is None else units)
    return join(left_out, *look_inside(known, samples, labels, names, units), names)


def _read_sites(sites: Any, n_labels: int, n_train: int) -> Any:
    """The names of sites, one for each training sample."""
    names = np.array([str(to_label(one)) for one in np.asarray(sites, dtype=object).ravel()])
    require(
        names.size == n_labels == n_train,
        f"sites has {names.size} values, expected one for each of the {n_train} training samples. "
        "Pass the sites in the order of the data given to fit.",
    )
    require(
        np.unique(names).size > 1,
        f"All of sites are {''.join(names[:1])!r}, expected at least two different "
        "ones. Leave sites out if there is one only.",
    )
    return names


def leave_out(
    ask: Ask, y: Any, sites: Any, units: IntArray, *, persons: Any = None, right: Any = None
) -> list[dict[str, Any]]:
    """How models of all other sites do at each of the largest, beside models of all sites."""
    sizes = Counter(sites.tolist())
    order = sorted(sizes, key=lambda one: (-sizes[one], one))[:MOST_SITES]
    found = []
    with warnings.catch_warnings():
        # What a part warns of, the fit to all rows warns of as well.
        warnings.simplefilter("ignore")
        right = _ask_in_folds(ask, y, units) if right is None else right
        for done, site in enumerate(order):
            announce("sites", f"without {site}", done, len(order))
            own = sites == site
            # Whoever was at several sites is known already.
            others = ~own if persons is None else ~np.isin(persons, persons[own])
            pooled = _rate(np.asarray(right, float)[own], units[own])
            judged = _judge_site(ask, y, units, own, others)
            found.append({"site": site, "pooled": pooled, **judged})
    for one in found:
        pooled, accuracy = one["pooled"], one["accuracy"]
        is_known = pooled is not None and accuracy is not None
        # The second, because pooled rows may be few.
        one["is_below"] = bool(
            is_known
            and one["interval"][1] < pooled["accuracy"]
            and accuracy < pooled["interval"][0]
        )
    return found


def _rate(right: FloatArray, units: IntArray) -> dict[str, Any] | None:
    """The share of right answers where it is known, with its interval; None if it never is."""
    is_known = ~np.isnan(right)
    if not is_known.any():
        return None
    share, n = float(right[is_known].mean()), int(np.unique(units[is_known]).size)
    return {"rows": int(is_known.sum()), "accuracy": share, "interval": wilson_interval(share, n)}


def _judge_site(
    ask: Ask, y: Any, units: IntArray, own: BoolArray, others: BoolArray
) -> dict[str, Any]:
    """Accuracy at a site of a model of others, or why there is none."""
    found: dict[str, Any] = {"rows": int(own.sum()), "independent": int(np.unique(units[own]).size)}
    found |= dict.fromkeys(("accuracy", "interval", "auc", "baseline"))
    alone = sorted({str(label) for label in y[own]} - {str(label) for label in y[others]})
    if alone:
        names = ", ".join(str(isolate(name)) for name in alone)
        return {**found, "why_absent": f"No other site has new cases of {names}."}
    try:
        answers, chances, classes = ask(np.flatnonzero(others), np.flatnonzero(own))
    except ValueError as error:
        return {**found, "why_absent": f"The other sites are too few to learn from: {error}"}
    counts = Counter(y[others].tolist())
    usual = min(counts, key=lambda one: (-counts[one], str(one)))
    places = {label: place for place, label in enumerate(np.asarray(classes).tolist())}
    labels = np.array([places[label] for label in y[own].tolist()])
    worth = measure_chances(chances, labels, units[own], list(places))
    return {
        **found,
        **(_rate(np.asarray(answers == y[own], float), units[own]) or {}),
        "auc": None if worth is None else worth["auc"]["value"],
        "baseline": {"class": usual, "accuracy": float(np.mean(y[own] == usual))},
        "why_absent": None,
    }


def _ask_in_folds(ask: Ask, y: Any, units: IntArray) -> FloatArray:
    """Whether each row is answered correctly by a model of four fifths of all; NaN if unknown."""
    right, labels = np.full(len(y), np.nan), np.unique(y, return_inverse=True)[1]
    sizes = [np.unique(units[labels == label]).size for label in range(labels.max() + 1)]
    if min(sizes) < 2:
        return right
    folds = StratifiedGroupKFold(min(N_FOLDS, *sizes), shuffle=True, random_state=0)
    try:
        for done, (inside, outside) in enumerate(folds.split(labels, labels, units)):
            announce("sites", f"all sites, fold {done + 1}", done, folds.n_splits)
            right[outside] = ask(inside, outside)[0] == y[outside]
    except ValueError:
        # A fold may have one sample of a class, or none that may be shown.
        return np.full(len(y), np.nan)
    return right


def look_inside(
    model: Any, samples: Any, y: Any, sites: Any, units: IntArray
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """How well a model tells the sites of its training samples, and its prototypes of one site."""
    return _tell_sites(model, samples, y, sites, units), _find_one_sided(model, y, sites, units)


def _tell_sites(
    model: Any, samples: Any, y: Any, sites: Any, units: IntArray
) -> dict[str, Any] | None:
    """In folds, how often the site is told by the learned kernel; beside it, by the class alone."""
    from sklearn.svm import SVC

    from imkpl.report.map import learned_kernel

    is_series = model.predictor_.kernels.input_kind == "series"
    rows = choose_evenly(sites.tolist(), MOST_SERIES if is_series else MOST_TOLD)
    kernel = learned_kernel(model, (samples, rows))[: rows.size, : rows.size]
    # In an order that is not that of the rows.
    order = np.lexsort((kernel.sum(axis=1), [str(one) for one in y[rows]], sites[rows]))
    rows, kernel = rows[order], kernel[np.ix_(order, order)]
    sites, y = sites[rows], y[rows]
    _, first, places = np.unique(units[rows], return_index=True, return_inverse=True)
    owners, sizes = first[places], Counter(sites.tolist())
    n_folds = min(N_FOLDS, first.size, max(sizes.values()))
    if len(sizes) < 2 or n_folds < 2:
        return None
    is_told = np.zeros(rows.size)
    with warnings.catch_warnings():
        # Some sites have fewer samples than there are folds.
        warnings.simplefilter("ignore", UserWarning)
        for inside, outside in StratifiedGroupKFold(n_folds).split(sites, sites, owners):
            answers: Any = sites[inside[:1]]
            if np.unique(sites[inside]).size > 1:
                machine = SVC(kernel="precomputed").fit(
                    kernel[np.ix_(inside, inside)], sites[inside]
                )
                answers = machine.predict(kernel[np.ix_(outside, inside)])
            is_told[outside] = answers == sites[outside]
    found = _rate(is_told, owners) or {}
    by_class = [Counter(sites[y == label].tolist()).most_common(1)[0][1] for label in np.unique(y)]
    control, (low, high) = sum(by_class) / rows.size, found["interval"]
    text = (
        f"From the features that it uses, the site is told for {100 * found['accuracy']:.0f}% of "
        f"the cases (95% interval {100 * low:.0f}% to {100 * high:.0f}%); by the class alone "
        f"for {100 * control:.0f}%."
    )
    return {**found, "control": control, "is_told": low > control, "text": text}


def _find_one_sided(model: Any, y: Any, sites: Any, units: IntArray) -> list[dict[str, Any]]:
    """Prototypes whose samples are of one site though those of their class are not."""
    found = []
    for index, label in enumerate(model.prototype_classes_):
        inside = model.prototypes_[[index]].nonzero()[1]
        names = np.unique(sites[inside])
        if names.size != 1 or inside.size < FEWEST_SAMPLES:
            continue
        share = float(np.mean(sites[y == label] == names[0]))
        # The samples of a person are one draw.
        if share <= 1 - OTHERS and share ** np.unique(units[inside]).size < RARE:
            text = (
                f"All of its {inside.size} cases are of site {isolate(names[0])}; of all training "
                f"cases of {isolate(to_label(label))}, {100 * share:.0f}% are."
            )
            found.append({"prototype": index, "site": str(names[0]), "share": share, "text": text})
    return found


def join(
    left_out: list[dict[str, Any]],
    told: dict[str, Any] | None,
    prototypes: list[dict[str, Any]],
    sites: Any,
    column: str | None = None,
) -> dict[str, Any]:
    """All findings about sites, with those that are worth a look in sentences."""
    n_sites = int(np.unique(sites).size)
    looks = [
        f"At site {isolate(one['site'])}, a model of the other sites is right for "
        f"{100 * one['accuracy']:.0f}% (95% interval {100 * one['interval'][0]:.0f}% to "
        f"{100 * one['interval'][1]:.0f}%); models that know the site are right for "
        f"{100 * one['pooled']['accuracy']:.0f}%."
        for one in left_out
        if one["is_below"]
    ]
    if told is not None and told["is_told"]:
        looks.append(
            "The features that it uses give the site away "
            f"({100 * told['accuracy']:.0f}% of the cases; by the class alone "
            f"{100 * told['control']:.0f}%): what it has learned may be the site."
        )
    is_part = n_sites > len(left_out)
    return {
        "column": column,
        "n_sites": n_sites,
        "note": f"The largest {len(left_out)} of {n_sites} sites were left out." * is_part,
        "left_out": left_out,
        "told": told,
        "prototypes": prototypes,
        "warnings": looks,
    }
