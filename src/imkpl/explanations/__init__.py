"""Why a model decided as it did: prototypes, training samples and features behind a decision."""

from imkpl.explanations.explanation import Explanation

__all__ = ["Explanation"]
