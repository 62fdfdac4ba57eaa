"""Displays of a fitted model in the style of scikit-learn.

A display holds arrays. ``compute`` finds them without matplotlib, ``plot`` draws them, and
``from_estimator`` does both.
"""

from imkpl.plots.displays import (
    EffectsDisplay,
    EvidenceDisplay,
    PathDisplay,
    PrototypesDisplay,
    ReliabilityDisplay,
)

__all__ = [
    "EffectsDisplay",
    "EvidenceDisplay",
    "PathDisplay",
    "PrototypesDisplay",
    "ReliabilityDisplay",
]
