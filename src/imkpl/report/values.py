"""What a page says of values: errors beside those of a line, prototypes by value, and cards."""

from typing import Any

import numpy as np

from imkpl._json import to_json
from imkpl.explanations.explanation import write_chance
from imkpl.explanations.exports import describe_model, find_obstacle, name_samples, to_label
from imkpl.explanations.show import show_cell
from imkpl.measures import judge, measure_errors
from imkpl.report.subject import choose_evenly, find_versions

# Version of the format, digits of what is drawn, cards, and points of the picture of errors.
FORMAT, DIGITS, MOST_CARDS, MOST_POINTS = 1, 6, 60, 2000


def fit_line(X: Any, y: Any, new: Any) -> Any:
    """What a linear model with a ridge says of new rows; None unless rows are of a table."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if np.ndim(X) != 2 or hasattr(X, "tocsr"):
        return None
    numbers: Any = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    if hasattr(X, "columns"):
        names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        text = make_column_selector(dtype_exclude="number")
        numbers = make_column_transformer((names, text), remainder=numbers)
    return make_pipeline(numbers, RidgeCV(np.logspace(-2, 4, 13))).fit(X, y).predict(new)


def summarize_values(
    model: Any, X: Any, y: Any, train: tuple[Any, Any] | None, folds: Any, title: str | None
) -> dict[str, Any]:
    """What the page of a model of values, or of classes with an order, shows."""
    explanation = model.explain(X)
    estimates, order = explanation.estimates, explanation.ordered
    known, line, mean = None, None, float(np.mean(explanation.evidence.predictor.votes.levels))
    if y is not None:
        known = read_values(y, order)
        mean = float(known.mean())
    if train is not None:
        learned = read_values(train[1], order)
        mean, line = float(learned.mean()), fit_line(train[0], learned, X)
    measured = None if known is None else measure_errors(known, estimates, mean, line)
    verdict = {"level": "unknown", "headline": f"Values of {len(explanation)} cases"}
    verdict["text"] = "No targets were given, so the errors are unknown."
    if measured is not None and known is not None:
        headline = f"Off by {show_cell(measured['mean_error'])} on average"
        if order is not None:
            right = np.mean(np.abs(estimates - known) <= 0.5)
            headline += f" classes, right for {right:.0%}"
        verdict = {
            "headline": f"{headline}, in {len(known)} held-out cases",
            **judge(folds or measured),
        }
        if folds is not None:
            verdict["note"] = f"The verdict is on {folds['folds']} folds of all data."
    rows = []
    for row in choose_evenly([""] * len(explanation), MOST_CARDS).tolist():
        card = explanation.card(row)
        truth = None if known is None else float(known[row])
        rows.append({"card": card._repr_html_(), "truth": truth, **to_json(card.to_dict())})
    obstacle = find_obstacle(explanation)
    heaviest = np.argsort(-explanation.feature_weights, kind="stable").tolist()
    points: Any = [] if known is None else np.column_stack([estimates, known])[:MOST_POINTS]
    levels = explanation.prototype_classes
    return {
        "format": FORMAT,
        "kind": "values",
        "title": title or f"{type(model).__name__}: what it learned, and how it decides",
        "order": order,
        "verdict": verdict,
        "measured": measured,
        "points": to_json(points, DIGITS),
        "rows": rows,
        "features": [
            {
                "name": explanation.feature_names[i],
                "weight": float(explanation.feature_weights[i]),
                "evidence": float(explanation.feature_evidence[i]),
            }
            for i in heaviest
        ],
        "chance": write_chance(len(heaviest), explanation.expected_false_features),
        "prototypes": [
            {"value": float(levels[j]), **name_samples(explanation, j)}
            for j in np.argsort(levels, kind="stable").tolist()
        ],
        "n_train": int(model.prototypes_.shape[1]),
        "versions": find_versions(),
        "why_absent": obstacle,
        "form": None if obstacle else to_json(describe_model(explanation)),
    }


def read_values(y: Any, order: list[Any] | None) -> Any:
    """Targets as numbers: of ordered classes their places."""
    if order is None:
        return np.asarray(y, dtype=float)
    return np.array([order.index(to_label(label)) for label in np.asarray(y)], dtype=float)
