"""Whose records are in a model: ``imkpl inspect``, ``forget`` and ``release``, and keys."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from imkpl._archive import write_file
from imkpl._json import to_json
from imkpl.cli.command import (
    DataArgument,
    ForceOption,
    JsonOption,
    KeyOption,
    ModelArgument,
    option,
)
from imkpl.cli.measure import describe_accuracy, drop_rare, find_units, say_accuracy, say_rows
from imkpl.cli.output import check_outputs, echo, echo_json, echo_note, echo_table, progress_bar
from imkpl.cli.use import (
    as_samples,
    count_prototypes,
    describe_wishes,
    list_features,
    load_model,
    read_settings,
)
from imkpl.readers import DataFile, InputError, ReadOptions, read_training_file
from imkpl.readers.check import find_baseline
from imkpl.readers.data_file import count

INSPECT_EXAMPLES = """
imkpl inspect m.imkpl
imkpl inspect m.imkpl --records
imkpl inspect m.imkpl --records --json
"""
FORGET_EXAMPLES = """
imkpl forget m.imkpl data.csv --id 17 --model new.imkpl
imkpl forget m.imkpl data.csv --id p17 --id p4 --key secret.key --model new.imkpl
"""
RELEASE_EXAMPLES = """
imkpl release m.imkpl data.csv --model public.imkpl
imkpl release m.imkpl data.csv --k 10 --key secret.key --model public.imkpl
"""
# Values of a record on a screen; --json has all of them.
MAX_VALUES = 6
# A key of fewer bytes could be guessed.
MIN_KEY = 16


def inspect(
    model: ModelArgument,
    records: Annotated[
        bool, option("--records", "List every training record inside, with its values.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a model file holds: its origin, settings, features, and whose records.

    Prototypes are made of training records, and the file holds these records in the features that
    the model reads. What imkpl.save wrote from Python has no date, target or accuracy.
    """
    answer = {"command": "inspect", "file": str(model), **describe_model(model, records=records)}
    if as_json:
        echo_json(answer)
    else:
        _echo_model(answer)


def describe_model(path: Path, *, records: bool) -> dict[str, Any]:
    """What a model file holds."""
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
        "decision": model.decision,
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
        "wishes": describe_wishes(model),
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
    if origin is not None and "released" in origin:
        echo(
            f"It was released: its {answer['n_records']} samples are rounded means of "
            f"{origin['released']} training records each, in the features below."
        )
        echo(origin.get("measured", ""))
    elif origin is None:
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
    for text in say_wishes(answer):
        echo(text)
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
    if origin is None or "released" not in origin:
        echo(
            f"\n{n_records} of {n_train} training rows are inside, with their values in the "
            "features above. Of all rows, the file holds which prototypes they resemble (codes), "
            "and the range of every feature."
        )
    if origin is not None and origin.get("is_pseudonymised"):
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


def say_wishes(answer: dict[str, Any]) -> list[str]:
    """What was wished, and what that cost, in sentences."""
    wishes = answer["wishes"]
    parts = []
    for name, wish in wishes.items():
        if isinstance(wish, int):
            parts.append(f"{name}: {count(wish, 'row')}")
        else:
            names = [" with ".join(map(str, one)) if name == "groups" else str(one) for one in wish]
            parts.append(f"{name}: {', '.join(names)}")
    cost = (answer["provenance"] or {}).get("cost_of_wishes")
    return [f"Wishes: {'; '.join(parts)}."] * bool(parts) + ([cost["text"]] if cost else [])


def _show_values(values: dict[str, Any]) -> str:
    shown = [
        f"{name}: {f'{len(value)} steps' if isinstance(value, list) else value}"
        for name, value in list(values.items())[:MAX_VALUES]
    ]
    more = len(values) - len(shown)
    return "; ".join([*shown, *([f"{more} more (see --json)"] if more else [])])


def forget(
    model: ModelArgument,
    data: DataArgument,
    record: Annotated[
        list[str], option("--id", "Name or number of a record to forget; may be repeated.")
    ],
    out: Annotated[Path, option("--model", "Write the new model here.")],
    key: KeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the model that a fit without some records would have given, and say what changed.

    The data file is the one that the model was fitted to. Rows that were held out stay held out,
    and the accuracy is measured on them again. Remove the records from the data file as well, and
    delete the old model and its pages.
    """
    check_outputs([out], [model, data, key], force=force)
    old = load_model(model)
    origin = _read_origin(old, model, key)
    secret = None if key is None else read_key(key)
    whole = read_again(data, origin, secret)
    from imkpl.estimators._forget import find_named

    is_gone = find_named(whole.ids, record)
    if secret is not None:
        whole = whole.pseudonymise(secret)
    is_test = np.isin(np.arange(len(whole)), origin["held_out_rows"])
    gone, rest = np.flatnonzero(is_gone), whole.take(np.flatnonzero(~is_gone))
    new, found = _forget_rows(old, whole.take(np.flatnonzero(~is_test)), is_gone[~is_test])
    places = np.flatnonzero(is_test[~is_gone])
    held_out = rest.take(places) if places.size else None
    new.provenance_ = to_json(
        {
            **origin,
            **find_origin(),
            "fingerprint": rest.fingerprint(secret or b""),
            "rows": len(rest),
            "held_out_rows": places,
            "held_out": None
            if held_out is None
            else _measure(new, held_out, rest.y[~is_test[~is_gone]]),
            # The folds had the records, and another file is not at hand.
            "folds": None,
            "cost_of_wishes": None,
            "measured_on": None,
        }
    )
    from imkpl.files.store import model_bytes

    write_file(out, model_bytes(new))
    answer = {
        "command": "forget",
        "model": str(out),
        "file": str(data),
        "forgotten": whole.ids[gone],
        "n_held_out": int(np.sum(is_gone & is_test)),
        "held_out": new.provenance_["held_out"],
        "training": None if found is None else found.to_dict(),
    }
    if as_json:
        echo_json(answer)
        return
    if answer["n_held_out"]:
        echo(f"{count(answer['n_held_out'], 'record')} to forget was held out, never learned from.")
    echo(str(found) if found is not None else "The model is the same without it, to the last bit.")
    if held_out is not None:
        measured = answer["held_out"]
        echo(f"On {say_rows(measured, 'held-out rows')}: {say_accuracy(measured)}")
    echo(f"\nModel written to {out}. Delete the old model and its pages, and the rows of {data}.")


def release(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[Path, option("--model", "Write the new model here.")],
    k: Annotated[int, option("--k", "Records in a mean.", min=1)] = 5,
    key: KeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a model with means of several records in the place of records, and measure its cost.

    The data file is the one that the model was fitted to. Accuracy, and whether training records
    can be told from others, are measured in five folds, before and after. This is no differential
    privacy. Only models of tables of numbers can be released.
    """
    check_outputs([out], [model, data, key], force=force)
    old = load_model(model)
    origin = _read_origin(old, model, key)
    whole = read_again(data, origin, None if key is None else read_key(key))
    train = whole.take(np.setdiff1d(np.arange(len(whole)), origin["held_out_rows"]))
    from imkpl import release, save

    with progress_bar("measuring"):
        found = release(old, train.samples, train.y, k=k)
    found.model.provenance_["measured"] = str(found)
    save(found.model, out)
    if as_json:
        echo_json({"command": "release", "model": str(out), "file": str(data), **found.to_dict()})
    else:
        echo(f"{found}\n\nModel written to {out}.")


def _read_origin(model: Any, path: Path, key: Path | None) -> dict[str, Any]:
    """What a file says about the data of its model."""
    origin: dict[str, Any] | None = getattr(model, "provenance_", None)
    if origin is None or "released" in origin:
        raise InputError(
            f"{path.name} does not say what it was fitted to, because imkpl fit did not write it. "
            "Use imkpl.forget or imkpl.release from Python."
        )
    if origin["is_pseudonymised"] != (key is not None):
        raise InputError(
            f"The names in {path.name} are pseudonyms, which need their key. Add --key FILE, or "
            "fit again if it was not kept."
            if key is None
            else f"The names in {path.name} are no pseudonyms. Leave out --key."
        )
    return origin


def read_again(
    path: Path, origin: dict[str, Any], key: bytes | None, *, by: tuple[str, ...] = ()
) -> DataFile:
    """The rows that a model was fitted to and measured on."""
    given: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in origin["reading"].items()}
    whole = read_training_file(path, replace(ReadOptions(**given), by=by))
    if origin["drops_rare"]:
        whole, _ = drop_rare(whole)
    if whole.fingerprint(key or b"") != origin["fingerprint"]:
        raise InputError(
            f"{path.name} has other rows, columns or values than the file that the model was "
            f"fitted to ({origin['rows']} rows), or --key is another key. Pass that file, without "
            "records that were forgotten before."
        )
    return whole


def _measure(model: Any, data: DataFile, trained: Any) -> dict[str, Any]:
    right = model.predict(as_samples(model, data)) == data.y
    return describe_accuracy(right, data.y, find_units(data), find_baseline(trained)[0])


def _forget_rows(model: Any, train: DataFile, is_gone: Any) -> tuple[Any, Any]:
    """The model without some training rows, and what that changed; None if there are none."""
    from imkpl import forget

    if not is_gone.any():
        return model, None
    # Series have numbers instead of names.
    names = np.flatnonzero(is_gone) if train.is_series else train.ids[is_gone]
    with progress_bar("fitting"):
        found = forget(model, train.samples, train.y, names.tolist())
    found.model.support_ids_ = train.ids[~is_gone][found.model.support_]
    return found.model, replace(found, ids=train.ids[is_gone].tolist())


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


def find_origin() -> dict[str, Any]:
    """Versions, and the date in UTC; without the time, so that equal fits give equal files."""
    from imkpl.report.subject import find_versions

    return {"date": datetime.now(UTC).date().isoformat(), "versions": find_versions()}
