"""Why a model decided as it did: prototypes, real samples and features, and how much each."""

from imkpl.explanations.explanation import Explanation

__all__ = ["Explanation"]
