"""The prototype step of a decision by votes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, minimize

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.model.objective import evaluate, same_class_product
from imkpl.model.problem import Problem, State
from imkpl.model.votes import STRENGTH_RIDGE, VOTE_WEIGHT, Votes

# Steps of L-BFGS over all samples of a class, and over those that a prototype keeps.
STEPS, POLISHING_STEPS = 40, 25
# The search ends when a step lowers the objective by less than this part of it.
SMALLEST_DECREASE = 1e-3


def update_voters(problem: Problem, state: State) -> State:
    """New prototypes and strengths, all at once; taken only if they lower the whole objective."""
    found = learn_voters(problem, state, STEPS, POLISHING_STEPS)
    is_lower = evaluate(problem, found).total < evaluate(problem, state).total
    return found if is_lower else state


def learn_voters(problem: Problem, state: State, steps: int, polishing_steps: int) -> State:
    """New strengths, and prototypes of all samples of their class, cut to `sparsity` of them."""
    objective = VoterObjective(problem, state)
    is_own = objective.classes[:, None] == problem.labels
    if problem.is_eligible is not None:
        is_own &= problem.is_eligible
    found = objective.minimize(state, is_own, steps)
    few = keep_largest(found.prototypes, problem.sparsity)
    if few.nnz == found.prototypes.nnz:
        return found
    found = replace(found, prototypes=few)
    return objective.minimize(found, few.toarray() > 0, polishing_steps)


def count_votes(problem: Problem, state: State) -> Votes:
    """The decision of a state."""
    bonuses = (state.log_strengths - state.log_strengths.min()) / problem.sharpness
    return Votes(problem.prototype_classes(state), bonuses, problem.sharpness)


def keep_largest(rows: sp.csr_array, n_kept: int) -> sp.csr_array:
    """The largest entries of every row; of equal ones the first."""
    kept = rows.copy()
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        order = np.argsort(-rows.data[start:stop], kind="stable")
        kept.data[start + order[n_kept:]] = 0.0
    kept.eliminate_zeros()
    return kept


@dataclass(frozen=True, eq=False)
class Block:
    """The prototypes of one class, and the samples that they may be made of."""

    rows: slice  # the prototypes
    columns: IntArray  # the samples
    is_free: BoolArray  # (n_rows, n_columns) which coefficients are learned
    kernel: FloatArray  # (n_columns, n_samples) kernel values of the samples
    linear: FloatArray  # (n_rows, n_columns) J_dis and J_ip of a unit of each coefficient


# Below the squared norms of all prototypes but those that shrink to nothing.
TINY = 1e-12


class VoterObjective:
    """The objective of prototypes ``u = v / ||v||``, v >= 0, and strengths, with its gradient."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem, self.classes = problem, problem.prototype_classes(state)
        scale, self.kernel = problem.scale(state.weights), state.kernel
        weighted = sp.csr_array(state.codes * problem.sample_weight[:, None])
        self.pull = -2 * scale * weighted.T.toarray()
        self.overlaps = sp.csr_array(scale * (state.codes.T @ weighted))
        near = same_class_product(state.kernel, problem.members, weighted).T
        apart = weighted.sum(axis=0)[:, None] - near
        settings = problem.settings
        self.linear = scale * (settings.discrimination * apart + settings.interpretability)
        self.blocks: list[Block] = []

    def minimize(self, state: State, candidates: BoolArray, max_steps: int) -> State:
        """Lower the objective over prototypes made of candidates, and their strengths."""
        ends = np.append(np.flatnonzero(np.diff(self.classes, prepend=-1)), self.classes.size)
        self.blocks = []
        for rows in (slice(*pair) for pair in itertools.pairwise(ends.tolist())):
            columns = np.flatnonzero(candidates[rows].any(axis=0))
            is_free, linear = candidates[rows, columns], self.linear[rows, columns]
            self.blocks.append(Block(rows, columns, is_free, self.kernel[columns], linear))
        n_strengths = state.log_strengths.size
        start = np.concatenate([state.prototypes.toarray()[candidates], state.log_strengths])
        lowest = np.where(np.arange(start.size) < start.size - n_strengths, 0.0, -np.inf)
        # Kernels given by hand may be indefinite: mixes then have no norm, and nothing stops the
        # search. What it finds does not lower the whole objective.
        with np.errstate(over="ignore", invalid="ignore"):
            found = minimize(
                self,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(lowest, np.inf),
                options={"maxiter": max_steps, "ftol": SMALLEST_DECREASE},
            ).x
        prototypes = np.zeros(candidates.shape)
        prototypes[candidates] = found[:-n_strengths]
        squares = np.einsum("is,is->i", prototypes, sp.csr_array(prototypes) @ self.kernel)
        # A prototype that has shrunk to nothing has no direction: it stays as it was.
        is_lost = squares <= TINY
        prototypes[is_lost] = state.prototypes[is_lost].toarray()
        rows = sp.csr_array(prototypes / np.sqrt(np.where(is_lost, 1.0, squares))[:, None])
        return replace(state, prototypes=rows, log_strengths=found[-n_strengths:])

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient."""
        problem, n_prototypes = self.problem, self.classes.size
        log_strengths = parameters[-n_prototypes:]
        similarities = np.empty(self.pull.shape)
        mixes, norms, start = [], [], 0
        for block in self.blocks:
            mix = np.zeros(block.is_free.shape)
            stop = start + int(np.count_nonzero(block.is_free))
            mix[block.is_free] = parameters[start:stop]
            image = mix @ block.kernel
            squares = np.einsum("ij,ij->i", mix, image[:, block.columns])
            norm = np.sqrt(np.maximum(squares, TINY))[:, None]
            similarities[block.rows] = image / norm
            mixes.append(mix / norm)
            norms.append(norm)
            start = stop
        loss, slopes = problem.vote_term(similarities.T, log_strengths, self.classes)
        overlapping = self.overlaps @ similarities
        value = VOTE_WEIGHT * loss + float(np.sum(self.pull * similarities))
        pull = self.pull + VOTE_WEIGHT * problem.sharpness * slopes.T
        gradient = []
        for block, mix, norm in zip(self.blocks, mixes, norms, strict=True):
            place = block.rows, block.columns
            value += float(np.sum(mix * (overlapping[place] + block.linear)))
            slope = pull[block.rows] @ block.kernel.T + 2 * overlapping[place] + block.linear
            along = np.sum(slope * mix, axis=1, keepdims=True)
            gradient.append(((slope - along * similarities[place]) / norm)[block.is_free])
        ridge = 2 * STRENGTH_RIDGE * problem.sample_weight.sum() / n_prototypes
        gradient.append(VOTE_WEIGHT * (slopes.sum(axis=0) + ridge * log_strengths))
        return value, np.concatenate(gradient)
