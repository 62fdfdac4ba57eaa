"""Why a model decided as it did: prototypes, training samples and features behind a decision."""

from imkpl.explanations.case_card import CaseCard
from imkpl.explanations.explanation import Explanation
from imkpl.explanations.values import ValueExplanation

__all__ = ["CaseCard", "Explanation", "ValueExplanation"]
