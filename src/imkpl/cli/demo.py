"""The demo: fit on embedded data and say what was learned.

Run it with ``make demo`` or ``python -m imkpl.cli.demo``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from imkpl import IMKPL
from imkpl.estimators import discrimination_scorer, interpretability_scorer


def main() -> None:
    """Fit on the breast cancer data of scikit-learn, print accuracy, prototypes and features."""
    data = load_breast_cancer()
    X, names = data.data, data.target_names
    y = names[data.target]
    train, test = train_test_split(np.arange(y.size), test_size=0.2, stratify=y, random_state=0)
    print(f"Breast cancer: {train.size} patients to learn from, {test.size} held out, {X.shape[1]}")
    print("features. The first run compiles; later ones start at once.\n")

    model = _with_progress(IMKPL(sparsity=5, max_kernels=10, random_state=0))
    start = time.perf_counter()
    model.fit(X[train], y[train])
    seconds = time.perf_counter() - start

    accuracy = 100 * model.score(X[test], y[test])
    print(f"Fitted in {seconds:.1f} s and {model.n_iter_} rounds.")
    print(f"Accuracy on held-out patients: {accuracy:.1f} %")
    print(f"Interpretability (IP): {interpretability_scorer(model):.0f} of 100")
    dr = discrimination_scorer(model, X[test], y[test])
    print(f"Discrimination (DR):   {dr:.0f} of 100\n")

    print("Prototypes per class, each a mix of a few real patients:")
    for name in model.classes_:
        own = np.flatnonzero(model.prototype_classes_ == name)
        print(f"  {name}: {own.size}")
        for prototype in own:
            print(f"    {_describe(model, prototype, train)}")

    kept = np.flatnonzero(model.feature_importances_)
    print(f"\nFeatures kept: {kept.size} of {X.shape[1]}")
    for feature in kept[np.argsort(-model.feature_importances_[kept])]:
        weight = model.feature_importances_[feature]
        print(f"  {weight:5.1%}  {data.feature_names[feature]}")

    print(f"\nWhy is held-out patient {test[0]} {model.predict(X[test[:1]])[0]}?")
    code = model.transform(X[test[:1]]).tocoo()
    shares = code.data / code.data.sum()
    for share, prototype in sorted(zip(shares, code.coords[1], strict=True), reverse=True):
        print(f"  {share:4.0%} like {_describe(model, prototype, train)}")


def _describe(model: Any, prototype: Any, train: Any) -> str:
    row = model.prototypes_[[prototype]].tocoo()
    shares = row.data / row.data.sum()
    parts = sorted(zip(shares, train[row.coords[1]], strict=True), reverse=True)
    return " + ".join(f"{share:.0%} patient {patient}" for share, patient in parts)


def _with_progress(model: Any) -> Any:
    """A progress bar where scikit-learn has one, else a line per round."""
    try:
        from sklearn.callback import ProgressBar
    except ImportError:
        return model.set_params(verbose=1)
    return model.set_callbacks(ProgressBar())


if __name__ == "__main__":
    main()
