"""Samples and prototypes on a plane, before the kernels were weighed and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.plots._embedding_data import average_kernel, embed_kernel, is_training, learned_kernel
from imkpl.report.subject import Samples, Subject, choose_evenly

MOST_POINTS = 500
# Aligning all pairs of series takes longer.
MOST_SERIES = 80
FEWEST_POINTS = 10


def describe_embedding(subject: Subject) -> dict[str, Any]:
    """The maps of `imkpl.plots.EmbeddingDisplay`: of all kernels averaged, and of the learned one.

    Prototypes are points of the same space, so they are embedded with the samples. The average of
    all kernels reads columns of which the model keeps nothing, so there they need the training
    part.
    """
    if subject.train is None and subject.kind == "similarities":
        return _absent(
            "Similarities among held-out samples are not known to the model. Give train=(X, y) to "
            "see the training samples."
        )
    samples, whose = subject.train, "training samples"
    if samples is None:
        samples, whose = subject.held_out, "held-out samples"
    labels = _find_labels(subject, samples)
    most = MOST_SERIES if subject.kind == "series" else MOST_POINTS
    rows = choose_evenly(labels, most)
    if rows.size < FEWEST_POINTS:
        return _absent(f"A map needs at least {FEWEST_POINTS} samples, there are {rows.size}.")
    model = subject.model
    training = samples.given if is_training(model, samples.given) else None
    maps = [_draw_map("learned", learned_kernel(model, samples.given, rows), rows.size)]
    if model.kernel_weights_.size > 1:
        kernel, _ = average_kernel(model, samples.given, rows, training)
        maps.insert(0, _draw_map("average", kernel, rows.size))
    return {
        "maps": maps,
        "labels": [labels[row] for row in rows],
        "prototype_classes": subject.explanation.prototype_classes.tolist(),
        "whose": whose,
        "n": int(rows.size),
        "n_all": len(labels),
        "n_kernels": [model.kernel_weights_.size, int(np.count_nonzero(model.kernel_weights_))],
        "why_absent": None,
    }


def _find_labels(subject: Subject, samples: Samples) -> list[Any]:
    """The classes of the samples, or what they were taken for."""
    if samples.labels is not None:
        return samples.labels
    return [subject.classes[place] for place in subject.explanation.winners]


def _draw_map(title: str, kernel: FloatArray, n_samples: int) -> dict[str, Any]:
    from threadpoolctl import threadpool_limits

    # A step of t-SNE takes a millisecond; several threads wait for each other longer than that.
    with threadpool_limits(1):
        places = embed_kernel(kernel, None, 0)
    return {
        "title": title,
        "points": places[:n_samples].tolist(),
        "prototypes": places[n_samples:].tolist() if len(places) > n_samples else None,
    }


def _absent(why: str) -> dict[str, Any]:
    return {"maps": [], "why_absent": why}
