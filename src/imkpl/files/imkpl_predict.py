"""Predict and explain with a model that `imkpl export` wrote; needs NumPy, but not imkpl.

Copy this one file to wherever the model goes (Python 3.10 or newer)::

    python imkpl_predict.py m.json new.csv > answers.csv
    python imkpl_predict.py m.json new.csv --id patient --json

    from imkpl_predict import Model
    (answer,) = Model.read("m.json").predict([{"age": 54, "stage": "II"}])
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

FORMAT, VERSION = "imkpl portable model", 1
BLOCK_ROWS = 256
# As on imkpl's case cards: features, when an answer is close, and when a case resembles nothing.
MOST_FEATURES, CLOSE, UNSURE, LEAST_SIMILARITY = 8, 1 / 3, 0.5, 0.005
# Features in a line of the table.
MOST_NAMED = 3


class Model:
    """A model as docs/deployment.md of imkpl describes it."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        if found.get("format") != FORMAT or found.get("version") != VERSION:
            raise ValueError(
                f"This is not an exported model of version {VERSION}. Write one with imkpl export, "
                "and take the imkpl_predict.py that comes with it."
            )
        self.found, self.prototypes = found, found["prototypes"]
        self.features, self.support = found["features"], found["support"]
        self.owners = np.array([one["class"] for one in self.prototypes])
        self.bonuses = np.array([one["bonus"] for one in self.prototypes])
        self.mixes = np.zeros((len(self.prototypes), len(self.support)))
        self.gram = np.zeros((len(self.prototypes), len(self.prototypes)))
        for j, one in enumerate(self.prototypes):
            self.mixes[j, one["samples"]] = one["parts"]
            self.gram[j, : j + 1] = self.gram[: j + 1, j] = one["gram"]

    @classmethod
    def read(cls, path: str) -> Model:
        """The model in a file."""
        with open(path, encoding="utf-8") as file:
            try:
                found = json.load(file)
            except ValueError as error:
                raise ValueError(f"{path} is not a JSON file: {error}.") from error
        return cls(found if isinstance(found, dict) else {})

    def predict(self, rows: Sequence[Mapping[str, Any]], ids: Any = None) -> list[dict[str, Any]]:
        """Answers to rows of numbers, texts and None by column, with the keys of a case card."""
        ids = range(1, len(rows) + 1) if ids is None else ids
        cells = [
            [self._read_cell(feature, row, case) for feature in self.features]
            for row, case in zip(rows, ids, strict=True)
        ]
        answers: list[dict[str, Any]] = []
        for start in range(0, len(cells), BLOCK_ROWS):
            block = cells[start : start + BLOCK_ROWS]
            parts = self._compare(block)
            similarities = parts.sum(axis=1)
            scores, voices = self._vote(similarities)
            chances = np.exp(self.found["temperature"] * (scores - scores.max(1, keepdims=True)))
            chances /= chances.sum(axis=1, keepdims=True)
            columns = zip(block, parts, similarities, scores, voices, chances, strict=True)
            answers.extend(self._explain(*one) for one in columns)
        return [{"case": str(case), **one} for case, one in zip(ids, answers, strict=True)]

    def _read_cell(self, feature: Mapping[str, Any], row: Mapping[str, Any], case: Any) -> Any:
        """A number, a category, or None where a cell is missing."""
        column, known = feature["column"], feature["categories"] or ()
        if column not in row:
            raise ValueError(
                f"Row {case} has no column {column!r}, which the model reads; found "
                f"{', '.join(map(repr, list(row)[:10])) or 'none'}. Add it, or correct the name."
            )
        cell = row[column].strip() if isinstance(row[column], str) else row[column]
        is_missing = cell != cell or (cell not in known and cell in self.found["missing_texts"])
        cell = None if is_missing else cell
        if feature["kind"] == "flag":
            return cell is None
        if cell is None and self.found["takes_missing"]:
            return None
        if feature["kind"] == "category":
            return find_category(cell, known)
        number = to_number(cell)
        if not math.isfinite(number):
            found = "missing" if cell is None else repr(cell)
            advice = ", or leave it empty if it is not known" * self.found["takes_missing"]
            raise ValueError(
                f"Column {column!r} of row {case} is {found}, expected a number such as 1.5. "
                f"Correct it{advice}."
            )
        return number

    def _compare(self, cells: list[list[Any]]) -> Any:
        """Similarities to the prototypes by features: (n_rows, n_features, n_prototypes)."""
        parts = np.zeros((len(cells), len(self.features), len(self.prototypes)))
        for kernel in self.found["kernels"]:
            place, rate, fill = kernel["feature"], kernel["rate"], kernel.get("fill")
            new, old = [row[place] for row in cells], [one["cells"][place] for one in self.support]
            if kernel["kind"] == "number":
                a, b = (np.array([fill if c is None else c for c in s], float) for s in (new, old))
                values = np.exp(-np.square((a[:, np.newaxis] - b) * rate))
            else:
                if kernel["kind"] == "missing":
                    new, old = ([cell is None for cell in side] for side in (new, old))
                codes = {cell: code for code, cell in enumerate(dict.fromkeys([*new, *old]))}
                a, b = (np.array([codes[cell] for cell in side]) for side in (new, old))
                values = (a[:, np.newaxis] == b) | (rate == 0)
            parts[:, place] += kernel["weight"] * (values @ self.mixes.T)
        return parts

    def _vote(self, similarities: Any) -> tuple[Any, Any]:
        """Class scores, and the share of every prototype in the votes for its class."""
        logs = self.found["sharpness"] * (similarities + self.bonuses)
        own = [logs[:, self.owners == label] for label in range(len(self.found["classes"]))]
        totals = np.stack([np.logaddexp.reduce(one, axis=1) for one in own], axis=1)
        leads = totals - np.sort(totals, axis=1)[:, -2:-1]
        return leads / self.found["sharpness"], np.exp(logs - totals[:, self.owners])

    def _explain(
        self,
        cells: list[Any],
        parts: Any,
        similarities: Any,
        scores: Any,
        voices: Any,
        chances: Any,
    ) -> dict[str, Any]:
        winner, places = int(np.argmax(scores)), np.arange(chances.size)
        runner_up = int(np.argmax(np.where(places == winner, -1, chances)))
        sides = [
            self._find_speaker(label, similarities, voices, chances)
            for label in (winner, runner_up)
        ]
        (supporting, near), (opposing, far) = sides
        # What every feature adds to the lead.
        signs = 1.0 * (self.owners == winner) - (self.owners == runner_up)
        adds = parts @ (signs * voices)
        features = [
            {
                "name": self.features[i]["name"],
                "value": cells[i],
                "supporting": near[i],
                "opposing": far[i],
                "for": float(adds[i]),
                "outside": find_outside(self.features[i], cells[i]),
            }
            for i in np.argsort(-np.abs(adds), kind="stable")[:MOST_FEATURES].tolist()
        ]
        lead, novelty = float(scores[winner] - scores[runner_up]), self._find_novelty(similarities)
        is_novel, classes = novelty > self.found["novelty_threshold"], self.found["classes"]
        is_close = chances[winner] < UNSURE or chances[runner_up] >= CLOSE * chances[winner]
        gaps = [
            c is None or (c and f["kind"] == "flag")
            for c, f in zip(cells, self.features, strict=True)
        ]
        is_blank = all(gaps) or similarities.max() < LEAST_SIMILARITY
        doubts = {"no evidence": is_blank, "novel": is_novel, "close": is_close, "clear": True}
        return {
            "answer": classes[winner],
            "probability": float(chances[winner]),
            "runner_up": classes[runner_up],
            "runner_up_probability": float(chances[runner_up]),
            "probabilities": dict(zip(map(str, classes), chances.tolist(), strict=True)),
            "lead": lead,
            "doubt": next(word for word, holds in doubts.items() if holds),
            "novelty": novelty,
            "supporting": supporting,
            "opposing": opposing,
            "features": features,
            "rest": lead - sum(one["for"] for one in features),
        }

    def _find_speaker(
        self, label: int, similarities: Any, voices: Any, chances: Any
    ) -> tuple[dict[str, Any], list[Any]]:
        """The prototype that says most for a class, and the cells of the case at its heart."""
        own, shares = np.flatnonzero(self.owners == label), voices * chances[label]
        j = int(own[np.argmax(shares[own] if shares[own].any() else similarities[own])])
        prototype = self.prototypes[j]
        heart = self.support[prototype["samples"][int(np.argmax(prototype["parts"]))]]
        speaker = {
            "case": heart["case"],
            "label": heart["label"],
            "prototype": j,
            "n_cases": len(prototype["samples"]),
            "similarity": float(similarities[j]),
            "share": float(shares[j]),
        }
        return speaker, heart["cells"]

    def _find_novelty(self, similarities: Any) -> float:
        """The part of a case that a short mix of prototypes leaves unexplained."""
        price, sparsity = (
            self.found["entrance"] * max(similarities.max(), 0.0),
            self.found["sparsity"],
        )
        chosen = np.flatnonzero(pursue(self.gram, similarities - price, sparsity))
        code = pursue(self.gram[np.ix_(chosen, chosen)], similarities[chosen], sparsity)
        explained = code @ (2 * similarities[chosen] - self.gram[np.ix_(chosen, chosen)] @ code)
        return max(0.0, 1.0 - float(explained))


def pursue(gram: Any, linear: Any, sparsity: int) -> Any:
    """Greedy non-negative least squares: the steepest enters, who would turn negative leaves."""
    code, active, skipped = np.zeros(linear.size), list[int](), set[int]()
    limit = 1e-12 * np.abs(linear).max(initial=0.0)
    for _ in range(11 * linear.size + 20):
        slopes = linear - gram @ code
        slopes[[*active, *skipped]] = -np.inf
        if len(active) == sparsity or not slopes.max(initial=0.0) > limit:
            break
        j = int(np.argmax(slopes))
        cross = gram[active, j]
        explained = cross @ np.linalg.solve(gram[np.ix_(active, active)], cross) if active else 0.0
        if gram[j, j] - explained <= 100 * np.finfo(float).eps * gram[j, j]:
            # It depends linearly on the active ones.
            skipped.add(j)
            continue
        entered = [*active, j]
        active = list(entered)
        while True:
            now, goal = code[active], np.linalg.solve(gram[np.ix_(active, active)], linear[active])
            steps = np.where(goal > 0, np.inf, now / np.maximum(now - goal, 1e-300))
            if not np.isfinite(steps).any():
                break
            first = int(np.argmin(steps))
            code[active] = np.maximum(now + steps[first] * (goal - now), 0.0)
            code[active.pop(first)] = 0.0
        code[active] = goal
        if active != entered:
            skipped = set() if j in active else {*skipped, j}
    return code


def to_number(cell: Any) -> float:
    """A cell as a number; NaN if it is none."""
    try:
        return math.nan if cell is None or isinstance(cell, bool) else float(cell)
    except ValueError:
        return math.nan


def find_category(cell: Any, known: Sequence[Any]) -> Any:
    """The category that a cell stands for, or the cell if it was not seen in training."""
    if isinstance(cell, str) and cell not in known:
        for category in known:
            if isinstance(category, str | bool):
                if str(category) in ("True", "False") and str(category).lower() == cell.lower():
                    return category
            elif to_number(cell) == category:
                return category
    return cell


def find_outside(feature: Mapping[str, Any], cell: Any) -> str | None:
    """Where a cell lies outside of the cells in training."""
    known, (low, high) = feature["categories"], feature["range"]
    if cell is None or feature["kind"] == "flag":
        return None
    if known is not None:
        return None if cell in known or len(known) + feature["knows_missing"] < 2 else "unseen"
    return None if low is None or low <= cell <= high else "below" if cell < low else "above"


def show(cell: Any) -> str:
    """A cell in a sentence."""
    if cell is None or isinstance(cell, bool):
        return "missing" if cell is None else "yes" if cell else "no"
    return cell if isinstance(cell, str) else f"{cell:.6g}"


def read_csv(path: str) -> list[dict[str, str]]:
    """The rows of a CSV file in UTF-8, by the names in its first line."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        separator = max(",;\t|", key=file.readline().count)
        file.seek(0)
        lines = csv.reader(file, delimiter=separator)
        names = [name.strip() for name in next(lines, [])]
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise ValueError(f"{path} has two columns {repeated[0]!r}. Rename one of them.")
        rows = []
        for cells in filter(None, lines):
            if len(cells) != len(names):
                raise ValueError(
                    f"Line {lines.line_num} of {path} has {len(cells)} cells, expected "
                    f"{len(names)} as in the first line. Correct it."
                )
            rows.append(dict(zip(names, cells, strict=True)))
    return rows


def write_csv(answers: list[dict[str, Any]], file: Any) -> None:
    """Answers as a table, with the features that add most to the lead."""
    writer = csv.writer(file, lineterminator="\n")
    chances = [f"probability {name}" for name in answers[0]["probabilities"]] if answers else []
    speaker = ("similar case", "similarity", "reasons")
    writer.writerow(["id", "prediction", *chances, "novelty", "doubt", *speaker])
    for one in answers:
        near, features = one["supporting"], one["features"][:MOST_NAMED]
        reasons = "; ".join(f"{f['name']} = {show(f['value'])} ({f['for']:+.3f})" for f in features)
        shown = [one["novelty"], one["doubt"], near["case"], near["similarity"], reasons]
        writer.writerow([one["case"], one["answer"], *one["probabilities"].values(), *shown])


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="a file that imkpl export wrote")
    parser.add_argument("data", help="a CSV file with names in its first line")
    parser.add_argument("--id", help="column with the names of rows; else they are numbered")
    parser.add_argument("--json", action="store_true", help="print all there is, as JSON")
    given = parser.parse_args()
    try:
        model, rows = Model.read(given.model), read_csv(given.data)
        if given.id and rows and given.id not in rows[0]:
            raise ValueError(f"{given.data} has no column {given.id!r}. Correct --id.")
        answers = model.predict(rows, [row[given.id] for row in rows] if given.id else None)
    except (OSError, ValueError, csv.Error) as error:
        sys.stderr.write(f"imkpl_predict: {error}\n")
        return 1
    if given.json:
        json.dump(answers, sys.stdout, indent=1)
    else:
        write_csv(answers, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
