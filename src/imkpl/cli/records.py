"""Whose records are in a model: ``imkpl inspect``, and keys for pseudonyms of them."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from imkpl._json import to_json
from imkpl.cli.command import DebugOption, JsonOption, ModelArgument
from imkpl.cli.measure import say_accuracy, say_rows
from imkpl.cli.output import echo, echo_json, echo_note, echo_table
from imkpl.cli.use import count_prototypes, list_features, read_settings
from imkpl.readers import InputError, ReadOptions

INSPECT_EXAMPLES = """
imkpl inspect m.imkpl
imkpl inspect m.imkpl --records
imkpl inspect m.imkpl --records --json
"""
# Values of a record on a screen; --json has all of them.
MAX_VALUES = 6
# A key of fewer bytes could be guessed.
MIN_KEY = 16
LIBRARIES = ("numpy", "scipy", "scikit-learn")


def inspect(
    model: ModelArgument,
    records: Annotated[
        bool,
        typer.Option("--records", help="List every training record inside, with its values."),
    ] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say what a model file holds: its origin, settings, features, and whose records.

    Prototypes are made of training records, and the file holds these records in the features that
    the model reads. What imkpl.save wrote from Python has no date, target or accuracy.
    """
    answer = {"command": "inspect", "file": str(model), **_describe_model(model, records=records)}
    if as_json:
        echo_json(answer)
    else:
        _echo_model(answer)


def _describe_model(path: Path, *, records: bool) -> dict[str, Any]:
    from imkpl import load

    whole = load(path)
    model = getattr(whole, "estimator_", whole)
    if not hasattr(model, "_predictor"):
        raise InputError(
            f"{path.name} holds a {type(whole).__name__} that is not fitted, expected a fitted "
            "model. Fit it before saving."
        )
    n_prototypes, n_train = model.prototypes_.shape
    inside = model.prototypes_[:, model.support_].tocsc()
    prototypes = count_prototypes(model)
    answer: dict[str, Any] = {
        "kind": type(whole).__name__,
        "reads": model._samples.word,
        "provenance": getattr(model, "provenance_", None),
        "classes": [
            {
                "class": label,
                "prototypes": prototypes[str(label)],
                "records": int((model.support_classes_ == label).sum()),
            }
            for label in model.classes_
        ],
        "settings": read_settings(whole),
        "n_features": int(model.n_features_in_) if hasattr(model, "n_features_in_") else None,
        "features": list_features(model),
        "n_prototypes": n_prototypes,
        "n_training_rows": n_train,
        "n_records": int(model.support_.size),
    }
    if records:
        answer["records"] = [
            {
                "id": name,
                "class": label,
                "prototypes": inside.indices[inside.indptr[i] : inside.indptr[i + 1]],
                "values": values,
            }
            for i, (name, label, values) in enumerate(
                zip(model.support_ids_, model.support_classes_, model.support_values_, strict=True)
            )
        ]
    found: dict[str, Any] = to_json(answer)
    return found


def _echo_model(answer: dict[str, Any]) -> None:
    echo(f"{answer['file']} holds a fitted {answer['kind']} that reads {answer['reads']}.")
    origin = answer["provenance"]
    if origin is None:
        echo("Its date, data and accuracy were not stored: it was not written by imkpl fit.")
    else:
        versions = ", ".join(f"{name} {one}" for name, one in origin["versions"].items())
        echo(f"Written {origin['date']} with {versions}.")
        echo(
            f"Fitted to {answer['n_training_rows']} of {origin['rows']} rows of {origin['file']} "
            f"(fingerprint {origin['fingerprint']}), target {origin['target']!r}."
        )
        for key, where in (("folds", "In folds"), ("held_out", "On held-out rows")):
            measured = origin[key]
            if measured is not None:
                place = origin["measured_on"] if key == "held_out" else None
                where = where if place is None else f"On {place}"
                echo(f"{where}, {say_rows(measured, 'rows')}: {say_accuracy(measured)}")
        if origin["held_out"] is None and origin["folds"] is None:
            echo("Its accuracy was not measured.")
    echo()
    settings = answer["settings"].items()
    echo_table(("setting", "value"), [(name, str(value)) for name, value in settings])
    echo()
    features = [
        (f"{one['weight']:.1%}", f"{one['evidence']:.0%}", one["name"])
        for one in answer["features"]
    ]
    echo_table(("weight", "evidence", "feature"), features)
    echo()
    cells = [(str(one["class"]), one["prototypes"], one["records"]) for one in answer["classes"]]
    echo_table(("class", "prototypes", "records inside"), cells)
    n_records, n_train = answer["n_records"], answer["n_training_rows"]
    echo(
        f"\n{n_records} of {n_train} training rows are inside, with their values in the features "
        "above. Of all rows, the file holds which prototypes they resemble (codes), and the range "
        "of every feature."
    )
    if origin is not None and origin["is_pseudonymised"]:
        echo("Names are pseudonyms.")
    if "records" not in answer:
        echo("List them with --records.")
        return
    echo()
    rows = [
        (
            str(one["id"]),
            str(one["class"]),
            ", ".join(map(str, one["prototypes"])),
            _show_values(one["values"]),
        )
        for one in answer["records"]
    ]
    echo_table(("record", "class", "in prototypes", "values"), rows)


def _show_values(values: dict[str, Any]) -> str:
    shown = [
        f"{name}: {f'{len(value)} steps' if isinstance(value, list) else value}"
        for name, value in list(values.items())[:MAX_VALUES]
    ]
    more = len(values) - len(shown)
    return "; ".join([*shown, *([f"{more} more (see --json)"] if more else [])])


def choose_key(path: Path | None, options: ReadOptions, *, is_wanted: bool) -> bytes | None:
    """The key of pseudonyms, from a file or made at random; None if none are wanted."""
    if not is_wanted:
        if path is not None:
            raise InputError("--key is for pseudonyms, but none are asked for. Add --pseudonymise.")
        return None
    if options.id_column is None:
        raise InputError(
            "--pseudonymise replaces the names of rows, but rows are numbered. Name their column "
            "with --id, or leave it out."
        )
    if path is None:
        echo_note("The key of the pseudonyms is not kept: nobody can make them again.")
        return secrets.token_bytes(64)
    if not path.exists():
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
        echo_note(f"A new key was written to {path}. Keep it apart from the model.")
    return read_key(path)


def read_key(path: Path) -> bytes:
    """The key of pseudonyms in a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"The key {path} cannot be read ({error.strerror}). Pass the file that imkpl fit wrote."
        ) from error
    if len(content) < MIN_KEY:
        raise InputError(
            f"The key {path} has {len(content)} bytes, expected at least {MIN_KEY}. Name a file "
            "that does not exist, and a key is written to it."
        )
    return hashlib.blake2b(content).digest()


def find_date() -> str:
    """Today, in UTC; without the time, so that equal fits give equal files."""
    return datetime.now(UTC).date().isoformat()


def find_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that a fit depends on."""
    from imkpl import __version__

    found = {"imkpl": __version__, "python": platform.python_version()}
    return {**found, **{name: version(name) for name in LIBRARIES}}
