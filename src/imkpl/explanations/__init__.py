"""Why a model decided as it did: prototypes, training samples and features behind a decision."""

from imkpl.explanations.case_card import CaseCard
from imkpl.explanations.explanation import Explanation

__all__ = ["CaseCard", "Explanation"]
