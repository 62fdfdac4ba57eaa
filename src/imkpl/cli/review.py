"""What an expert said on a page about cases, prototypes and features: constraints for a fit."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from imkpl.cli import models
from imkpl.cli.command import echo, echo_note, echo_table
from imkpl.readers import InputError
from imkpl.readers.read import DataFile

FORMAT = "imkpl review"
SAID = ("agree", "wrong reason", "not a good example")
# What is marked so is left out: a feature of the comparison, a case of the prototypes.
LEFT_OUT = {
    ("feature", "wrong reason"): "exclude",
    ("case", "not a good example"): "not eligible",
    ("prototype", "not a good example"): "not eligible",
}
KEYS = ("about", "name", "said", "note", "when")


@dataclass(frozen=True)
class Review:
    """Remarks on a model, by name, and what they ask of the next."""

    file: str
    reviewer: str
    model: str  # fingerprint of the model that was reviewed
    remarks: tuple[dict[str, str], ...]

    def find(self, what: str) -> tuple[str, ...]:
        """The names of the features to exclude, or of the cases that are not eligible."""
        asked = [one for one in self.remarks if LEFT_OUT.get((one["about"], one["said"])) == what]
        return tuple(dict.fromkeys(one["name"] for one in asked))

    def restrict(self, data: DataFile, cases: tuple[str, ...]) -> DataFile:
        """The rows, of which some may not be shown in prototypes."""
        if not cases:
            return data
        known = np.ones(len(data), dtype=bool) if data.eligible is None else data.eligible
        return replace(data, eligible=known & ~np.isin(data.ids.astype(str), cases))

    def check(self, data: DataFile, required: tuple[str, ...]) -> None:
        """Raise where remarks name what the file does not have, or ask for what is forbidden."""
        columns = {str(name) for name in data.samples}
        known = columns | {f"{name} is missing" for name in columns}
        for what, names in (("exclude", known), ("not eligible", set(data.ids.astype(str)))):
            for name in self.find(what):
                if name not in names:
                    kind = "feature" if what == "exclude" else "case"
                    raise InputError(
                        f"{self.file} marks the {kind} {name!r}, which the data do not have, such "
                        f"as {min(names)!r}. Use the data of the model that was reviewed, with "
                        "--id if its rows had names, or take the remark out."
                    )
        for name in sorted(set(required) & set(self.find("exclude"))):
            raise InputError(
                f"--require {name}, but {self.file} calls it a wrong reason. Leave out one of the "
                "two."
            )

    def ask(
        self, build: Callable[..., Any], data: DataFile, test: DataFile, seed: int
    ) -> dict[str, Any]:
        """What is kept in the model: the remarks, and what each that is obeyed costs in folds."""
        from imkpl.report.subject import fingerprint_model

        model = fingerprint_model(models.fit_rows(build(test), data))
        if model != self.model:
            echo_note(
                f"{self.file} is about another model than these data and options give without it; "
                "its remarks are used by name."
            )
        excluded, cases = self.find("exclude"), self.find("not eligible")
        asked: list[tuple[str, tuple[str, ...], DataFile]] = [("", (), data)]
        asked += [(f"exclude {name}", (name,), data) for name in excluded]
        asked += [(f"do not show {name}", (), self.restrict(data, (name,))) for name in cases]
        if len(asked) > 2:
            asked.append(("all of them", excluded, self.restrict(data, cases)))
        try:
            found = [_try_in_folds(build, names, rows, seed) for _, names, rows in asked]
        except ValueError as error:
            # A fold may have one row of a class, or none that may be shown.
            echo_note(f"The cost of the review is not measured in folds: {error}")
            found = []
        lost = [found[0] - right for right in found]
        costs = [
            {"asked": text, "cost": one.mean(), "error": one.std() / np.sqrt(one.size)}
            for (text, *_), one in zip(asked, lost, strict=False)
        ]
        return {
            "file": self.file,
            "reviewer": self.reviewer,
            "is_of_this_model": model == self.model,
            "remarks": list(self.remarks),
            "usual": found[0].mean() if found else None,
            "costs": costs[1:],
        }


def _try_in_folds(
    build: Callable[..., Any], excluded: tuple[str, ...], data: DataFile, seed: int
) -> Any:
    """Which rows are right in folds without some features."""
    right = np.zeros(len(data))
    for train, test in models.split_folds(data, seed):
        left_out = data.take(test)
        model = models.fit_rows(build(left_out, excluded), data.take(train))
        right[test] = model.predict(left_out.samples) == left_out.y
    return right


def read_review(path: Path) -> Review:
    """A review that a page wrote."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        is_review = found["format"] == FORMAT
        remarks = [{key: str(one.get(key, "")) for key in KEYS} for one in found["remarks"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        is_review = False
    if not is_review:
        raise InputError(
            f"{path.name} is not a review, expected the review.json that a page downloads. Open "
            "the page of a model, and choose Review there."
        )
    said: dict[tuple[str, str], str] = {}
    for one in remarks:
        kind = "feature" if one["about"] == "feature" else "case"
        if one["about"] not in ("feature", "case", "prototype") or one["said"] not in SAID:
            raise InputError(
                f"{path.name} says {one['said']!r} about the {one['about']} {one['name']!r}, "
                f"expected {', '.join(SAID)} about a feature, case or prototype. Correct it."
            )
        known = said.setdefault((kind, one["name"]), one["said"])
        if "agree" in (known, one["said"]) and known != one["said"]:
            raise InputError(
                f"{path.name} contradicts itself: {one['name']!r} is marked {known!r} and "
                f"{one['said']!r}. Keep one of the two."
            )
    model = found.get("model") or {}
    name = str(found.get("reviewer") or "")
    return Review(path.name, name, str(model.get("fingerprint", "")), tuple(remarks))


def echo_review(found: dict[str, Any] | None) -> None:
    """Print what a review said, and what it costs; nothing if there was none."""
    if found is None:
        return
    who = f" by {found['reviewer']}" if found["reviewer"] else ""
    echo("", f"Review {found['file']}{who}:")
    rows = [[one[key] for key in ("about", "name", "said", "note")] for one in found["remarks"]]
    echo_table(("about", "name", "said", "note"), rows)
    if found["usual"] is not None:
        echo(f"Obeyed. What it costs in folds ({found['usual']:.1%} right without the review):")
    for one in found["costs"]:
        points, error = 100 * one["cost"] + 0.0, 100 * one["error"]
        echo(f"  {one['asked']}: {points:.1f} points (standard error {error:.1f})")
