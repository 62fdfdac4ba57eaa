"""The objective, one function per term.

``F = scale * (J_rec + discrimination J_dis + interpretability J_ip) + separation J_sep + J_reg
+ VOTE_WEIGHT J_vote``

The first three terms are those of the paper on the unit-diagonal combined kernel, the last is the
cross-entropy of a decision by votes, with a ridge on what votes. ``scale`` is 1 for plain kernels,
and one over the variance of the data in the combined space for variance-scaled kernels: the terms
are then relative to what there is to reconstruct, and a nearly constant kernel does not gain from
being easy to reconstruct. With prototypes and codes fixed, each of them is linear in the kernel
weights.
"""

from dataclasses import asdict, dataclass

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.model.problem import Problem, State, row_products
from imkpl.model.separation import ridge_term
from imkpl.model.votes import VOTE_WEIGHT


@dataclass(frozen=True)
class ObjectiveParts:
    """The terms of the objective, with the weights with which they enter the sum."""

    reconstruction: float
    discrimination: float
    interpretability: float
    separation: float
    regularization: float
    votes: float = 0.0

    @property
    def total(self) -> float:
        """The objective."""
        return float(sum(asdict(self).values()))


def reconstruction_term(
    kernel: FloatArray, prototypes: sp.csr_array, codes: sp.csr_array, sample_weight: FloatArray
) -> float:
    """``J_rec = sum_i a_i ||phi(x_i) - Phi U gamma_i||^2`` (Eq. 3)."""
    to_samples = prototypes @ kernel
    gram = to_samples @ prototypes.T
    fit = row_products(codes, to_samples.T)
    size = row_products(codes, codes @ gram)
    return float(sample_weight @ (np.diagonal(kernel) - 2 * fit + size))


def discrimination_term(
    kernel: FloatArray,
    prototypes: sp.csr_array,
    codes: sp.csr_array,
    agreement: list[IntArray] | FloatArray,
    sample_weight: FloatArray,
) -> float:
    """``J_dis = 1/2 sum_i a_i sum_s (U gamma_i)_s ||...||^2`` (Eq. 5) for a unit diagonal."""
    # Half the squared distance is 1 - K_is to a sample of the same class and 1 to any other.
    near = same_class_product(kernel, agreement, prototypes.T)
    sizes = prototypes.sum(axis=1)
    return float(sample_weight @ (codes @ sizes - row_products(codes, near)))


def interpretability_term(prototypes: sp.csr_array) -> float:
    """``J_ip = ||L U||_1``, which is the sum of U because U is non-negative."""
    return float(prototypes.sum())


def evaluate(problem: Problem, state: State) -> ObjectiveParts:
    """All terms of the objective at a state."""
    prototypes, codes, kernel = state.prototypes, state.codes, state.kernel
    scale, weight, settings = problem.scale(state.weights), problem.sample_weight, problem.settings
    votes = 0.0
    if settings.has_votes:
        mixes, owners = state.mixes, problem.prototype_classes(state)
        votes = VOTE_WEIGHT * problem.vote_term(mixes, (mixes @ kernel).T, state, owners)[0]
    return ObjectiveParts(
        reconstruction=scale * reconstruction_term(kernel, prototypes, codes, weight),
        discrimination=scale
        * settings.discrimination
        * discrimination_term(kernel, prototypes, codes, problem.agreement, weight),
        interpretability=scale * settings.interpretability * interpretability_term(prototypes),
        separation=settings.separation * problem.separation_loss.value(state.weights),
        regularization=ridge_term(problem.separation_loss, state.weights),
        votes=votes,
    )


def same_class_product(
    kernel: FloatArray, agreement: list[IntArray] | FloatArray, mixes: sp.sparray
) -> FloatArray:
    """``(same * kernel) @ mixes``, where ``same`` says how far the targets of two samples agree."""
    by_rows = sp.csr_array(mixes)
    if isinstance(agreement, np.ndarray):
        return np.asarray((by_rows.T @ (agreement * kernel)).T)
    product = np.empty(by_rows.shape)
    for block in agreement:
        product[block] = (by_rows[block].T @ kernel[np.ix_(block, block)]).T
    return product
