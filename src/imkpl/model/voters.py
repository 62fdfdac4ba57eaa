"""The prototype step of a decision by votes: prototypes, contrasts, strengths and sharpness."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, minimize

from imkpl._typing import BoolArray, FloatArray
from imkpl.model.objective import evaluate, same_class_product
from imkpl.model.problem import Problem, State
from imkpl.model.votes import LOG_SHARPNESS, STRENGTH_RIDGE, VOTE_WEIGHT, ValueVotes, Votes

# Steps of L-BFGS over all samples, over three times as many as may stay, and over those that stay.
STEPS = 40, 40, 60
# How many times as many samples stay in each stage; all in the first.
LARGER = (None, 3, 1)
# The search ends when a step lowers the objective by less than this part of it.
SMALLEST_DECREASE = 1e-5


def update_voters(problem: Problem, state: State) -> State:
    """New prototypes and contrasts, all at once; taken only if they lower the whole objective."""
    found = learn_voters(problem, state)
    is_lower = evaluate(problem, found).total < evaluate(problem, state).total
    return found if is_lower else state


def learn_voters(
    problem: Problem,
    state: State,
    steps: tuple[int, ...] = STEPS,
    smallest_decrease: float = SMALLEST_DECREASE,
) -> State:
    """Prototypes of samples of a class and contrasts of others, cut to few of them in stages."""
    objective = VoterObjective(problem, state, smallest_decrease)
    is_own = objective.classes[:, None] == problem.labels
    is_other = ~is_own & (problem.ridge > 0)
    if problem.is_eligible is not None:
        is_own &= problem.is_eligible
        is_other &= problem.is_eligible
    for larger, n_steps in zip(LARGER, steps, strict=True):
        if n_steps == 0:
            continue
        if larger is not None:
            prototypes = keep_largest(state.prototypes, larger * problem.sparsity)
            contrasts = keep_largest(state.contrasts, larger * problem.contrast_sparsity)
            if prototypes.nnz + contrasts.nnz == state.prototypes.nnz + state.contrasts.nnz:
                continue
            is_own, is_other = prototypes.toarray() > 0, contrasts.toarray() > 0
            state = replace(state, prototypes=prototypes, contrasts=contrasts)
        state = objective.minimize(state, is_own, is_other, n_steps)
    return state


def count_votes(problem: Problem, state: State) -> Votes:
    """The decision of a state."""
    bonuses = (state.log_strengths - state.log_strengths.min()) / state.sharpness
    classes = problem.prototype_classes(state)
    if problem.values is None:
        return Votes(classes, bonuses, state.sharpness)
    return ValueVotes(classes, bonuses, state.sharpness, state.levels)


def keep_largest(rows: sp.csr_array, n_kept: int) -> sp.csr_array:
    """The largest entries of every row; of equal ones the first."""
    kept = rows.copy()
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        order = np.argsort(-rows.data[start:stop], kind="stable")
        kept.data[start + order[n_kept:]] = 0.0
    kept.eliminate_zeros()
    return kept


# Below the squared norms of all prototypes but those that shrink to nothing.
TINY = 1e-12


class VoterObjective:
    """The objective of prototypes ``u = w / ||w||``, contrasts and strengths, with its gradient.

    The parameters are the free coefficients of w >= 0, those of the contrasts v >= 0, the
    logarithms of strength, and with contrasts the logarithm of the sharpness t, which the ridge on
    ``t^2 ||Phi (u - v)||^2`` keeps small.
    """

    def __init__(
        self, problem: Problem, state: State, smallest_decrease: float = SMALLEST_DECREASE
    ) -> None:
        self.smallest_decrease = smallest_decrease
        self.problem, self.classes = problem, problem.prototype_classes(state)
        scale = problem.scale(state.weights)
        self.kernel = state.kernel.astype(problem.dtype, copy=False)
        weighted = sp.csr_array(state.codes * problem.sample_weight[:, None])
        self.overlaps = sp.csr_array(scale * (state.codes.T @ weighted))
        near = same_class_product(state.kernel, problem.members, weighted).T
        apart = weighted.sum(axis=0)[:, None] - near
        settings = problem.settings
        self.linear = sp.csr_array(-2 * scale * weighted.T) @ state.kernel
        self.linear += scale * (settings.discrimination * apart + settings.interpretability)
        self.sharpness = state.sharpness

    def minimize(
        self, state: State, is_own: BoolArray, is_other: BoolArray, max_steps: int
    ) -> State:
        """Lower the objective over prototypes and contrasts made of candidates, and strengths."""
        # Samples that no prototype or contrast may be made of need no column.
        used = np.flatnonzero((is_own | is_other).any(axis=0))
        self.used, self.has_contrasts = used, bool(is_other.any())
        self.is_own, self.is_other = is_own[:, used], is_other[:, used]
        self.among = self.kernel if used.size == self.kernel.shape[0] else self.kernel[used]
        # Prototypes are mixes of their own class: a block of rows and columns for every class.
        self.blocks = []
        for label in np.unique(self.classes):
            rows = np.flatnonzero(self.classes == label)
            columns = np.flatnonzero(self.is_own[rows].any(axis=0))
            self.blocks.append((np.ix_(rows, columns), self.among[columns]))
        self.used_linear, self.sharpness = self.linear[:, used], state.sharpness
        parts = [
            state.prototypes.toarray()[is_own],
            state.contrasts.toarray()[is_other],
            state.log_strengths,
            np.log([state.sharpness] if self.has_contrasts else []),
            state.levels,
        ]
        self.ends = ends = np.cumsum([part.size for part in parts])
        lowest = np.where(np.arange(ends[-1]) < ends[1], 0.0, -np.inf)
        highest = np.full(lowest.size, np.inf)
        lowest[ends[2] : ends[3]], highest[ends[2] : ends[3]] = LOG_SHARPNESS
        if self.problem.values is not None:
            # An answer is never beyond all values of training.
            lowest[ends[3] :] = self.problem.values.min()
            highest[ends[3] :] = self.problem.values.max()
        # Kernels given by hand may be indefinite: mixes then have no norm, and nothing stops the
        # search. What it finds does not lower the whole objective.
        with np.errstate(over="ignore", invalid="ignore"):
            found = minimize(
                self,
                np.concatenate(parts),
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(lowest, highest),
                options={"maxiter": max_steps, "ftol": self.smallest_decrease},
            ).x
        own, other, log_strengths, log_sharpness, levels = np.split(found, ends[:-1])
        prototypes, contrasts = np.zeros(is_own.shape), np.zeros(is_other.shape)
        prototypes[is_own], contrasts[is_other] = own, other
        squares = np.einsum("is,is->i", prototypes, sp.csr_array(prototypes) @ self.kernel)
        # A prototype that has shrunk to nothing has no direction: it stays as it was.
        is_lost = squares <= TINY
        prototypes[is_lost] = state.prototypes[is_lost].toarray()
        return replace(
            state,
            prototypes=sp.csr_array(prototypes / np.sqrt(np.where(is_lost, 1.0, squares))[:, None]),
            contrasts=sp.csr_array(contrasts),
            log_strengths=log_strengths,
            sharpness=float(np.exp(log_sharpness[0])) if self.has_contrasts else state.sharpness,
            levels=levels,
        )

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient."""
        problem, n_prototypes, used = self.problem, self.classes.size, self.used
        own, other, log_strengths, log_sharpness, levels = np.split(parameters, self.ends[:-1])
        dtype = self.kernel.dtype
        prototypes = np.zeros(self.is_own.shape, dtype)
        prototypes[self.is_own] = own
        similarities = np.empty((n_prototypes, self.kernel.shape[0]), dtype)
        for block, among in self.blocks:
            similarities[block[0].ravel()] = prototypes[block] @ among
        is_whole = used.size == self.kernel.shape[0]
        near = similarities if is_whole else similarities[:, used]
        norms = np.sqrt(np.maximum(np.einsum("ij,ij->i", prototypes, near), TINY))[:, None]
        prototypes, similarities, near = prototypes / norms, similarities / norms, near / norms
        resemblances, sharpness = similarities, self.sharpness
        if self.has_contrasts:
            contrasts = np.zeros(self.is_other.shape, dtype)
            contrasts[self.is_other] = other
            resemblances = similarities - contrasts @ self.among
            sharpness = float(np.exp(log_sharpness[0]))
        logs = (sharpness * resemblances).T + log_strengths.astype(dtype, copy=False)
        loss, slopes, pulled = problem.judge(logs, self.classes, levels)
        strengths = STRENGTH_RIDGE * problem.sample_weight.sum() / n_prototypes
        loss += float(strengths * (log_strengths @ log_strengths))
        votes = (VOTE_WEIGHT * sharpness * slopes.T).astype(dtype, copy=False)
        overlapping = self.overlaps @ near
        value = float(np.sum(prototypes * (overlapping + self.used_linear)))
        if self.has_contrasts:
            pulls = votes @ self.among.T
        else:
            pulls = np.zeros(near.shape, dtype)
            for block, among in self.blocks:
                pulls[block] = votes[block[0].ravel()] @ among.T
        slope = pulls + 2 * overlapping + self.used_linear
        gradient = []
        if self.has_contrasts:
            ridge = VOTE_WEIGHT * problem.ridge * sharpness**2
            between = resemblances if is_whole else resemblances[:, used]
            squared = float(np.sum((prototypes - contrasts) * between))
            value += 0.5 * ridge * squared
            slope += ridge * between
            gradient.append(-(pulls + ridge * between)[self.is_other])
        along = np.einsum("ij,ij->i", slope, prototypes)[:, None]
        gradient.insert(0, ((slope - along * near) / norms)[self.is_own])
        gradient.append(VOTE_WEIGHT * (slopes.sum(axis=0) + 2 * strengths * log_strengths))
        if self.has_contrasts:
            gradient.append(np.array([np.sum(votes * resemblances) + ridge * squared]))
        gradient.append(VOTE_WEIGHT * pulled)
        return value + VOTE_WEIGHT * loss, np.concatenate(gradient)
