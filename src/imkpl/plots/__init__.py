"""Displays of a fitted model and of its decisions, in the style of scikit-learn.

A display holds arrays. ``compute`` finds them without matplotlib, ``plot`` draws them, and
``from_estimator`` does both.
"""

from imkpl.plots.decision import DecisionDisplay
from imkpl.plots.embedding import EmbeddingDisplay
from imkpl.plots.fits import KernelWeightsDisplay, PathDisplay
from imkpl.plots.prototypes import PrototypesDisplay

__all__ = [
    "DecisionDisplay",
    "EmbeddingDisplay",
    "KernelWeightsDisplay",
    "PathDisplay",
    "PrototypesDisplay",
]
