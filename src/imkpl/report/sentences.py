"""The summary of a report in words."""

from __future__ import annotations

from typing import Any


def say_summary(found: dict[str, Any]) -> list[str]:
    """What the model is, how good it is and what it left out, in a few sentences."""
    size, word = found["size"], found["size"]["feature_word"]
    n_left = size["n_features"] - size["n_features_kept"]
    n_unused = size["n_train"] - size["n_support"]
    sentences = [
        f"The model compares a new sample with {_count(size['n_support'], 'real training sample')}"
        f", mixed into {_count(size['n_prototypes'], 'prototype')} of "
        f"{_count(len(found['classes']), 'class', 'classes')}.",
        f"It reads {size['n_features_kept']} of {_count(size['n_features'], word)}.",
        *_say_accuracy(found),
        _say_abstained(found["measures"]["n_abstained"], found["samples"]["n"]),
        f"It threw away {_count(n_left, word)} and {n_unused} of "
        f"{_count(size['n_train'], 'training sample')}.",
    ]
    return sentences


def say_warnings(found: dict[str, Any]) -> list[str]:
    """What a reader should know before trusting the numbers."""
    sentences = []
    accuracy, repeats = found["accuracy"], found["repeats"]
    if accuracy is not None and accuracy["unseen_classes"]:
        names = ", ".join(str(label) for label in accuracy["unseen_classes"])
        sentences.append(
            f"Held-out samples of classes that the model was never shown ({names}) count as wrong."
        )
    if repeats is not None and repeats["n_leaked"]:
        names = ", ".join(str(label) for label in repeats["leaked"])
        more = repeats["n_leaked"] - len(repeats["leaked"])
        verb = "is" if repeats["n_leaked"] == 1 else "are"
        sentences.append(
            f"{_count(repeats['n_leaked'], 'held-out sample')} {verb} in the training part, so the "
            f"accuracy is too good: {names}{f' and {more} more' if more else ''}."
        )
    if repeats is not None and repeats["n_repeated"]:
        verb = "repeats" if repeats["n_repeated"] == 1 else "repeat"
        text = f"{_count(repeats['n_repeated'], 'training sample')} {verb} another one exactly"
        n_sets = repeats["n_conflicting"]
        clash = f"; of {_count(n_sets, 'set')} of equal samples the classes differ"
        sentences.append(f"{text}{clash if n_sets else ''}.")
    weak = [
        (prototype["prototype"], warning["text"])
        for prototype in found["prototypes"]
        for warning in prototype["warnings"]
        # Of two that are alike the first tells.
        if prototype["prototype"] < warning.get("other", len(found["prototypes"]))
    ]
    sentences += [f"Prototype {number}: {text}" for number, text in weak]
    return sentences


def _say_accuracy(found: dict[str, Any]) -> list[str]:
    accuracy = found["accuracy"]
    if accuracy is None:
        return []
    low, high = accuracy["interval"]
    return [
        f"It is right for {accuracy['n_right']} of {_count(accuracy['n'], 'sample')} that it has "
        f"not seen: {_percent(accuracy['accuracy'])} (95 % interval {_percent(low)} to "
        f"{_percent(high)})."
    ]


def _say_abstained(n_abstained: int, n: int) -> str:
    if n_abstained == 0:
        return f"None of the {_count(n, 'sample')} is unlike everything it has seen."
    verb = "is" if n_abstained == 1 else "are"
    return (
        f"{n_abstained} of the {_count(n, 'sample')} {verb} unlike anything it has seen; asked to, "
        "it would abstain there."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(number: int, word: str, plural: str | None = None) -> str:
    return f"{number} {word if number == 1 else plural or word + 's'}"
