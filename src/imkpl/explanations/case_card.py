"""The case card: one case beside the training cases that decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from imkpl._checks import list_some
from imkpl._json import Described, to_json
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.explanations.exports import to_label
from imkpl.explanations.show import (
    draw_picture,
    percent,
    show_cell,
    signed,
    write_html,
    write_text,
)
from imkpl.kernels import Kernels
from imkpl.kernels.alignment import expected_alignment, split_losses
from imkpl.series import ALIGNED

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation

# What features on a card leave unnamed of the lead, and names in a note.
UNNAMED, MOST_NAMED = 0.1, 3
# The answer is close if the runner-up has this part of its probability, if it has not half, or if
# it changes with one number by this part of its range in training.
CLOSE, UNSURE, SMALL = 1 / 3, 0.5, 0.1
# Two values are alike from this similarity on.
ALIKE = 0.5
# A case that is less similar to every prototype and contrast resembles none of them.
LEAST_SIMILARITY = 0.005
# Training cases that are as near as this are equally near; what adds less to a lead is rounding.
SAME = NEGLIGIBLE = 1e-9
# A changed case must be ahead by more than rounding.
LEAST_LEAD = 1e-6
# Training cases whose values are tried as changes, similarities computed for that at a time, and
# features and values of each of which pairs are tried.
MOST_TRIED, TRIED_AT_ONCE, MOST_PAIRED = 100, 2**18, 8
# Agreements of steps below are not told apart.
LEAST_AGREEMENT = 1e-300
# A series decides where steps tell more than this part of the mean, and this part of it around.
UNUSUAL, WIDER = 0.5, 0.25
# Channels that are named, and points of a series that are kept.
MOST_CHANNELS, MOST_POINTS = 5, 200


@dataclass(frozen=True, eq=False, repr=False)
class CaseCard(Described):
    """Why one case got its answer, beside training cases for and against it.

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
    supporting, opposing : dict
        Of the training cases in the strongest prototype of the answer, and of the runner-up, the
        one nearest to this case: its name ("case"), class, prototype, how many cases that has, the
        part of this one in it, the similarity to it and its share of the votes. "unlike" is the
        nearest case of the prototype's contrast: its name, class, how many there are, and the
        similarity to the contrast, which is subtracted; None without a contrast.
    features : list of dict
        The features that decide, with their values in the three cases and what each adds to the
        lead, largest first: as many as leave less than a tenth of the lead to others, and those of
        `change`.
    rest : list of dict
        What else adds to the lead: its "kind", its name in words, and how much. "features" are all
        others together; "bonus" is the head start that prototypes of a class have whatever the
        features; "costs" those of mistakes, and a prevalence other than that of training;
        "prototypes" what a class gains where several of its prototypes are like the case.
    change : dict or None
        The smallest change of one or two features, to values of training cases in the model, that
        changes the answer.
    notes : list of str
        What else to know.
    decision : {"votes", "share"}
        The rule that decided.
    series : dict or None
        For series, the channel that speaks most for the supporting case: the share of each step in
        that, the step of the supporting case that it is aligned with, and "from" which step "to"
        which it decides; None where it does over the whole length. "channels" has what the
        channels add to the similarity to the supporting prototype, over that to the opposing one.
    pictures : dict or None
        The case, the supporting and the opposing one, as `render` of `explain` shows them: text, or
        HTML if it begins with "<".
    value : dict or None
        For values, the "estimate", the "interval" if it is known, the mean values "low" and "high"
        of the two sides that it is between, the "middle" of these, and the "order" of classes that
        have one. The answer is then above
        the "opposing" training case and below the "supporting" one, and the lead, and what is added
        to it, are how far the estimate is above the middle, in units of the target.

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
    supporting: dict[str, Any]
    opposing: dict[str, Any]
    features: list[dict[str, Any]]
    rest: list[dict[str, Any]]
    change: dict[str, Any] | None
    notes: list[str]
    decision: str = "votes"
    series: dict[str, Any] | None = None
    pictures: dict[str, str] | None = None
    value: dict[str, Any] | None = None

    __str__ = write_text
    _repr_html_ = write_html

    def __repr__(self) -> str:
        return f"CaseCard({self.case}: {self.answer}, {self.doubt})"


def build_card(one: Explanation, comparison: Comparison) -> CaseCard:
    """The card of an explained case, of a model whose cards share a comparison."""
    evidence = one.evidence
    labels = winner, runner_up = one.compared(0)
    value, unit = one.describe_value(0)
    parts, alike = comparison.compare(evidence.samples)
    found = [_find_side(one, label, alike @ comparison.weights) for label in labels]
    strongest, places, sides = zip(*found, strict=True)
    factors = evidence.factors(0)
    said = unit * (factors[:, winner] - factors[:, runner_up]) @ evidence.split_words(0, parts)
    lead = unit * float(one.scores[0, winner] - one.scores[0, runner_up])
    cells = comparison.pick(one.cells(0))
    beside = [comparison.support_cells(place) for place in places]
    far = evidence.predictor.find_far(evidence.kernels)[0]
    outside = [comparison.place(i, cell, far) for i, cell in enumerate(cells)]
    change = comparison.find_change(one, cells, parts, alike, winner)
    adds = said[:-2] @ comparison.owners
    costs = float(one.head_starts[winner] - one.head_starts[runner_up])
    rest = _list_rest(one, lead, float(said[-2]) - costs, costs, adds, unit)
    changed = {feature["name"] for feature in change["features"]} if change else set()
    is_changed = np.isin(comparison.names, list(changed))
    toward = 1.0 if lead >= 0 else -1.0
    shown = choose_rows(toward * adds, is_changed, abs(lead), [row["for"] for row in rest])
    features = []
    for i in shown:
        near = [
            bool((cells[i] is not None and cells[i] == other[i]) or alike[place, i] >= ALIKE)
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
    if len(shown) < adds.size:
        n, others = adds.size - len(shown), float(adds.sum() - adds[shown].sum())
        rest.insert(0, {"kind": "features", "name": f"{n} other features", "for": others})
    (doubt,) = find_doubts(one, comparison)
    is_series = evidence.kernels.input_kind == "series"
    series = _describe_series(one, strongest, places) if is_series else None
    return CaseCard(
        case=str(one.sample_ids[0]),
        answer=to_label(one.classes[winner] if value is None else one.predicted[0]),
        probability=float(one.probabilities[0, winner]),
        runner_up=to_label(one.classes[runner_up]),
        runner_up_probability=float(one.probabilities[0, runner_up]),
        lead=lead,
        doubt=doubt,
        doubt_text=_describe_doubt(doubt, one, comparison, cells),
        supporting=sides[0],
        opposing=sides[1],
        features=features,
        rest=rest,
        change=change,
        notes=[
            *_write_decisive(one, features, rest, doubt),
            *_write_notes(one, comparison, cells, outside, doubt, series),
        ],
        decision=one.decision,
        series=series,
        pictures=None if one.render is None else comparison.draw(one, places),
        value=value,
    )


def choose_rows(
    adds: FloatArray, is_needed: BoolArray, lead: float, rest: Sequence[float]
) -> list[int]:
    """The fewest features, largest first, that leave less than a tenth of the lead to others."""
    order = np.argsort(-np.abs(adds), kind="stable")
    is_needed = is_needed | (np.arange(adds.size) == order[0])
    order = order[np.argsort(~is_needed[order], kind="stable")]
    named = np.cumsum(adds[order])
    left, largest = np.abs(named[-1] - named), max(np.abs([adds[order[0]], *rest]))
    is_told = (left <= UNNAMED * lead) & (left < largest) & ((named > 0) == (named[-1] > 0))
    is_told[: int(is_needed.sum()) - 1], is_told[-1] = False, True
    n_shown = int(np.argmax(is_told)) + 1
    # A row for a single other feature is that feature.
    shown: list[int] = order[: n_shown + (n_shown == adds.size - 1)].tolist()
    return sorted(shown, key=lambda i: -abs(adds[i]))


def _list_rest(
    one: Explanation, lead: float, bonus: float, costs: float, adds: FloatArray, unit: float
) -> list[dict[str, Any]]:
    """What adds to the lead of an answer besides features, in words."""
    found, labels = [], one.compared(0)
    for kind, name, add in (
        ("bonus", "head start of {}", bonus),
        ("costs", f"{one.head_start_word}, for {{}}", costs),
        ("prototypes", "several prototypes of {}", lead - bonus - costs - float(adds.sum())),
    ):
        favoured = one.classes[labels[0 if add > 0 else 1]]
        if abs(add) >= NEGLIGIBLE * unit:
            found.append({"kind": kind, "name": name.format(favoured), "for": add})
    return found


def _write_decisive(
    one: Explanation, features: list[dict[str, Any]], rest: list[dict[str, Any]], doubt: str
) -> Iterator[str]:
    """What decides where the features speak against the answer."""
    total = sum(feature["for"] for feature in features)
    names = [row["name"] for row in rest if row["for"] > 0 and row["kind"] != "features"]
    if not one.is_value and total <= 0 and names and doubt != "no evidence":
        yield (
            f"The features speak for {one.classes[one.runners_up[0]]} ({signed(total)}). What "
            f"decides: {', '.join(names)}."
        )


def _find_side(
    one: Explanation, label: int, nearness: FloatArray
) -> tuple[int, int, dict[str, Any]]:
    """The prototype that speaks for a class, its sample nearest to the case, and both in words."""
    own = np.flatnonzero(one.sides[0] == label)
    # The prototype with the largest share, or the most similar one if none has any.
    shares, similarities = one.shares.toarray()[0], one.evidence.similarities[0]
    prototype = int(own[np.argmax(shares[own] if shares[own].any() else similarities[own])])
    (place, part), *others = _sort_by_nearness(one.samples_behind(prototype), nearness)
    unlike = _sort_by_nearness(one.samples_unlike(prototype), nearness)
    resemblance = one.evidence.compared.resemblances[0, prototype]
    side = {
        "case": str(one.support_ids[place]),
        "label": to_label(one.support_classes[place]),
        "prototype": prototype,
        "n_cases": 1 + len(others),
        "part": part,
        "similarity": float(similarities[prototype]),
        "share": float(shares[prototype]),
        "unlike": {
            "case": str(one.support_ids[unlike[0][0]]),
            "label": to_label(one.support_classes[unlike[0][0]]),
            "n_cases": len(unlike),
            "similarity": float(similarities[prototype] - resemblance),
        }
        if unlike
        else None,
    }
    return prototype, place, side


def _sort_by_nearness(
    samples: list[tuple[int, float]], nearness: FloatArray
) -> list[tuple[int, float]]:
    """The samples of a mix, nearest first; of equally near ones the one with the largest part."""
    return sorted(samples, key=lambda one: -round(float(nearness[one[0]]) / SAME))


def find_doubts(explanation: Explanation, comparison: Comparison) -> Any:
    """How far to trust every answer, in a word: see `CaseCard`."""
    rows, chances = np.arange(len(explanation)), explanation.probabilities * explanation.stakes
    chances /= chances.sum(axis=1, keepdims=True)
    own, other = (chances[rows, one] for one in (explanation.winners, explanation.runners_up))
    is_close = np.zeros(rows.size, dtype=bool)
    if not explanation.is_value:
        is_close = (own < UNSURE) | (other >= CLOSE * own) | comparison.is_fragile(explanation)
    words = np.where(is_close, "close", "clear").astype(object)
    words[explanation.is_novel] = "novel"
    similarities, resemblances, _ = explanation.evidence.compared
    nearest = np.maximum(similarities, similarities - resemblances).max(axis=1)
    is_blank = [comparison.is_blank(comparison.pick(explanation.cells(i))) for i in rows.tolist()]
    is_refused = explanation.missing > explanation.max_missing
    words[(nearest < LEAST_SIMILARITY) | is_blank | is_refused] = "no evidence"
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
    if one.missing[0] > one.max_missing:
        return (
            f"No answer: {percent(float(one.missing[0]))} of the weight is missing, more than "
            f"{percent(one.max_missing)}. {one.predicted[0]} is a guess (max_missing=1 allows it)."
        )
    if word == "no evidence":
        rest = "only their bonuses decide" if one.decision == "votes" else "nothing decides"
        return f"It resembles none of the prototypes: {rest}."
    if word == "novel":
        return (
            f"Unlike the training data: novelty {one.novelty[0]:.2f}, usually at most "
            f"{one.novelty_threshold:.2f}. Do not rely on the answer."
        )
    if one.is_value:
        return "Like cases in training."
    how = "" if one.stakes.max() == 1 else ", as mistakes count"
    if word == "clear":
        return f"Clear{how}: {runner_up}, the next, has {chance}."
    if comparison.is_fragile(one)[0]:
        return f"Close{how}: a small change makes it {runner_up} ({chance})."
    return f"Close{how}: {runner_up} is possible as well ({chance})."


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
    share = float(sum(comparison.weights[i] for i, cell in enumerate(cells) if cell is None))
    if comparison.has_cells and missing and not comparison.is_blank(cells):
        yield (
            f"Missing, {len(missing)} of {len(cells)} values that the model reads: "
            f"{list_some(missing, MOST_NAMED)} ({percent(share)} of the weight)."
        )
    if one.code_disagrees[0] and doubt != "no evidence":
        most = one.classes[one.code_shares[0].argmax()]
        yield f"Rebuilt from prototypes of all classes, it takes most from those of {most}."
    if series is not None and series["channels"]:
        adds = ", ".join(f"{one['name']} {signed(one['for'])}" for one in series["channels"])
        yield f"Nearer to the supporting than to the opposing prototype, by channel: {adds}."


class Comparison:
    """What cards share: kernels that read one column are one feature, others a feature each."""

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
        mixes = self.predictor.voting
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

    def support_cells(self, place: int) -> list[Any]:
        """The value of each feature in a support sample."""
        if place not in self._support_cells:
            self._support_cells[place] = self.cells(self.kernels, place)
        return self._support_cells[place]

    def draw(self, one: Explanation, places: Sequence[int]) -> dict[str, str]:
        """The case and the training cases beside it, as the user's function shows them."""
        samples = [(self.pick(one.cells(0)), one.evidence.kernels, 0, one.sample_ids)]
        samples += [(self.support_cells(i), self.kernels, i, one.support_ids) for i in places]
        pictures = []
        for cells, kernels, row, names in samples:
            # The values by name, the sample itself, or its name if that is unknown.
            shown: Any = dict(zip(self.names, cells, strict=True))
            if not self.has_cells:
                shown = names[row] if kernels.input_kind == "similarities" else kernels.sample(row)
            pictures.append(draw_picture((one.render or str)(shown)))
        return dict(zip(("case", "supporting", "opposing"), pictures, strict=True))

    def is_blank(self, cells: list[Any]) -> bool:
        """Whether a sample has nothing that the model reads."""
        flags = zip(cells, self.is_flag, strict=True)
        return self.has_cells and all(
            cell == self.kernels.absent or (is_flag and cell) for cell, is_flag in flags
        )

    def place(self, feature: int, cell: Any, is_far: Any) -> str | None:
        """Where a value lies outside of those of the training cases."""
        words = self.vocabularies[feature]
        if words is not None:
            return None if cell is None or cell in words or len(words) < 2 else "unseen"
        if cell is None or isinstance(cell, bool | str):
            return None
        low, high = self.ranges[feature]
        where = "below" if cell < low else "above" if cell > high else None
        return f"far {where}" if where and is_far[self.columns[feature]] else where

    def compare(self, one: Any) -> tuple[FloatArray, FloatArray]:
        """Similarities of a sample to prototypes by kernel, and to support samples by feature."""
        n_prototypes = self.predictor.mixes.shape[0]
        values = self.predictor.cross(one).compare_mixes(self._sides)[0] * self.predictor.weights
        return values[:n_prototypes], (values[n_prototypes:] @ self.owners) / self.weights

    @cached_property
    def tried(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Support samples, features to try as changes, and their similarities to prototypes."""
        predictor = self.predictor
        largest = abs(predictor.voting).max(axis=0).toarray().ravel()
        rows = np.sort(np.argsort(-largest, kind="stable")[:MOST_TRIED])
        # Without votes every try is a code to find.
        most = TRIED_AT_ONCE if predictor.votes is not None else TRIED_AT_ONCE // 16
        width = max(1, most // (rows.size * predictor.mixes.shape[0]))
        features = np.argsort(-self.weights, kind="stable")[:width]
        everyone = np.arange(predictor.mixes.shape[1])
        parts = self.split(self.kernels.between(rows, everyone), features)
        return rows, features, np.ascontiguousarray(parts.transpose(0, 2, 1))

    def split(self, kernels: Kernels, features: IntArray) -> FloatArray:
        """What features add to similarities, of shape (n_samples, n_prototypes, n_features)."""
        used, predictor = np.flatnonzero(self.owners[:, features].any(axis=1)), self.predictor
        values = kernels.select(used).compare_mixes(predictor.voting)
        weights = predictor.weights[used, np.newaxis] * self.owners[np.ix_(used, features)]
        return np.asarray(values @ weights)

    def is_fragile(self, explanation: Explanation) -> BoolArray:
        """Whether a number hardly unlike that of a sample, in one feature, changes its answer."""
        found = np.zeros(len(explanation), dtype=bool)
        if not self.has_cells or not self.kernels.has_free_cells:
            return found
        rows, features, values = self.tried
        others = as_numbers([self.support_cells(row) for row in rows.tolist()])[:, features]
        limits = SMALL * (self.ranges[:, 1] - self.ranges[:, 0])[features]
        step = max(1, TRIED_AT_ONCE // (features.size * max(rows.size, values.shape[2])))
        for start in range(0, len(explanation), step):
            block = range(start, min(start + step, len(explanation)))
            part = explanation.evidence.take(np.array(block))
            cells = as_numbers([self.pick(explanation.cells(row)) for row in block])[:, features]
            gaps = np.abs(cells[:, np.newaxis] - others)
            who, place, i = np.nonzero((gaps > 0) & (gaps <= limits))
            adds = self.split(part.kernels, features)
            changed = part.compared.resemblances[who] + values[place, i] - adds[who, :, i]
            scores, own = self.predictor.score(changed), explanation.winners[start + who]
            leads = scores.max(axis=1) - scores[np.arange(who.size), own]
            found[start + who[leads > LEAST_LEAD]] = True
        return found

    def find_change(
        self, one: Explanation, cells: list[Any], parts: FloatArray, alike: FloatArray, winner: int
    ) -> dict[str, Any] | None:
        """The smallest change of one or two features that changes the answer."""
        if one.is_value or not self.has_cells or not self.kernels.has_free_cells:
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
            scores = self.predictor.score(
                one.evidence.compared.resemblances + steps[tries].sum(axis=1)
            )
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


def as_numbers(rows: list[list[Any]]) -> FloatArray:
    """Cells as numbers, NaN for those that are none."""
    usable = [[cell if is_number(cell) else np.nan for cell in row] for row in rows]
    return np.array(usable, dtype=np.float64)


def is_number(value: Any) -> bool:
    """Whether a cell is a number to compute with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _pair_efficient(which: IntArray, sizes: FloatArray, gains: FloatArray) -> IntArray:
    """Pairs of changes of different features, none of them both larger and worse than another."""
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


def _describe_series(
    one: Explanation, prototypes: Sequence[int], places: Sequence[int]
) -> dict[str, Any] | None:
    """The channel that speaks most for the first of two support samples, step by step."""
    predictor = one.evidence.predictor
    found = predictor.kernels.take(places).cross(one.evidence.samples).aligned(predictor.weights)
    if found is None:
        return None
    kernels, weights = found
    case, support = kernels.samples[0], kernels.others
    alike = kernels.compare_mixes(np.eye(2))[0]
    index = int(np.argmax((alike[0] - alike[1]) * weights))
    aligned = [expected_alignment(kernels, index, case, other) for other in support]
    # The logarithm of an alignment kernel is about a sum over steps: a step has a share as large as
    # it agrees better with the first than with the second.
    logs = [np.log(np.maximum(each.x_agreement, LEAST_AGREEMENT)) for each in aligned]
    gains = logs[0] - logs[1]
    shares = np.maximum(gains, 0.0) / (np.maximum(gains, 0.0).sum() or 1.0)
    names, adds = kernels.channel_names, _split_by_channel(one, prototypes)
    n_named = MOST_CHANNELS if adds.size > 1 else 0
    order = np.argsort(-np.abs(adds), kind="stable")[:n_named]
    # Of channels that are compared together, the one that tells the two prototypes apart best.
    read, view = kernels.each[index].channels, kernels.each[index].view
    channel, times = read[int(np.argmax(adds[list(read)]))], aligned[0].x_times
    visits, others = aligned[0].visits, aligned[0].y_times
    if view in ALIGNED:
        first, last = _find_span(gains)
        beside = visits @ others / visits.sum(axis=1)
    else:
        # All steps are summed up together.
        first, last = 0, times.size - 1
        beside = np.linspace(others[0], others[-1], times.size)
    edges = np.linspace(0, times.size, min(MOST_POINTS, times.size) + 1).astype(np.intp)[:-1]
    return {
        "case": str(one.support_ids[places[0]]),
        "channel": kernels.name_kernel(index, names[channel]),
        "channels": [{"name": names[each], "for": float(adds[each])} for each in order],
        "summary": None if view in ALIGNED else view,
        "from": int(np.floor(times[first])) if last - first + 1 < times.size else None,
        "to": int(np.ceil(times[last])) if last - first + 1 < times.size else None,
        "times": times[edges].tolist(),
        "aligned": beside[edges].tolist(),
        "shares": np.add.reduceat(shares, edges).tolist(),
        "values": to_json(case[channel]),
        "supporting": to_json(support[0][channel]),
    }


def _split_by_channel(one: Explanation, prototypes: Sequence[int]) -> FloatArray:
    """What every channel adds to resembling the first of two prototypes, over the second."""
    evidence: Any = one.evidence
    mixes = evidence.predictor.voting
    kernels, weights = evidence.kernels.aligned(evidence.predictor.weights)
    adds = np.zeros(len(kernels.channel_names))
    if adds.size < 2:
        return adds
    # A similarity is what its kernels have where all is equal, less what each channel costs.
    for sign, prototype in zip((-1, 1), prototypes, strict=True):
        mix = mixes[[prototype]]
        for index, kernel in enumerate(kernels.each):
            lost = split_losses(kernels, index, kernels.samples, kernels.others[mix.indices])
            adds[list(kernel.channels)] += sign * weights[index] * (mix.data @ lost)
    return adds


def _find_span(gains: FloatArray) -> tuple[int, int]:
    """The ends of the span with the largest sum of gains beyond half of their mean size."""
    sums = np.concatenate([[0.0], np.cumsum(gains - UNUSUAL * np.abs(gains).mean())])
    stop = int(np.argmax(sums - np.minimum.accumulate(sums)))
    start = int(np.argmin(sums[: stop + 1]))
    wider = int(np.ceil(WIDER * (stop - start)))
    return max(start - wider, 0), min(max(stop - 1, start) + wider, gains.size - 1)
