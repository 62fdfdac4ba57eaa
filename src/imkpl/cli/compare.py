"""``imkpl compare``: two models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl.cli.answering import Command
from imkpl.cli.applying import (
    as_samples,
    count_prototypes,
    kept_features,
    load_model,
    read_for_model,
)
from imkpl.cli.options import (
    DebugOption,
    IdOption,
    JsonOption,
    SeparatorOption,
    TargetOption,
    XKeyOption,
    YKeyOption,
)
from imkpl.cli.show import note, say, say_json, say_table
from imkpl.readers import InputError, ReadOptions

EXAMPLES = """
imkpl compare a.imkpl b.imkpl
imkpl compare a.imkpl b.imkpl --data new.csv --target class
imkpl compare a.imkpl b.imkpl --json
"""
SHOWN = 20
# How a fit runs says nothing about the model.
NOT_COMPARED = ("verbose", "n_jobs")


def _compare(
    first: Annotated[Path, typer.Argument(help="A model.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another.", show_default=False)],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Measure both on this file.", show_default=False),
    ] = None,
    target: TargetOption = None,
    identifier: IdOption = None,
    separator: SeparatorOption = None,
    x_key: XKeyOption = None,
    y_key: YKeyOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Compare two models: settings, features, prototypes, and accuracy on the same rows.

    Take rows that neither model was fitted to, else their accuracy says little.
    """
    if data is None and target is not None:
        raise InputError("--target names a column of a file, but there is none. Add --data FILE.")
    models = load_model(first), load_model(second)
    answer = compare_models(*models)
    answer.update(a=str(first), b=str(second), file=None if data is None else str(data))
    if data is not None:
        options = ReadOptions(target, identifier, separator, x_key, y_key)
        answer["on_data"] = _measure(models, data, options)
    if as_json:
        say_json(answer)
    else:
        _say_comparison(answer)


def compare_models(a: Any, b: Any) -> dict[str, Any]:
    """What two models have in common and what not."""
    settings = [_read_settings(model) for model in (a, b)]
    features = [dict(kept_features(model)) for model in (a, b)]
    shared = sorted(set(features[0]) & set(features[1]))
    either = set(features[0]) | set(features[1])
    overlap = sum(min(features[0][name], features[1][name]) for name in shared)
    names = sorted(set(settings[0]) | set(settings[1]))
    return {
        "command": "compare",
        "settings": {
            name: {"a": settings[0].get(name), "b": settings[1].get(name)} for name in names
        },
        "features": {
            "a": features[0],
            "b": features[1],
            "shared": shared,
            "share_in_common": len(shared) / len(either),
            "weight_in_common": overlap,
        },
        "prototypes": {"a": count_prototypes(a), "b": count_prototypes(b)},
        "novelty_threshold": {"a": float(a.novelty_threshold_), "b": float(b.novelty_threshold_)},
    }


def _read_settings(model: Any) -> dict[str, Any]:
    chosen = {"sparsity_": "sparsity", "max_kernels_": "max_kernels"}
    values = {"estimator": type(model).__name__, **model.get_params(deep=False)}
    values.update(
        {name: getattr(model, key) for key, name in chosen.items() if hasattr(model, key)}
    )
    return {
        name: value if isinstance(value, bool | int | float | str | None) else repr(value)
        for name, value in values.items()
        if name not in NOT_COMPARED
    }


def _measure(models: tuple[Any, Any], path: Path, options: ReadOptions) -> dict[str, Any]:
    found, predicted = {}, []
    for name, model in zip("ab", models, strict=True):
        rows = read_for_model(model, path, options, needs_target=True)
        for text in rows.notes:
            note(f"{name}: {text}")
        predicted.append(model.predict(as_samples(model, rows)).astype(str))
        found[name] = float(np.mean(predicted[-1] == rows.y.astype(str)))
    agreement = float(np.mean(predicted[0] == predicted[1]))
    return {"rows": len(predicted[0]), "accuracy": found, "agreement": agreement}


def _say_comparison(answer: dict[str, Any]) -> None:
    say(f"A is {answer['a']}, B is {answer['b']}.\n")
    different = [
        (name, str(pair["a"]), str(pair["b"]))
        for name, pair in answer["settings"].items()
        if pair["a"] != pair["b"]
    ]
    if different:
        say_table(("setting", "A", "B"), different)
    else:
        say("Both have the same settings.")
    say()
    prototypes = answer["prototypes"]
    classes = list(dict.fromkeys([*prototypes["a"], *prototypes["b"]]))
    rows = [
        (name, prototypes["a"].get(name, "-"), prototypes["b"].get(name, "-")) for name in classes
    ]
    say_table(("prototypes of class", "A", "B"), rows)
    say()
    features = answer["features"]
    names = sorted(
        set(features["a"]) | set(features["b"]),
        key=lambda name: -max(features["a"].get(name, 0), features["b"].get(name, 0)),
    )
    cells = [(name, *(_show(features[key].get(name)) for key in "ab")) for name in names]
    say_table(("feature", "A", "B"), cells[:SHOWN])
    if len(cells) > SHOWN:
        say(f"... and {len(cells) - SHOWN} more (see --json)")
    say(
        f"\n{len(features['shared'])} of {len(names)} features are in both; "
        f"{features['weight_in_common']:.0%} of the weight is in common."
    )
    measured = answer.get("on_data")
    if measured is not None:
        accuracy = measured["accuracy"]
        say(
            f"Accuracy on {measured['rows']} rows of {answer['file']}: A {accuracy['a']:.1%}, "
            f"B {accuracy['b']:.1%}; they agree on {measured['agreement']:.1%}."
        )


def _show(weight: float | None) -> str:
    return "-" if weight is None else f"{weight:.1%}"


compare = Command("compare", _compare, EXAMPLES)
