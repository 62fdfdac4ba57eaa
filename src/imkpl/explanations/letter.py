"""A case card in plain words, on one page, for the person whom it is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from imkpl._checks import shorten
from imkpl._document import Blank, Document, Heading, Strong, Table
from imkpl.explanations.show import percent, show_cell

if TYPE_CHECKING:
    from imkpl.explanations.card import CaseCard

# A reason is strong or slight, as a part of the strongest one.
STRONG, SLIGHT = 0.5, 0.15
# One page has room for so many reasons and notes, and for names and notes of this length.
MOST_REASONS, MOST_NOTES, LONGEST_NAME, LONGEST_NOTE = 6, 2, 28, 120
# A note for experts.
CODE_NOTE = "The code disagrees"
SURE = {
    "clear": "The program is fairly sure",
    "close": "The program is not sure; this is a close call",
    "novel": (
        "The case is unlike those that the program has learned from, so its answer should not be "
        "relied on"
    ),
    "no evidence": (
        "The program found nothing to go by, because values are missing or unlike all earlier "
        "ones, and answers what it says without looking at a case"
    ),
}


def write_letter(card: CaseCard, measured: dict[str, Any] | None = None) -> Document:
    """The letter; `measured` has "accuracy" and "rows" of the model on cases that it never saw.

    It names no other person's case and shows none of their values, except those of a change.
    """
    case = _name(card.case)
    parts: list[Any] = [
        f"This page says how a computer program came to its answer in the case {case}. A person "
        "decides what follows from it.",
        Heading("What the program answered"),
        Strong(shorten(str(card.answer), LONGEST_NOTE)),
        Heading("How sure it is"),
        *_say_sure(card, measured),
    ]
    if card.doubt != "no evidence":
        parts += [
            Heading("The earlier cases it resembles"),
            *_say_alike(card),
            Heading("What spoke for the answer, and what against it"),
            _list_reasons(card),
            Heading("What would change it"),
            _say_change(card),
        ]
    return Document(
        f"About the answer in the case {case}",
        [
            *parts,
            Heading("What the program cannot know"),
            *_say_unknown(card),
            Heading("Whom to ask"),
            "If a value is wrong, or if you want a person to look at the case again, ask:",
            Blank("Name"),
            Blank("Telephone or e-mail"),
            Blank("Decided by, date"),
        ],
    )


def _name(name: Any) -> str:
    return shorten(str(name), LONGEST_NAME)


def _say_sure(card: CaseCard, measured: dict[str, Any] | None) -> Iterator[str]:
    yield (
        f"{SURE[card.doubt]}: it gives {_name(card.answer)} {percent(card.probability)} and the "
        f"next answer, {_name(card.runner_up)}, {percent(card.runner_up_probability)}."
    )
    if measured is not None:
        yield (
            f"How often such answers are right was tried on {measured['rows']} cases that the "
            f"program had not seen before: {percent(measured['accuracy'])} were right."
        )


def _say_alike(card: CaseCard) -> Iterator[str]:
    for side in (card.supporting, card.opposing):
        if side is None:
            continue
        n_cases, alike = side["n_cases"], percent(side["similarity"])
        whom = f"a group of {n_cases} earlier cases" if n_cases > 1 else "an earlier example"
        whom += f" known to be {_name(side['label'])}"
        if side is card.opposing:
            yield f"It was also compared with {whom} (similarity {alike})."
        else:
            yield (
                f"It is most like {whom}: the similarity is {alike}, where 100% means equal in all "
                "that the program looks at."
            )


def _list_reasons(card: CaseCard) -> Table:
    """What decides, with the strength and the side of each in words."""
    has_values = any(one["value"] is not None for one in card.features)
    strongest = max(abs(one["for"]) for one in card.features) or 1.0
    rows = []
    for one in card.features[:MOST_REASONS]:
        part = abs(one["for"]) / strongest
        how = "strongly " if part > STRONG else "slightly " if part < SLIGHT else ""
        near = [
            _name(label)
            for key, label in (("supporting", card.answer), ("opposing", card.runner_up))
            if one[f"near_{key}"]
        ]
        rows.append(
            [
                _name(one["name"]),
                *([_name(show_cell(one["value"]))] if has_values else []),
                f"{how}{'for' if one['for'] > 0 else 'against'} it",
                {0: "neither", 1: "".join(near), 2: "both"}[len(near)],
            ]
        )
    values = ["Here"] if has_values else []
    return Table(["What", *values, "It spoke", "Like the earlier cases of"], rows)


def _say_change(card: CaseCard) -> str:
    if card.change is None and all(one["value"] is None for one in card.features):
        return "The case is compared as a whole, so no change of a single value was looked for."
    if card.change is None:
        return "No change of one or two values was found that would change the answer."
    parts = [
        f"{_name(one['name'])} were {_name(show_cell(one['to']))} instead of "
        f"{_name(show_cell(one['from']))}"
        for one in card.change["features"]
    ]
    return (
        f"The answer would be {_name(card.change['to'])} if {' and '.join(parts)}, and all else "
        "the same. This says how the program works, not what to do: changing a value need not "
        "change what is true."
    )


def _say_unknown(card: CaseCard) -> Iterator[str]:
    yield (
        "It compares a case with earlier ones by the values that it was given, and by nothing "
        "else. Whatever is not among them it cannot take into account, and it does not know why "
        "cases are alike. It knows only the answers that occurred among the earlier cases."
    )
    notes = [note for note in card.notes if not note.startswith(CODE_NOTE)][:MOST_NOTES]
    if notes:
        yield f"About this case: {' '.join(shorten(note, LONGEST_NOTE) for note in notes)}"
