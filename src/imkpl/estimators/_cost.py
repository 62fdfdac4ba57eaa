"""What wishes cost: accuracy on left-out samples, with and without them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline

from imkpl._json import Described
from imkpl._typing import FloatArray
from imkpl.estimators._compat import safe_split
from imkpl.estimators._wishes import FEATURE_WISHES, read_sample_wishes


@dataclass(frozen=True, eq=False)
class WishCost(Described):
    """Accuracy on the left-out samples of every fold, with the wishes and without them.

    Parameters
    ----------
    with_wishes, without_wishes : array of shape (n_folds,)
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> found = WishCost(np.array([0.90, 0.94]), np.array([0.95, 0.97]))
    >>> round(found.cost, 3), round(found.standard_error, 3)
    (0.04, 0.01)
    """

    _also = ("cost", "standard_error")

    with_wishes: FloatArray
    without_wishes: FloatArray

    @property
    def cost(self) -> float:
        """The mean score that the wishes cost; negative if they help."""
        return float(np.mean(self.without_wishes - self.with_wishes))

    @property
    def standard_error(self) -> float:
        """The standard error of the cost over the folds."""
        differences = self.without_wishes - self.with_wishes
        return float(differences.std(ddof=1) / np.sqrt(differences.size))

    def __str__(self) -> str:
        """A sentence."""
        points, word = 100 * self.cost, "cost" if self.cost >= 0 else "gain"
        return (
            f"Of samples left out, {self.with_wishes.mean():.1%} are classified right with the "
            f"wishes and {self.without_wishes.mean():.1%} without them: the wishes {word} "
            f"{abs(points):.1f} points (standard error {100 * self.standard_error:.1f}, "
            f"{self.with_wishes.size} folds)."
        )


def cost_of_wishes(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    eligible: ArrayLike | None = None,
    pin: ArrayLike | None = None,
    ban: ArrayLike | None = None,
    cv: Any = 5,
) -> WishCost:
    """What the wishes of an estimator cost: its accuracy by folds with and without them.

    Parameters
    ----------
    estimator : estimator
        A model with wishes about features, or none; also at the end of a pipeline. It is cloned.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Their classes.
    eligible, pin, ban : array-like of bool of shape (n_samples,), optional
        Wishes about samples, as for `fit`; a fold has those of its training part.
    cv : int, splitter or iterable, default=5
        How samples are split. A number of folds shuffles them and keeps the classes' shares.

    Returns
    -------
    WishCost
        The scores of all folds; printed, a sentence.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL, cost_of_wishes
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = cost_of_wishes(IMKPL(n_prototypes=3, exclude=["proline"]), X, y, cv=3)
    >>> print(found)  # doctest: +ELLIPSIS
    Of samples left out, 9...% are classified right with the wishes and 9... without them: ...
    """
    if isinstance(cv, Integral):
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=0)
    free = clone(estimator)
    names = [name for name in free.get_params() if name.split("__")[-1] in FEATURE_WISHES]
    free.set_params(**dict.fromkeys(names))
    given = {"eligible": eligible, "pin": pin, "ban": ban}
    y = np.asarray(y)
    read_sample_wishes(given, y.size)
    prefix = ""
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        prefix = f"{estimator.steps[-1][0]}__"
    scores = []
    for train, test in check_cv(cv, y, classifier=True).split(X, y):
        part = safe_split(estimator, X, y, train)
        wishes = {
            f"{prefix}{name}": np.asarray(flags)[train]
            for name, flags in given.items()
            if flags is not None
        }
        fitted = clone(estimator).fit(*part, **wishes), clone(free).fit(*part)
        left_out = safe_split(estimator, X, y, test, train)
        scores.append([model.score(*left_out) for model in fitted])
    return WishCost(*np.array(scores).T)
