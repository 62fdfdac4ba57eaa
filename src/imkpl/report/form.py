"""The form of the page, which predicts cases that are typed in.

`static/predictor.js` computes from the model's numbers what `predict_proba` and `explain` compute,
to the last few bits.
"""

from __future__ import annotations

from typing import Any

from imkpl.explanations.portable import describe_model, find_obstacle
from imkpl.report.decisions import MOST_EXPLAINED
from imkpl.report.subject import Subject, choose_rows

# Cells of the support samples, and as many of held-out samples to start from.
MOST_CELLS = 60_000


def describe_form(subject: Subject) -> dict[str, Any]:
    """What `predictor.js` reads, or why the page has no form."""
    explanation, features = subject.explanation, subject.features
    why = find_obstacle(explanation)
    n_support, n_features = len(explanation.support_ids), len(features.names)
    if why is None and n_support * n_features > MOST_CELLS:
        why = f"the {n_support} training cases behind this model would make the page too large"
    if why is not None:
        return {"why_absent": f"There is no form for cases of your own: {why}."}
    rows = choose_rows(subject, min(MOST_EXPLAINED, MOST_CELLS // n_features))
    return {
        "why_absent": None,
        **describe_model(explanation, subject.model.temperature_),
        # Held-out samples, to start from.
        "cases": [
            {"row": row, "cells": features.cells(subject.held_out.kernels, row)}
            for row in rows.tolist()
        ],
    }
