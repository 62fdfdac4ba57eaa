"""The case card: one case beside the training cases that decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from imkpl._json import Described
from imkpl._typing import FloatArray, IntArray
from imkpl.explanations.exports import to_label
from imkpl.explanations.show import (
    draw_picture,
    percent,
    show_cell,
    signed,
    write_html,
    write_text,
)
from imkpl.explanations.time import describe_series
from imkpl.kernels import Kernels

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation

# Features on a card, and names in a note.
MOST_FEATURES, MOST_NAMED = 8, 3
# The answer is close if the runner-up has this part of its probability, or if it has not half.
CLOSE, UNSURE = 1 / 3, 0.5
# Two values are alike from this similarity on.
ALIKE = 0.5
# A case that is less similar to every prototype resembles none of them.
LEAST_SIMILARITY = 0.005
# A changed case must be ahead by more than rounding.
LEAST_LEAD = 1e-6
# Training cases whose values are tried as changes, similarities computed for that at a time, and
# features and values of each of which pairs are tried.
MOST_TRIED, TRIED_AT_ONCE, MOST_PAIRED = 100, 2**18, 8


@dataclass(frozen=True, eq=False, repr=False)
class CaseCard(Described):
    """Why one case got its answer, beside the nearest cases for and against it.

    Made by `Explanation.card`. Print it, show it in a notebook, or convert it with `to_dict`.

    Parameters
    ----------
    case : str
        Name of the case.
    answer, runner_up : class label
        The predicted class and the most probable other one.
    probability, runner_up_probability : float
        Their probabilities.
    lead : float
        Score of the answer minus that of the runner-up.
    doubt : {"clear", "close", "novel", "no evidence"}
        How far to trust the answer.
    doubt_text : str
        The same in a sentence.
    supporting, opposing : dict or None
        The training case with the largest part in the strongest prototype of the answer, and of
        the runner-up: its name, class, prototype, and the similarity and share of that prototype.
    features : list of dict
        The features that decide, with their values in the three cases and what each adds to the
        lead, largest first.
    rest : float
        What everything else adds: other features, bonuses and numbers of prototypes.
    change : dict or None
        The smallest change of one or two features, to values of training cases in the model, that
        changes the answer.
    notes : list of str
        What else to know.
    decision : {"votes", "share"}
        The rule that decided.
    series : dict or None
        For series, the channel that speaks most for the supporting case: the share of each step in
        that, and the step of the supporting case that it is aligned with. "channels" has what the
        channels add to the similarity to the supporting prototype, over that to the opposing one.
    pictures : dict or None
        The case, the supporting and the opposing one, as `render` of `explain` shows them: text, or
        HTML if it begins with "<".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from imkpl import IMKPL
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=3).fit(X[::2], y[::2])
    >>> card = model.explain(X[1::2]).card(60)
    >>> card.answer, card.doubt
    (2, 'clear')
    >>> print(card)  # doctest: +ELLIPSIS
    Sample 121 is 2 (...%), ahead of 1 (...%).
    ...
    """

    case: str
    answer: Any
    probability: float
    runner_up: Any
    runner_up_probability: float
    lead: float
    doubt: str
    doubt_text: str
    supporting: dict[str, Any] | None
    opposing: dict[str, Any] | None
    features: list[dict[str, Any]]
    rest: float
    change: dict[str, Any] | None
    notes: list[str]
    decision: str = "votes"
    series: dict[str, Any] | None = None
    pictures: dict[str, str] | None = None

    __str__ = write_text
    _repr_html_ = write_html

    def __repr__(self) -> str:
        return f"CaseCard({self.case}: {self.answer}, {self.doubt})"


def build_card(explanation: Explanation, index: int) -> CaseCard:
    """The card of one of the explained cases."""
    one = explanation[range(len(explanation))[index]]
    evidence, comparison = one.evidence, explanation.comparison
    labels = winner, runner_up = int(one.winners[0]), int(one.runners_up[0])
    strongest, places, sides = zip(*(_find_side(one, label) for label in labels), strict=True)

    parts, alike = comparison.compare(evidence.samples)
    words = parts if evidence.predictor.votes is not None else evidence.split_words(0, parts)
    factors = evidence.factors(0)
    adds = ((factors[:, winner] - factors[:, runner_up]) @ words) @ comparison.owners
    lead = float(one.scores[0, winner] - one.scores[0, runner_up])
    cells = comparison.pick(one.cells(0))
    beside = [comparison.support_cells(place) for place in places]
    outside = [comparison.place(i, cell) for i, cell in enumerate(cells)]
    features = []
    for i in np.argsort(-np.abs(adds), kind="stable")[:MOST_FEATURES].tolist():
        near = [
            place is not None
            and bool((cells[i] is not None and cells[i] == other[i]) or alike[place, i] >= ALIKE)
            for place, other in zip(places, beside, strict=True)
        ]
        features.append(
            {
                "name": comparison.names[i],
                "value": cells[i],
                "supporting": beside[0][i],
                "opposing": beside[1][i],
                "for": float(adds[i]),
                "near_supporting": near[0],
                "near_opposing": near[1],
                "evidence": float(comparison.evidence[i]),
                "outside": outside[i],
            }
        )
    (doubt,) = find_doubts(one, comparison)
    is_series = evidence.kernels.input_kind == "series"
    series = describe_series(one, strongest, places) if is_series else None
    return CaseCard(
        case=str(one.sample_ids[0]),
        answer=to_label(one.classes[winner]),
        probability=float(one.probabilities[0, winner]),
        runner_up=to_label(one.classes[runner_up]),
        runner_up_probability=float(one.probabilities[0, runner_up]),
        lead=lead,
        doubt=doubt,
        doubt_text=_describe_doubt(doubt, one, comparison, cells),
        supporting=sides[0],
        opposing=sides[1],
        features=features,
        rest=lead - sum(feature["for"] for feature in features),
        change=comparison.find_change(one, cells, parts, alike, winner),
        notes=list(_write_notes(one, comparison, cells, outside, doubt, series)),
        decision=one.decision,
        series=series,
        pictures=None if one.render is None else comparison.draw(one, places),
    )


def _find_side(one: Explanation, label: int) -> tuple[Any, Any, dict[str, Any] | None]:
    """What speaks for a class: a prototype, the support sample in it, and both for a card.

    The prototype with the largest share, or the most similar one if none has any; the sample with
    the largest part in it.
    """
    own = np.flatnonzero(one.evidence.predictor.encoder.classes == label)
    if own.size == 0:
        return None, None, None
    shares, similarities = one.shares.toarray()[0], one.evidence.similarities[0]
    prototype = int(own[np.argmax(shares[own] if shares[own].any() else similarities[own])])
    behind = one.evidence.predictor.mixes[[prototype]]
    place = int(behind.indices[np.argmax(behind.data)])
    side = {
        "case": str(one.support_ids[place]),
        "label": to_label(one.support_classes[place]),
        "prototype": prototype,
        "n_cases": behind.nnz,
        "similarity": float(similarities[prototype]),
        "share": float(shares[prototype]),
    }
    return prototype, place, side


def find_doubts(explanation: Explanation, comparison: Comparison) -> Any:
    """How far to trust every answer, in a word: see `CaseCard`."""
    rows = np.arange(len(explanation))
    own = explanation.probabilities[rows, explanation.winners]
    other = explanation.probabilities[rows, explanation.runners_up]
    words = np.where((own < UNSURE) | (other >= CLOSE * own), "close", "clear").astype(object)
    words[explanation.is_novel] = "novel"
    cells = [comparison.pick(explanation.cells(row)) for row in rows.tolist()]
    nearest = explanation.evidence.similarities.max(axis=1)
    is_blank = [comparison.is_blank(one) for one in cells]
    words[(nearest < LEAST_SIMILARITY) | is_blank] = "no evidence"
    return words


def _describe_doubt(word: str, one: Explanation, comparison: Comparison, cells: list[Any]) -> str:
    """How far to trust an answer, in a sentence."""
    runner_up = one.classes[one.runners_up[0]]
    chance = percent(float(one.probabilities[0, one.runners_up[0]]))
    if comparison.is_blank(cells):
        return (
            f"All that the model reads is {comparison.absence}: {one.predicted[0]} is what it "
            "says without any evidence."
        )
    if word == "no evidence":
        rest = "only their bonuses decide" if one.decision == "votes" else "nothing decides"
        return f"It resembles none of the prototypes: {rest}."
    if word == "novel":
        return (
            f"Unlike the training data: novelty {one.novelty[0]:.2f}, usually at most "
            f"{one.novelty_threshold:.2f}. Do not rely on the answer."
        )
    if word == "close":
        return f"Close: {runner_up} is possible as well ({chance})."
    return f"Clear: {runner_up}, the next, has {chance}."


def _write_notes(
    one: Explanation,
    comparison: Comparison,
    cells: list[Any],
    outside: list[str | None],
    doubt: str,
    series: dict[str, Any] | None,
) -> Iterator[str]:
    """Sentences about values outside of training, missing ones, the code, and channels."""
    for name, cell, where, limits in zip(
        comparison.names, cells, outside, comparison.ranges, strict=True
    ):
        if where == "unseen":
            yield f"{name} = {show_cell(cell)} did not occur in training."
        elif where is not None:
            low, high = (show_cell(float(limit)) for limit in limits)
            yield f"{name} = {show_cell(cell)} is {where} all training values ({low} to {high})."
    missing = [name for name, cell in zip(comparison.names, cells, strict=True) if cell is None]
    if comparison.has_cells and missing and not comparison.is_blank(cells):
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        yield (
            f"Missing, {len(missing)} of {len(cells)} values that the model reads: "
            f"{', '.join(missing[:MOST_NAMED])}{more}."
        )
    shares = one.code_shares[0]
    most = int(np.argmax(shares))
    if shares[one.winners[0]] < shares[most] and doubt != "no evidence":
        yield (
            f"The code disagrees: {shares[most]:.1%} of it is {one.classes[most]}, "
            f"{shares[one.winners[0]]:.1%} {one.predicted[0]}."
        )
    if series is not None and series["channels"]:
        adds = ", ".join(f"{one['name']} {signed(one['for'])}" for one in series["channels"])
        yield f"Nearer to the supporting than to the opposing prototype, by channel: {adds}."


class Comparison:
    """What the cards of a model share: features as columns, and values to change to.

    Kernels that read the same column are one feature. Kernels that read more than one value are
    a feature each, without values.
    """

    def __init__(self, explanation: Explanation) -> None:
        self.predictor, self.units = explanation.evidence.predictor, explanation.units
        self.kernels = kernels = self.predictor.kernels
        inputs, columns = kernels.input_columns, kernels.kernel_columns
        self.has_cells = kernels.cells(0) is not None
        if inputs is None or columns is None or not self.has_cells:
            columns = np.arange(self.predictor.weights.size)
        else:
            columns = np.searchsorted(inputs, columns)
        self.columns, first, group = np.unique(columns, return_index=True, return_inverse=True)
        n_features = self.columns.size
        self.first = first.tolist()  # the kernel that shows the value of the column
        self.owners = np.eye(n_features)[group]  # (n_kernels, n_features)
        # A column with several kernels is called by its own name, if that is known.
        self.names = [
            explanation.column_names[column]
            if count > 1 and explanation.column_names
            else explanation.feature_names[kernel]
            for kernel, column, count in zip(
                self.first, self.columns, np.bincount(group), strict=True
            )
        ]
        self.weights = self.predictor.weights @ self.owners
        self.evidence = (self.owners * explanation.feature_evidence[:, np.newaxis]).max(axis=0)
        ranges = self.predictor.ranges if self.has_cells else None
        if ranges is not None and self.units is not None:
            ranges = self.units.show_ranges(ranges)
        self.ranges = np.full((n_features, 2), np.nan) if ranges is None else ranges[self.columns]
        known = kernels.vocabularies() if self.has_cells else None
        self.vocabularies = [known[kernel] if known else None for kernel in self.first]
        # Features that only say whether a cell is missing.
        rules = [kernels.rule(kernel) for kernel in self.first]
        self.is_flag = [rule is not None and rule["kind"] == "missing" for rule in rules]
        # How a cell without anything is called.
        self.absence = "missing" if kernels.absent is None else "absent"
        mixes = self.predictor.mixes
        self._sides = sp.vstack([mixes, sp.eye_array(mixes.shape[1])], format="csr")
        self._support_cells: dict[int, list[Any]] = {}

    def cells(self, kernels: Kernels, row: int) -> list[Any]:
        """The value of each feature in a sample."""
        cells = kernels.cells(row)
        if cells is not None and self.units is not None:
            cells = self.units.restore(kernels.kernel_columns, cells)
        return self.pick(cells)

    def pick(self, cells: list[Any] | None) -> list[Any]:
        """The value of each feature, given what each kernel reads."""
        return [None if cells is None else cells[kernel] for kernel in self.first]

    def support_cells(self, place: int | None) -> list[Any]:
        """The value of each feature in a support sample."""
        if place is None:
            return self.pick(None)
        if place not in self._support_cells:
            self._support_cells[place] = self.cells(self.kernels, place)
        return self._support_cells[place]

    def draw(self, one: Explanation, places: Sequence[int | None]) -> dict[str, str]:
        """The case and the training cases beside it, as the user's function shows them."""
        samples = {"case": (self.pick(one.cells(0)), one.evidence.kernels, 0, one.sample_ids[0])}
        for key, place in zip(("supporting", "opposing"), places, strict=True):
            if place is not None:
                cells, name = self.support_cells(place), one.support_ids[place]
                samples[key] = cells, self.kernels, place, name
        found: dict[str, str] = {}
        render: Any = one.render
        for key, (cells, kernels, row, name) in samples.items():
            # The values by name, the sample itself, or its name if that is unknown.
            shown: Any = dict(zip(self.names, cells, strict=True))
            if not self.has_cells:
                shown = name if kernels.input_kind == "similarities" else kernels.sample(row)
            found[key] = draw_picture(render(shown))
        return found

    def is_blank(self, cells: list[Any]) -> bool:
        """Whether a sample has nothing that the model reads."""
        flags = zip(cells, self.is_flag, strict=True)
        return self.has_cells and all(
            cell == self.kernels.absent or (is_flag and cell) for cell, is_flag in flags
        )

    def place(self, feature: int, cell: Any) -> str | None:
        """Where a value lies outside of those of the training cases."""
        words = self.vocabularies[feature]
        if words is not None:
            return None if cell is None or cell in words or len(words) < 2 else "unseen"
        if cell is None or isinstance(cell, bool | str):
            return None
        low, high = self.ranges[feature]
        return "below" if cell < low else "above" if cell > high else None

    def compare(self, one: Any) -> tuple[FloatArray, FloatArray]:
        """How similar a sample is to each prototype, and to each support sample, by its values.

        The first split by kernels, (n_prototypes, n_kernels); the second is 1 for features that
        are equal, (n_support, n_features).
        """
        predictor, n_prototypes = self.predictor, self.predictor.mixes.shape[0]
        values = self.kernels.cross(one).compare_mixes(self._sides)[0]
        values = values * predictor.weights
        return values[:n_prototypes], (values[n_prototypes:] @ self.owners) / self.weights

    @cached_property
    def tried(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Support samples and features to try as changes, and the similarities that they give.

        The last of shape (n_tried, n_features_tried, n_prototypes).
        """
        predictor = self.predictor
        largest = predictor.mixes.max(axis=0).toarray().ravel()
        rows = np.sort(np.argsort(-largest, kind="stable")[:MOST_TRIED])
        # Without votes every try is a code to find.
        most = TRIED_AT_ONCE if predictor.votes is not None else TRIED_AT_ONCE // 16
        width = max(1, most // (rows.size * predictor.mixes.shape[0]))
        features = np.argsort(-self.weights, kind="stable")[:width]
        everyone = np.arange(predictor.mixes.shape[1])
        parts = self.split(self.kernels.between(rows, everyone), features)
        return rows, features, np.ascontiguousarray(parts.transpose(0, 2, 1))

    def split(self, kernels: Kernels, features: IntArray) -> FloatArray:
        """What features add to the similarities of samples, given their kernels with the support.

        Of shape (n_samples, n_prototypes, n_features).
        """
        used, predictor = np.flatnonzero(self.owners[:, features].any(axis=1)), self.predictor
        values = kernels.select(used).compare_mixes(predictor.mixes)
        weights = predictor.weights[used, np.newaxis] * self.owners[np.ix_(used, features)]
        return np.asarray(values @ weights)

    def find_change(
        self, one: Explanation, cells: list[Any], parts: FloatArray, alike: FloatArray, winner: int
    ) -> dict[str, Any] | None:
        """The smallest change of one or two features that changes the answer."""
        if not self.has_cells or not self.kernels.has_free_cells:
            return None
        rows, features, values = self.tried
        shown = [self.support_cells(row) for row in rows.tolist()]
        options = [
            (place, i)
            for place in range(rows.size)
            for i, feature in enumerate(features.tolist())
            if shown[place][feature] is not None and shown[place][feature] != cells[feature]
        ]
        if not options:
            return None
        places, which = np.array(options).T
        # How unlike the old value the new one is, and what it does to the similarities.
        sizes = 1 - alike[rows[places], features[which]]
        steps = values[places, which] - (parts @ self.owners)[:, features[which]].T
        # One change at a time; pairs only where none of these is enough.
        tries: IntArray = np.arange(len(options))[:, np.newaxis]
        while len(tries):
            scores = self.predictor.score(one.evidence.similarities + steps[tries].sum(axis=1))
            own = scores[:, winner].copy()
            scores[:, winner] = -np.inf
            gains = scores.max(axis=1) - own
            flips = np.flatnonzero(gains > LEAST_LEAD)
            if flips.size:
                best = int(flips[np.argmin(sizes[tries].sum(axis=1)[flips])])
                changed = [(features[which[i]], places[i]) for i in tries[best]]
                return {
                    "to": to_label(one.classes[np.argmax(scores[best])]),
                    "features": [
                        {"name": self.names[i], "from": cells[i], "to": shown[place][i]}
                        for i, place in changed
                    ],
                }
            if tries.shape[1] == 2:
                break
            tries = _pair_efficient(which, sizes, gains)
        return None


def _pair_efficient(which: IntArray, sizes: FloatArray, gains: FloatArray) -> IntArray:
    """Pairs of changes of different features, of those that gain most.

    No change is both larger and worse than another one.
    """
    best = {int(i): float(gains[which == i].max()) for i in np.unique(which)}
    kept: list[int] = []
    for i in sorted(best, key=lambda i: -best[i])[:MOST_PAIRED]:
        own = np.flatnonzero(which == i)
        own = own[np.argsort(sizes[own], kind="stable")]
        highest = np.maximum.accumulate(gains[own])
        own = own[np.diff(highest, prepend=-np.inf) > 0]
        even = np.linspace(0, own.size - 1, min(own.size, MOST_PAIRED)).round().astype(np.intp)
        kept.extend(own[even].tolist())
    pairs = np.array(kept, dtype=np.intp)[np.column_stack(np.triu_indices(len(kept), 1))]
    return np.asarray(pairs[which[pairs[:, 0]] != which[pairs[:, 1]]])
