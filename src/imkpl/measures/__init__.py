"""Measures of a prototype model: interpretability, discrimination, number of kernels."""

from imkpl.measures.discrimination import DiscriminationParts, discrimination_score
from imkpl.measures.interpretability import InterpretabilityParts, interpretability_score
from imkpl.measures.selection import n_selected_kernels

__all__ = [
    "DiscriminationParts",
    "InterpretabilityParts",
    "discrimination_score",
    "interpretability_score",
    "n_selected_kernels",
]
