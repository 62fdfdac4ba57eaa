"""The model card: what to know before a model is used, from its file and the dict of a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from imkpl._document import Blank, Document, Heading, Table
from imkpl.report.page import format_percent as percent
from imkpl.report.summarize import HOW_DECIDED

# Rows of a table; the page and `imkpl inspect` have all of them.
MOST_ROWS = 30
ATTACKS = {
    "similarity": "by their similarity to the nearest record inside",
    "confidence": "by the probability of their true class",
}


def build_card(
    contents: dict[str, Any], wishes: list[str], page: dict[str, Any] | None
) -> Document:
    """The card of a model; `contents` as `imkpl inspect` has it, and the dict of a page if known.

    What only people know is left blank.
    """
    origin = contents["provenance"] or {}
    name = origin.get("target")
    what = f"{contents['kind']} for {name}" if name else contents["kind"]
    parts: list[Any] = [
        f"{what}, file {contents['file']}"
        + (f", fitted on {origin['date']}" if "date" in origin else "")
        + ". Lines to fill in are for what the file cannot know.",
        Heading("Purpose"),
        *(Blank(one) for one in ("Made for", "Used by", "Not to be used for", "Responsible")),
        Heading("Data"),
        *_describe_data(contents, origin),
        Heading("How it decides"),
        HOW_DECIDED[contents["decision"]],
        *_describe_features(contents, page),
        *_describe_prototypes(contents, page),
        Heading("How often it is right"),
        *_describe_figures(origin, page),
        Heading("When it should not be asked"),
        *_describe_refusals(page),
        Heading("Wishes"),
        *(wishes or ["Nobody asked for features or for records."]),
        Heading("Records inside"),
        *_describe_records(contents, origin, page),
        Heading("Limits"),
        f"It knows the classes {_list(one['class'] for one in contents['classes'])} and no others, "
        "and says what cases resemble, not what causes what. Figures hold for cases like those "
        "that they were measured on.",
        *_list_warnings(page),
        Blank("Known failures"),
        Blank("To be measured again on"),
        Heading("Settings"),
        Table(
            ("setting", "value"),
            [(key, str(value)) for key, value in contents["settings"].items() if value is not None],
        ),
    ]
    if "versions" in origin:
        parts.append(f"Versions: {_list(f'{k} {v}' for k, v in origin['versions'].items())}.")
    return Document(f"Model card: {name or contents['file']}", parts)


def _list(names: Any) -> str:
    return ", ".join(str(name) for name in names)


def _cut(rows: list[Any], noun: str) -> list[str]:
    return [f"{len(rows) - MOST_ROWS} more {noun}."] if len(rows) > MOST_ROWS else []


def _describe_data(contents: dict[str, Any], origin: dict[str, Any]) -> Iterator[Any]:
    n_train, n_features = contents["n_training_rows"], contents["n_features"]
    if "file" in origin:
        yield (
            f"Fitted to {n_train} of {origin['rows']} rows of {origin['file']} (fingerprint "
            f"{origin['fingerprint']}), target {origin['target']}, {n_features} features."
        )
    elif "released" in origin:
        yield f"Rounded means of {origin['released']} records each, {n_features} features."
    else:
        yield f"Fitted to {n_train} records; the file does not say which."
    yield Table(
        ("class", "prototypes", "means inside" if "released" in origin else "records inside"),
        [(str(one["class"]), one["prototypes"], one["records"]) for one in contents["classes"]],
    )
    yield from (Blank(one) for one in ("Collected by, when and how", "Who is missing in the data"))


def _describe_features(contents: dict[str, Any], page: dict[str, Any] | None) -> Iterator[Any]:
    features = contents["features"]
    yield Heading("Features")
    if page is not None:
        yield page["features"]["chance"]
    effects = {} if page is None else {f["name"]: f["effect"] for f in page["features"]["features"]}
    yield Table(
        ("feature", "weight", "evidence", *(["effect"] if page else [])),
        [
            (
                one["name"],
                percent(one["weight"], 1),
                percent(one["evidence"]),
                *([percent(effects.get(one["name"]), 1)] if page else []),
            )
            for one in features[:MOST_ROWS]
        ],
    )
    yield from _cut(features, "features")
    yield (
        "Evidence: how sure it is that a feature tells the classes apart better than chance."
        + (" Effect: what shuffling it costs, in accuracy." if page else "")
    )


def _describe_prototypes(contents: dict[str, Any], page: dict[str, Any] | None) -> Iterator[Any]:
    yield Heading("Prototypes")
    whole = "means" if "released" in (contents["provenance"] or {}) else "training records"
    yield (
        f"{contents['n_prototypes']} prototypes, made of {contents['n_records']} {whole}, and "
        "numbered as imkpl inspect numbers them."
    )
    if page is None:
        return
    prototypes = page["prototypes"]
    yield Table(
        ("prototype", "class", "records", "decides", "of these right"),
        [
            (
                one["prototype"],
                str(one["class"]),
                len(one["samples"]),
                one["n_main"],
                "-" if one["n_right"] is None else one["n_right"],
            )
            for one in prototypes[:MOST_ROWS]
        ],
    )
    yield from _cut(prototypes, "prototypes")


def _describe_figures(origin: dict[str, Any], page: dict[str, Any] | None) -> Iterator[Any]:
    """Accuracy with its protocol, by class and by subgroup."""
    accuracy = None if page is None else page["accuracy"]
    found = [key for key in ("folds", "held_out") if origin.get(key) is not None]
    for key in found:
        measured = origin[key]
        if key == "held_out" and accuracy is not None and accuracy["n"] == measured["rows"]:
            # The same rows, below.
            continue
        n_rows, n_distinct = measured["rows"], measured["distinct_rows"]
        shown = f"{n_rows} rows" + (f", {n_distinct} independent" if n_distinct < n_rows else "")
        where = f"held-out rows{' of ' + origin['measured_on'] if origin['measured_on'] else ''}"
        if key == "folds":
            times = f"{measured['repeats']} x " if measured["repeats"] > 1 else ""
            where = f"{times}{measured['folds']} folds of all rows, such models"
        yield (
            f"When it was fitted, in {where}: {percent(measured['accuracy'], 1)} right of {shown} "
            f"(95 % interval {_say_interval(measured['interval'])}); always saying "
            f"{measured['baseline']['class']} has {percent(measured['baseline']['accuracy'], 1)}."
        )
    if "measured" in origin:
        yield f"When it was released: {origin['measured']}"
    if page is None or accuracy is None:
        if not found and "measured" not in origin:
            yield "Not measured."
        return
    yield (
        f"On {page['title']}: {accuracy['n_right']} of {accuracy['n']} right, "
        f"{percent(accuracy['accuracy'], 1)} ({_say_interval(accuracy['interval'])}). "
        f"{page['verdict']['text']}"
    )
    yield Table(
        ("class", "cases", "right", "share", "95 % interval", "precision"),
        [
            (*_say_right(str(one["label"]), one), percent(one["precision"]))
            for one in accuracy["classes"]
        ],
    )
    for column in dict.fromkeys(one["column"] for one in page["subgroups"]):
        rows = [one for one in page["subgroups"] if one["column"] == column]
        yield Table(
            (column, "cases", "right", "share", "95 % interval", "unlike training", "no evidence"),
            [
                (*_say_right(one["value"], one), one["n_novel"], one["n_no_evidence"])
                for one in rows
            ],
        )
    if not page["subgroups"]:
        yield Blank("Not measured by subgroup (--by COLUMN); subgroups that matter")


def _say_right(name: str, one: dict[str, Any]) -> tuple[Any, ...]:
    share = one["n_right"] / one["n"] if one["n"] else None
    return name, one["n"], one["n_right"], percent(share), _say_interval(one["interval"])


def _say_interval(interval: list[float] | None) -> str:
    return "-" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"


def _describe_refusals(page: dict[str, Any] | None) -> Iterator[Any]:
    yield (
        "A case whose novelty is above a threshold is unlike the training data, and one without "
        "any value that the model reads has no evidence: such answers should not be relied on "
        "(imkpl predict --reject refuses the first, and always the second)."
    )
    if page is None:
        return
    n, doubts = page["samples"]["n"], page["measures"]["doubts"]
    words = {"clear": "clear", "close": "close calls", "novel": "unlike training"}
    shares = [
        f"{words.get(word, word)} {n_cases} ({percent(n_cases / n, 1)})"
        for word, n_cases in doubts.items()
    ]
    yield f"Of {n} cases: {_list(shares)}."


def _describe_records(
    contents: dict[str, Any], origin: dict[str, Any], page: dict[str, Any] | None
) -> Iterator[Any]:
    if "released" in origin:
        yield f"Means of {origin['released']} records each instead of records."
    else:
        names = "their names" if origin.get("reading", {}).get("id_column") else "row numbers"
        names = "pseudonyms" if origin.get("is_pseudonymised") else names if origin else "index"
        yield (
            f"{contents['n_records']} of {contents['n_training_rows']} training records are in the "
            f"file with their values of the features above, under {names}. imkpl inspect --records "
            "lists them."
        )
    if page is None or page["disclosure"] is None:
        yield "Whether other training records can be recognised was not measured here."
        return
    for name, one in page["disclosure"]["attacks"].items():
        yield (
            f"Training records are told from others {ATTACKS[name]} with an AUC of "
            f"{one['auc']:.2f} ({one['interval'][0]:.2f} to {one['interval'][1]:.2f}; 0.50 is "
            "chance)."
        )
    yield "No differential privacy is promised (docs/privacy.md)."


def _list_warnings(page: dict[str, Any] | None) -> Iterator[str]:
    """Warnings of the page, with numbers instead of names of records."""
    if page is None:
        return
    for one in page["warnings"]:
        if one["prototype"] is None:
            yield f"{one['text'].rstrip(':.')}."
    for prototype in page["prototypes"]:
        number = prototype["prototype"]
        for one in prototype["warnings"]:
            if one["kind"] != "duplicate":
                yield f"Prototype {number}: {one['text']}"
            elif number < one["other"]:
                yield f"Prototypes {number} and {one['other']} are nearly the same."
