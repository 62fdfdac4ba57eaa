"""Displays of what a fit found, and what all displays share: colours, names, panels, checks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from imkpl._checks import import_extra
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators import IMKPL, ISKPL
from imkpl.explanations.explanation import list_parts
from imkpl.explanations.show import show_cell
from imkpl.measures import measure_chances
from imkpl.tables import Table, is_missing

# The colours of Okabe and Ito, distinct for every kind of colour vision. Yellow, pale on white,
# comes last.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
# Eleven and eight are coprime, so 88 classes differ in colour or marker, the first eight in both.
# The star is reserved for prototypes.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
# Of what carries no class.
GREY = "#767676"
# Longest names, and names of classes, in characters.
LONGEST_NAME, LONGEST_CLASS = 28, 18
# Default numbers of prototypes per class, and of features or channels.
MOST_PROTOTYPES = {"vectors": 4, "series": 2}
MOST_FEATURES = {"vectors": 15, "series": 3}
# Number of standard deviations at which a profile is cut.
LARGEST_DEVIATION = 3.0
# Points of an effect curve, samples that it is the mean of, and curves.
GRID, MOST_SAMPLES, MOST_CURVES = 25, 100, 6
# A name left of a panel.
SIDEWAYS: dict[str, Any] = {"rotation": 0, "ha": "right", "va": "center", "fontsize": "small"}


class Drawing(ABC):
    """What is drawn by `plot`."""

    def plot(self, *, ax: Any = None) -> Self:
        """Draw, into as many axes as there are panels, or into a new figure."""
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw into these axes, or into a new figure."""

    def _take_panels(
        self, ax: Any, size: tuple[float, float], n_rows: int = 1, n_columns: int = 1
    ) -> Any:
        """The axes to draw into, of shape (n_rows, n_columns): new ones or those given."""
        who = type(self).__name__
        plt = require_pyplot(f"{who}.plot")
        if ax is None:
            figure = plt.figure(figsize=size, layout="constrained")
            ax = figure.subplots(n_rows, n_columns)
        panels = np.ravel(np.asarray(ax, dtype=object))
        if panels.size != n_rows * n_columns:
            raise ValueError(
                f"{who} draws {n_rows * n_columns} panels, but ax holds {panels.size} axes. Pass "
                f"{n_rows * n_columns}, or None for a new figure."
            )
        for panel in panels:
            panel.spines[["top", "right"]].set_visible(False)
            panel.spines[["left", "bottom"]].set_color(GREY)
            panel.tick_params(color=GREY, labelsize="small")
        self.figure_, self.axes_ = panels[0].figure, panels
        return panels.reshape(n_rows, n_columns)


class Display(Drawing):
    """What all displays of a model offer: `compute` finds arrays, and `plot` draws them."""

    @classmethod
    @abstractmethod
    def compute(cls, estimator: Any, /, *data: Any, **options: Any) -> Self:
        """Collect what is drawn, without matplotlib."""

    @classmethod
    def from_estimator(cls, estimator: Any, *data: Any, ax: Any = None, **options: Any) -> Self:
        """Compute the display of a fitted model, of data and options of `compute`, and draw it."""
        require_pyplot(f"{cls.__name__}.from_estimator")
        return cls.compute(estimator, *data, **options).plot(ax=ax)


def class_style(place: int) -> dict[str, Any]:
    """The colour and the marker of a class."""
    return {"color": COLORS[place % len(COLORS)], "marker": MARKERS[place % len(MARKERS)]}


def shorten(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name on one line, with its middle cut out if it is long."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    n_last = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - n_last].rstrip()}…{text[-n_last:].lstrip()}"


def name_in_plot(name: Any, longest: int = LONGEST_NAME) -> str:
    """A short name that matplotlib draws as it is: no formula, and not hidden from legends."""
    escaped = shorten(name, longest).replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def require_pyplot(who: str) -> Any:
    """The module pyplot, or a sentence about how to install it."""
    otherwise = "; compute() of the display gives the numbers without it"
    return import_extra("matplotlib.pyplot", "plots", f"{who} draws with", otherwise)


def check_model(estimator: Any, who: str) -> None:
    """Raise unless this is a fitted estimator with prototypes."""
    if not isinstance(estimator, IMKPL | ISKPL):
        raise TypeError(
            f"{who} got a {type(estimator).__name__}, expected a fitted IMKPL or ISKPL. Pass the "
            "last step of a pipeline (pipeline[-1])."
        )
    check_is_fitted(
        estimator,
        msg="This %(name)s is not fitted yet, expected a fitted model to draw. Call fit first.",
    )


def sort_prototypes(estimator: Any, n_per_class: int | None = None) -> tuple[IntArray, IntArray]:
    """Prototypes and their classes, sorted by class and then by use in the codes."""
    owners = np.searchsorted(estimator.classes_, estimator.prototype_classes_)
    use = np.asarray(estimator.codes_.sum(axis=0)).ravel()
    order = np.lexsort((-use, owners))
    members = [order[owners[order] == label][:n_per_class] for label in np.unique(owners)]
    chosen = np.concatenate(members)
    return chosen, owners[chosen]


@dataclass(eq=False)
class PathDisplay(Drawing):
    """Accuracy on left-out samples against the number of features.

    Bars are one standard error. The dashed line is one standard error below the best; the smallest
    model above it is marked.

    Parameters
    ----------
    found : FeaturePath
        What :func:`imkpl.path` returns.

    Attributes
    ----------
    ax_, figure_ : Axes, and Figure
        The axes, and their figure.

    Examples
    --------
    >>> from imkpl.estimators import FeaturePath
    >>> from imkpl.plots import PathDisplay
    >>> found = FeaturePath([1, 2], [[0.7, 0.8], [0.9, 1.0]], (("a",), ("a", "b")), None)
    >>> PathDisplay(found).plot().ax_.get_xlabel()
    'Features'
    """

    found: Any

    def _draw(self, ax: Any) -> None:
        ((self.ax_,),) = self._take_panels(ax, (6.4, 3.8))
        found, sizes = self.found, self.found.sizes.tolist()
        best, chosen = sizes.index(found.best), sizes.index(found.chosen)
        self.ax_.errorbar(
            sizes, found.accuracy, found.standard_error, marker="o", capsize=3, color=COLORS[0]
        )
        bar = found.accuracy[best] - found.standard_error[best]
        self.ax_.axhline(bar, color=GREY, linestyle="--", linewidth=1)
        point = sizes[chosen], found.accuracy[chosen]
        self.ax_.plot(*point, "o", markersize=16, markerfacecolor="none", color="black")
        self.ax_.annotate("chosen", point, (0, -18), textcoords="offset points", ha="center")
        self.ax_.set_xscale("log", base=2)
        self.ax_.set_xticks(sizes, [str(size) for size in sizes])
        self.ax_.set(xlabel="Features", ylabel="Accuracy on left-out samples")


@dataclass(eq=False)
class PrototypesDisplay(Display):
    """The prototypes by class as profiles, beside what they are unlike.

    A prototype is a mix of training samples. Of tables, the weighted mean is drawn over the numeric
    features with the largest weights. Series are drawn one by one, with a width that grows with
    their share, because the mean of series that are out of step resembles none of them. Contrasts
    are grey.

    Parameters
    ----------
    kind : {"vectors", "series"}
        Kind of samples.
    classes : array of shape (n_classes,)
        Class labels.
    prototypes : int array of shape (n_shown,)
        Indices of the prototypes shown.
    owners : int array of shape (n_shown,)
        Indices of their classes, in ascending order.
    samples, unlike : list of lists of (name, share)
        The training samples in each prototype and in its contrast, largest share first.
    n_prototypes : int
        Number of prototypes of the model.
    names : list of str
        Names of the drawn features or channels.
    curves, contrasts : list of lists of arrays
        For each prototype and its contrast, of shape (n_channels, length) for every series, or one
        of shape (1, n_features): weighted means in standard deviations above the mean of the data.
    values : array of shape (n_shown, n_features), optional
        Weighted means, for "vectors".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import PrototypesDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
    >>> display = PrototypesDisplay.from_estimator(model, X)
    >>> display.kind, display.values.shape == (len(display.prototypes), len(display.names))
    ('vectors', True)
    """

    kind: str
    classes: Any
    prototypes: IntArray
    owners: IntArray
    samples: list[list[tuple[Any, float]]]
    unlike: list[list[tuple[Any, float]]]
    n_prototypes: int
    names: list[str]
    curves: list[list[FloatArray]]
    contrasts: list[list[FloatArray]]
    values: FloatArray | None = None

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        max_prototypes: int | None = None,
        max_features: int | None = None,
    ) -> Self:
        """Prototypes per class, most used by codes first, and the heaviest features.

        Vectors are standardized by X, or else by the samples in prototypes.
        """
        check_model(estimator, cls.__name__)
        predictor = estimator.predictor_
        kernels, read = predictor.kernels, predictor.kernels.input_kind
        if read not in ("vectors", "columns", "tables", "series"):
            raise TypeError(
                f"The kernels of this model read {read}, neither tables nor series, expected one "
                "of these to draw prototypes. The samples behind each are in prototypes_."
            )
        kind = "series" if read == "series" else "vectors"
        chosen, owners = sort_prototypes(estimator, max_prototypes or MOST_PROTOTYPES[kind])
        columns, names = _sort_columns(estimator, kind, max_features or MOST_FEATURES[kind])
        if not names:
            raise TypeError(
                "The model reads no numeric column, expected one to draw prototypes over. "
                "EffectsDisplay draws categories."
            )
        ids = estimator.support_ids_[np.searchsorted(estimator.support_, predictor.rows)]
        mixes = predictor.mixes[chosen], predictor.contrasts[chosen]
        like, unlike = ([list_parts(rows[[i]]) for i in range(chosen.size)] for rows in mixes)
        values: FloatArray | None = None
        if kind == "series":
            curves, contrasts = (
                [[kernels.sample(place)[columns] for place, _ in parts] for parts in found]
                for found in (like, unlike)
            )
        else:
            values, center, spread = _mix_vectors(estimator, mixes[0], columns, X)
            others, *_ = _mix_vectors(estimator, mixes[1], columns, X)
            curves, contrasts = (
                [[((row - center) / spread)[np.newaxis]] for row in means]
                for means in (values, others)
            )
            contrasts = [one if parts else [] for one, parts in zip(contrasts, unlike, strict=True)]
        return cls(
            kind=kind,
            classes=estimator.classes_,
            prototypes=chosen,
            owners=owners,
            samples=[[(ids[place], share) for place, share in parts] for parts in like],
            unlike=[[(ids[place], share) for place, share in parts] for parts in unlike],
            n_prototypes=predictor.mixes.shape[0],
            names=names,
            curves=curves,
            contrasts=contrasts,
            values=values,
        )

    def _draw(self, ax: Any) -> None:
        """Draw one row per prototype, and one column per channel of series."""
        is_series, n_rows = self.kind == "series", len(self.prototypes)
        heads = [name_in_plot(name) for name in self.names]
        n_columns, width = (len(heads), 2.7) if is_series else (1, 0.8 + 0.45 * len(heads))
        size = min(1.8 + width * n_columns, 15.0), min(1.4 + 1.15 * n_rows, 20.0)
        grid = self._take_panels(ax, size, n_rows, n_columns)
        marker = "" if is_series else "o"
        for row, (panels, curves) in enumerate(zip(grid, self.curves, strict=True)):
            shares = [share for _, share in self.samples[row]]
            for column, panel in enumerate(panels):
                for curve in self.contrasts[row]:
                    panel.plot(curve[column], color="#bbbbbb", linewidth=0.8, marker=marker, ms=3)
                # The largest share is drawn last, on top.
                for curve, share in reversed([*zip(curves, shares, strict=False)]):
                    part = share / shares[0]
                    style = {"linewidth": 0.5 + 1.5 * part, "alpha": 0.25 + 0.75 * part}
                    color = class_style(int(self.owners[row]))["color"]
                    panel.plot(curve[column], color=color, marker=marker, ms=4, **style)
                panel.tick_params(labelbottom=row == n_rows - 1)
            panels[0].set_ylabel(self._name_prototype(row), **SIDEWAYS)
        for column, panels in enumerate(grid.T):
            ends = np.array([[*panel.get_xlim(), *panel.get_ylim()] for panel in panels])
            low, high = ends[:, 2].min(), ends[:, 3].max()
            if not is_series:
                low, high = max(low, -LARGEST_DEVIATION), min(high, LARGEST_DEVIATION)
            for panel in panels:
                panel.set(xlim=(ends[:, 0].min(), ends[:, 1].max()), ylim=(low, high))
                if is_series:
                    panel.locator_params(axis="x", integer=True)
                else:
                    panel.axhline(0, color=GREY, linewidth=0.6, zorder=0)
                    panel.set_xticks(range(len(heads)), heads, rotation=45, ha="right")
            panels[0].set_title(heads[column] if is_series else self._title(), fontsize="medium")
            if is_series:
                panels[-1].set_xlabel("Time step")
        if ax is None and is_series:
            self.figure_.suptitle(self._title(), fontsize="medium")

    def _name_prototype(self, row: int) -> str:
        """The class and number of a prototype, and how many samples it is like and unlike."""
        label = name_in_plot(self.classes[self.owners[row]], LONGEST_CLASS)
        n_like, n_unlike = len(self.samples[row]), len(self.unlike[row])
        against = f", unlike {n_unlike}" if n_unlike else ""
        return f"class {label}, #{self.prototypes[row]}\nlike {n_like}{against}"

    def _title(self) -> str:
        shown, whole = len(self.prototypes), self.n_prototypes
        what = "their series" if self.kind == "series" else "standard deviations above the mean"
        count = "" if shown == whole else f"\n{shown} of {whole} prototypes, most used first"
        return f"Prototypes: {what}\ngrey: what they are unlike{count}"


def _sort_columns(estimator: Any, kind: str, most: int) -> tuple[IntArray, list[str]]:
    """The columns or channels that the model keeps and their names, largest weight first."""
    predictor = estimator.predictor_
    columns = predictor.kernels.input_columns
    if columns is None:
        columns = np.arange(predictor.kernels.samples.shape[1])
    weights = np.zeros(columns.size)
    if hasattr(estimator, "feature_importances_"):
        weights = estimator.feature_importances_[columns]
    kinds = getattr(predictor.kernels.samples, "columns", ())
    words = [place for place, one in enumerate(kinds) if one.categories is not None]
    order = np.argsort(-weights, kind="stable")
    order = order[~np.isin(order, words)][:most]
    known = getattr(estimator, "feature_names_in_", None)
    prefix = "channel " if kind == "series" else "x"
    return order, [f"{prefix}{c}" if known is None else str(known[c]) for c in columns[order]]


def _mix_vectors(
    estimator: Any, mixes: Any, columns: IntArray, X: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted means of vectors or tables, and center and spread of the data."""
    kernels = estimator.predictor_.kernels
    reference = kernels.samples[:, columns]
    if X is not None:
        inputs = kernels.input_columns
        reference = estimator.read_new(X)[:, columns if inputs is None else inputs[columns]]
    values, known = (
        np.asarray(one.values if isinstance(one, Table) else one, dtype=np.float64)
        for one in (kernels.samples[:, columns], reference)
    )
    # Missing cells have no part in a mean.
    shares, seen = mixes.toarray(), ~np.isnan(values)
    totals = shares @ seen
    sums = shares @ np.where(seen, values, 0.0)
    means = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), np.nan)
    spread = np.nanstd(known, axis=0)
    return means, np.nanmean(known, axis=0), np.where(spread > 0, spread, 1.0)


@dataclass(eq=False)
class EvidenceDisplay(Display):
    """The weights of features, beside how sure it is that each is more than chance.

    Parameters
    ----------
    names : list of str
        Names of the features, largest weight first.
    weights, evidence : array of shape (n_features,)
        Their weights, and their evidence from 0 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import EvidenceDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
    >>> EvidenceDisplay.compute(model).names[0] in X.columns
    True
    """

    names: list[str]
    weights: FloatArray
    evidence: FloatArray

    @classmethod
    def compute(cls, estimator: Any, *, max_features: int = 20) -> Self:
        """Weights and evidence of the most important features, not drawn yet."""
        check_model(estimator, cls.__name__)
        shared = estimator._explain_nothing().comparison
        order = np.argsort(-shared.weights, kind="stable")[:max_features]
        return cls([shared.names[i] for i in order], shared.weights[order], shared.evidence[order])

    def _draw(self, ax: Any) -> None:
        height = min(1.2 + 0.24 * len(self.names), 12.0)
        ((left, right),) = self._take_panels(ax, (7.6, height), 1, 2)
        places = np.arange(len(self.names))
        left.barh(places, 100 * self.weights, color=COLORS[0], height=0.6)
        left.set_yticks(places, [name_in_plot(name) for name in self.names])
        right.barh(places, 100 * self.evidence, color="#dddddd", height=0.12)
        right.plot(100 * self.evidence, places, "o", color=COLORS[5], ms=5, clip_on=False)
        right.set(xlim=(0, 100), yticks=[])
        for panel, name in ((left, "Weight, %"), (right, "Evidence, %")):
            panel.set_ylim(len(self.names) - 0.4, -0.6)
            panel.set_title(name, fontsize="medium", loc="left")


@dataclass(eq=False)
class EffectsDisplay(Display):
    """What class scores do along each feature, with the data below.

    A curve is the mean score over some samples, each with the value of the feature on the axis and
    all its other values as they are.

    Parameters
    ----------
    names : list of str
        Names of the features, largest weight first.
    grids : list of arrays or of lists of str
        The values along each feature.
    scores : list of arrays of shape (n_values, n_lines)
        The mean score of every class there; of two classes, of the second over the first; of a
        regressor, the answer.
    data : list of arrays
        The values of the samples, below the curves; empty for categories.
    labels : list
        What the lines are of.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import EffectsDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
    >>> len(EffectsDisplay.compute(model, X, max_features=2).names)
    2
    """

    names: list[str]
    grids: list[Any]
    scores: list[FloatArray]
    data: list[FloatArray]
    labels: list[Any]

    @classmethod
    def compute(cls, estimator: Any, X: Any, *, max_features: int = MOST_CURVES) -> Self:
        """Curves of the heaviest features, means over at most 100 samples of X."""
        check_model(estimator, cls.__name__)
        shared = estimator._explain_nothing().comparison
        if not (shared.has_cells and shared.kernels.has_free_cells):
            raise TypeError(
                f"{cls.__name__} changes one value at a time, but this model reads "
                f"{shared.kernels.input_kind}, expected a table. Use EvidenceDisplay."
            )
        some = np.unique(np.linspace(0, len(X) - 1, MOST_SAMPLES).astype(int))
        is_frame = hasattr(X, "iloc")
        table = X.iloc[some] if is_frame else np.asarray(X, dtype=object)[some]
        answer = estimator.predict if is_regressor(estimator) else estimator.decision_function
        found: list[tuple[Any, ...]] = []
        inputs = shared.kernels.input_columns
        for i in np.argsort(-shared.weights, kind="stable")[:max_features].tolist():
            place = int(inputs[shared.columns[i]])
            column = table.iloc[:, place] if is_frame else table[:, place]
            cells, numbers = [one for one in column if not is_missing(one)], np.empty(0)
            grid: Any = sorted(set(cells), key=str)
            grid = [*grid[:1], None] if shared.is_flag[i] else grid
            if shared.vocabularies[i] is None and not shared.is_flag[i]:
                numbers = np.asarray(cells, dtype=float)
                grid = np.unique(np.quantile(numbers, np.linspace(0.01, 0.99, GRID)))
            scores = []
            for value in grid:
                changed = table.copy()
                if is_frame:
                    changed.isetitem(place, [value] * len(table))
                else:
                    changed[:, place] = value
                scores.append(np.mean(answer(changed), axis=0))
            found.append((shared.names[i], grid, np.reshape(scores, (len(grid), -1)), numbers))
        labels = [] if is_regressor(estimator) else list(estimator.classes_)
        names, grids, means, data = map(list, zip(*found, strict=True))
        return cls(names, grids, means, data, labels[1:] if len(labels) == 2 else labels)

    def _draw(self, ax: Any) -> None:
        n = len(self.names)
        n_columns = min(3, n) if ax is None else n
        n_rows = -(-n // n_columns)
        grid = self._take_panels(ax, (3.1 * n_columns + 0.6, 2.4 * n_rows), n_rows, n_columns)
        for panel in grid.flat[n:]:
            panel.set_axis_off()
        self.axes_ = self.axes_[:n]
        low, high = min(map(np.min, self.scores)), max(map(np.max, self.scores))
        margin = 0.08 * ((high - low) or 1.0)
        for place, panel in enumerate(self.axes_):
            numbers, values = self.data[place], self.grids[place]
            at = values if numbers.size else np.arange(len(values))
            for line, score in enumerate(self.scores[place].T):
                style = {"color": COLORS[line % len(COLORS)], "linewidth": 1.8}
                panel.plot(at, score, "-" if numbers.size else "o", **style)
            bottom = np.full(numbers.size, low - 1.6 * margin)
            panel.plot(numbers, bottom, "|", color=GREY, alpha=0.5, ms=6)
            if numbers.size:
                panel.set_xlim(values[0], values[-1])
            else:
                panel.set_xticks(
                    at, [name_in_plot(show_cell(one), LONGEST_CLASS) for one in values]
                )
            panel.set_ylim(low - 2.2 * margin, high + margin)
            panel.set_title(name_in_plot(self.names[place]), fontsize="medium", loc="left")
        names = [name_in_plot(label, LONGEST_CLASS) for label in self.labels]
        what = f"Score of {names[0]}" if len(names) == 1 else "Score" if names else "Answer"
        for panel in grid[:, 0]:
            panel.set_ylabel(what, fontsize="small")
        if len(names) > 1:
            style = {"frameon": False, "fontsize": "small"}
            if ax is not None:
                self.axes_[0].legend(names, **style)
                return
            where = {"loc": "outside upper center", "ncols": min(len(names), 6)}
            self.figure_.legend(self.axes_[0].lines[: len(names)], names, **where, **style)


@dataclass(eq=False)
class ReliabilityDisplay(Display):
    """How often answers are right against how probable they are said to be.

    Samples are divided by their probability into parts of equal size; bars are 95 % intervals. What
    is probable in 30 of 100 cases should happen in 30: on the diagonal. Below are the numbers of
    samples.

    Parameters
    ----------
    curve : list of dict
        For every part its mean "predicted" probability, the share "observed", the "interval" of
        that, and the number "n" of probabilities.
    target : class label or None
        The class that the probabilities are of, the rarer one of two; None for those of all.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import ReliabilityDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X[::2], y[::2])
    >>> sum(one["n"] for one in ReliabilityDisplay.compute(model, X[1::2], y[1::2]).curve)
    267
    """

    curve: list[dict[str, Any]]
    target: Any

    @classmethod
    def compute(cls, estimator: Any, X: Any, y: Any) -> Self:
        """The curve of samples that the model has not seen, and their classes."""
        check_model(estimator, cls.__name__)
        classes, chances = estimator.classes_, estimator.predict_proba(X)
        rows, labels = np.arange(len(chances)), np.searchsorted(classes, y)
        found = measure_chances(chances, labels, rows, classes.tolist())
        if found is None:
            raise ValueError(
                "All samples are of one class, expected some of others to compare probabilities "
                "with. Pass more samples."
            )
        return cls(found["calibration"]["curve"], found["target"])

    def _draw(self, ax: Any) -> None:
        ((panel,),) = self._take_panels(ax, (4.4, 4.2))
        keys = ("predicted", "observed", "n", "interval")
        said, seen, sizes, ends = (np.array([one[key] for one in self.curve]) for key in keys)
        panel.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
        bars = np.abs(ends.T - seen)
        panel.errorbar(said, seen, bars, color=COLORS[0], marker="o", ms=5, capsize=2, lw=1.2)
        panel.bar(said, -0.08 * sizes / sizes.max(), width=0.02, bottom=-0.02, color="#bbbbbb")
        whose = "a class" if self.target is None else name_in_plot(self.target, LONGEST_CLASS)
        panel.set(xlim=(-0.02, 1.02), ylim=(-0.12, 1.04), aspect="equal")
        panel.set(xlabel=f"Probability of {whose}", ylabel="Share of samples that are")
