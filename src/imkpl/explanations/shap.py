"""Reasons in the form that SHAP's plots read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl.explanations.cells import read_cells

if TYPE_CHECKING:
    from imkpl.explanations.explanation import Explanation


def as_shap(explanation: Explanation) -> Any:
    """The contributions of the features as a `shap.Explanation`."""
    try:
        import shap
    except ImportError as error:
        raise ModuleNotFoundError(
            "to_shap() needs shap, which is not installed. Install it with pip install "
            "'imkpl[shap]'; to_frame('features') gives the same numbers without it."
        ) from error
    evidence = explanation.evidence
    cells = [
        read_cells(evidence.predictor, evidence.samples, row) for row in range(len(explanation))
    ]
    is_numeric = all(row is not None and all(isinstance(v, float) for v in row) for row in cells)
    return shap.Explanation(
        values=explanation.feature_contributions(),
        base_values=evidence.base_scores,
        data=np.array(cells) if is_numeric else None,
        feature_names=list(explanation.feature_names),
        output_names=[str(label) for label in explanation.classes],
    )
