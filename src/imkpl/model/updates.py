"""The three updates of Algorithm 1. Each returns a state whose objective is no higher."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.model.objective import interpretability_term, same_class_product
from imkpl.model.problem import Problem, State, agree, row_products
from imkpl.model.separation import ridge_term
from imkpl.model.votes import VOTE_WEIGHT
from imkpl.solvers.nqp import pursue, pursue_batch


def update_codes(problem: Problem, state: State) -> State:
    """New codes by one batched pursuit (Eq. 7); a sample keeps its old code if that is better."""
    prototypes, kernel = state.prototypes, state.kernel
    to_samples = prototypes @ kernel
    gram = to_samples @ prototypes.T
    apart = prototypes.sum(axis=1) - same_class_product(kernel, problem.agreement, prototypes.T)
    linear = -2 * to_samples.T + problem.settings.discrimination * apart
    found = pursue_batch(gram, linear, problem.settings.code_sparsity, scale=2.0)
    old_values = row_products(state.codes, state.codes @ gram + linear)
    codes = _choose_rows(found.value < old_values, found.x, state.codes)
    return replace(state, codes=codes)


def update_prototypes(problem: Problem, state: State) -> State:
    """New prototypes, each by a pursuit (Eq. 9); taken only if they lower the whole objective."""
    # Prototypes are scaled to unit norm and their norms move into the codes: the product stays.
    kernel, codes = state.kernel, state.codes
    weighted = sp.csr_array(codes * problem.sample_weight[:, None])
    overlaps = (codes.T @ weighted).toarray()
    # Row i: the linear part of Eq. 9 for prototype i, but for the other prototypes.
    wanted = -2 * (weighted.T @ kernel)
    near = same_class_product(kernel, problem.agreement, weighted).T
    wanted += problem.settings.discrimination * (weighted.sum(axis=0)[:, None] - near)
    images = state.prototypes @ kernel

    rows = _split_rows(state.prototypes)
    norms = np.ones(len(rows))
    eligible, among = np.arange(kernel.shape[0]), kernel
    if problem.is_eligible is not None:
        eligible = np.flatnonzero(problem.is_eligible)
        among = np.ascontiguousarray(kernel[np.ix_(eligible, eligible)])
    for i, (indices, values) in enumerate(rows):
        if overlaps[i, i] <= 0:
            continue
        sharing = np.flatnonzero(overlaps[i])
        others = overlaps[i, sharing] @ images[sharing] - overlaps[i, i] * images[i]
        linear = wanted[i] + 2 * others + problem.settings.interpretability
        places, new_values, new_value = pursue(
            among, linear[eligible], problem.sparsity, scale=2 * float(overlaps[i, i])
        )
        new_indices = eligible[places]
        image = new_values @ kernel[new_indices]
        norm = np.sqrt(new_values @ image[new_indices]) if new_indices.size else 0.0
        if norm == 0.0:
            continue
        # Scaling to unit norm changes J_ip, but not the product of prototype and codes.
        new_value += problem.settings.interpretability * new_values.sum() * (1 / norm - 1)
        old_value = overlaps[i, i] + linear[indices] @ values
        if new_value < old_value:
            rows[i] = (new_indices, new_values / norm)
            images[i], norms[i] = image / norm, norm
            overlaps[:, i] *= norm
    prototypes = _join_rows(rows, kernel.shape[0])
    moved = replace(state, prototypes=prototypes, codes=sp.csr_array(codes * norms))
    return reseed_unused(problem, moved)


def reseed_unused(problem: Problem, state: State) -> State:
    """Move unused prototypes to the samples that are reconstructed worst."""
    # A single sample of unit norm has the smallest possible J_ip, 1, so the objective cannot rise.
    unused = np.flatnonzero(state.codes.sum(axis=0) == 0)
    if unused.size == 0:
        return state
    to_samples, squares = state.prototypes @ state.kernel, np.diagonal(state.kernel)
    size = row_products(state.codes, state.codes @ (to_samples @ state.prototypes.T))
    errors = squares - 2 * row_products(state.codes, to_samples.T) + size
    worst = np.argsort(-problem.sample_weight * errors, kind="stable")
    if problem.is_eligible is not None:
        worst = worst[problem.is_eligible[worst]]
    rows = _split_rows(state.prototypes)
    for i, sample in zip(unused, worst, strict=False):
        rows[i] = (np.array([sample]), 1 / np.sqrt(squares[[sample]]))
    return replace(state, prototypes=_join_rows(rows, state.kernel.shape[0]))


# Shorter steps towards the new weights are not worth computing a kernel matrix.
SHORTEST_WEIGHT_STEP = 2.0**-6


def update_weights(problem: Problem, state: State) -> State:
    """New kernel weights by a small convex problem (Eq. 10 and its regularised forms).

    All terms but three are linear in the weights. The separation loss is passed to the solver as it
    is. J_ip and J_vote depend on the weights because prototypes are scaled to unit norm; the solver
    gets their tangents, but for "lp" not that of J_ip, which Eq. 10 does not have. The step is
    shortened until the whole objective falls.
    """
    costs = kernel_costs(problem, state)
    slopes, settings = costs, problem.settings
    if settings.chooses_kernels:
        slopes = costs + interpretability_costs(problem, state)
    if settings.has_votes:
        slopes = slopes + vote_costs(problem, state)
    loss, strength = problem.separation_loss, settings.separation
    target = problem.keep_least(loss.minimize(slopes, strength, state.weights))
    if np.array_equal(target, state.weights):
        return state
    target_kernel = problem.combine(target)
    old_scale, new_scale = problem.scale(state.weights), problem.scale(target)
    sizes, contrasts = state.prototypes.sum(axis=1), state.contrasts
    old_images, new_images = (state.prototypes @ k for k in (state.kernel, target_kernel))
    old_unlike, new_unlike = (contrasts @ k for k in (state.kernel, target_kernel))
    new_norms = row_products(state.prototypes, new_images)
    classes = problem.prototype_classes(state)

    def value(step: float) -> float:
        weights = (1 - step) * state.weights + step * target
        parts = np.array([(1 - step) * old_scale, step * new_scale])
        scale, (old, new) = parts.sum(), parts / parts.sum()
        norms = np.sqrt(old + new * new_norms)
        total = (
            costs @ weights
            + scale * problem.settings.interpretability * (sizes / norms).sum()
            + strength * loss.value(weights)
            + ridge_term(loss, weights)
        )
        if problem.settings.has_votes:
            images = (old * old_images + new * new_images) / norms[:, None]
            images -= old * old_unlike + new * new_unlike
            mixes = sp.csr_array(state.prototypes / norms[:, None] - contrasts)
            total += VOTE_WEIGHT * problem.vote_term(mixes, images.T, state, classes)[0]
        return float(total)

    step, before = 1.0, value(0.0)
    while not value(step) < before:
        step /= 2
        if step < SHORTEST_WEIGHT_STEP:
            return state
    weights = (1 - step) * state.weights + step * target
    kernel = target_kernel if step == 1.0 else problem.combine(weights)
    return rescale(replace(state, weights=weights, kernel=kernel))


def kernel_costs(problem: Problem, state: State) -> FloatArray:
    """The slope of the objective in the weight of each kernel: E_rec + lambda E_dis (Eq. 11).

    E_rec is a sum over the rows of ``I - Gamma' U'``, each a sample minus a mix of prototypes,
    E_dis a sum over the pairs of same-class samples that meet in a code.
    """
    weight, kernels = problem.sample_weight, problem.kernels
    rests = sp.hstack([sp.eye_array(weight.size), -state.codes], format="csr")
    costs = kernels.contract_rows(rests, weight, mixes=state.prototypes)
    used = sp.csr_array(state.codes @ state.prototypes).tocoo()
    amounts = problem.settings.discrimination * weight[used.coords[0]] * used.data
    left, right = used.coords
    targets = problem.labels if problem.values is None else problem.values
    same = agree(targets[left], targets[right])
    is_same = same > 0
    costs -= kernels.contract_pairs((amounts * same)[is_same], left[is_same], right[is_same])
    return np.asarray(costs + amounts.sum() * problem.diagonals)


def interpretability_costs(problem: Problem, state: State) -> FloatArray:
    """The tangent of ``scale * tau * J_ip`` in the weights, with prototypes rescaled to unit norm.

    For unit-norm prototypes u_i with coefficient sums A_i it is
    ``tau * (3/2 J_ip K_l(x, x) - 1/2 sum_i A_i u_i' K_l u_i)``.
    """
    prototypes = state.prototypes
    if problem.settings.interpretability == 0:
        return np.zeros(problem.kernels.n_kernels)
    spread = problem.kernels.contract_rows(prototypes, prototypes.sum(axis=1))
    total = interpretability_term(prototypes)
    return np.asarray(
        problem.settings.interpretability * (1.5 * total * problem.diagonals - 0.5 * spread)
    )


def vote_costs(problem: Problem, state: State) -> FloatArray:
    """The tangent of J_vote in the weights, with prototypes rescaled to unit norm.

    The similarity ``s_ij`` of sample i to prototype u_j changes with the weight of kernel l by
    ``(K_l u_j)_i - s_ij (u_j' K_l u_j + K_l(x, x)) / 2``, divided by the scale, the inner product
    with its contrast v_j by ``(K_l v_j)_i - (K v_j)_i K_l(x, x)``. The ridge is on
    ``||Phi (u_j - v_j)||^2``, which changes alike.
    """
    prototypes, mixes, classes = state.prototypes, state.mixes, problem.prototype_classes(state)
    resemblances = (mixes @ state.kernel).T
    _, slopes = problem.vote_term(mixes, resemblances, state, classes)
    similarities = (prototypes @ state.kernel).T
    support = np.unique(mixes.indices)
    pulls = np.ascontiguousarray((mixes[:, support].T @ slopes.T).T)
    radial = np.sum(slopes * similarities, axis=0)
    unlike = np.sum(slopes * (similarities - resemblances))
    costs = problem.kernels.between(None, support).contract(pulls)
    if problem.ridge > 0:
        ridge = problem.ridge * state.sharpness
        norms = row_products(mixes, resemblances.T)
        along = row_products(prototypes, resemblances.T)
        ones = np.full(classes.size, 0.5 * ridge)
        costs += problem.kernels.contract_rows(mixes, ones)
        costs -= 0.5 * ridge * norms.sum() * problem.diagonals
        radial += ridge * along
        costs += ridge * along.sum() * problem.diagonals
    costs -= 0.5 * problem.kernels.contract_rows(prototypes, radial)
    costs -= (0.5 * radial.sum() - unlike) * problem.diagonals
    factor = VOTE_WEIGHT * state.sharpness / problem.scale(state.weights)
    return np.asarray(factor * costs)


def rescale(state: State) -> State:
    """The state with unit-norm prototypes; the norms move into the codes."""
    norms = np.sqrt(row_products(state.prototypes, state.prototypes @ state.kernel))
    return replace(
        state,
        prototypes=sp.csr_array(state.prototypes / norms[:, None]),
        codes=sp.csr_array(state.codes * norms),
    )


def sort_prototypes(state: State, keys: IntArray) -> State:
    """The state with its prototypes in the order of keys."""
    order = np.argsort(keys, kind="stable")
    return replace(
        state,
        prototypes=state.prototypes[order],
        contrasts=state.contrasts[order],
        codes=sp.csr_array(state.codes[:, order]),
        log_strengths=state.log_strengths[order],
        levels=state.levels[order] if state.levels.size else state.levels,
    )


def drop_unused(state: State) -> State:
    """The state without unused prototypes."""
    used = np.flatnonzero(state.codes.sum(axis=0) > 0)
    if used.size == 0:
        raise ValueError(
            "All codes are empty, expected at least one prototype in use: other terms outweigh the "
            "reconstruction of samples. Lower discrimination or interpretability."
        )
    return replace(
        state,
        prototypes=state.prototypes[used],
        contrasts=state.contrasts[used],
        codes=state.codes[:, used],
    )


def _choose_rows(is_first: BoolArray, first: sp.csr_array, second: sp.csr_array) -> sp.csr_array:
    """Row i of the first array where `is_first[i]`, else of the second."""
    places = np.arange(is_first.size) + np.where(is_first, 0, is_first.size)
    chosen = sp.csr_array(sp.vstack([first, second], format="csr")[places])
    chosen.eliminate_zeros()
    chosen.sort_indices()
    return chosen


def _split_rows(matrix: sp.csr_array) -> list[tuple[IntArray, FloatArray]]:
    parts = (np.split(part, matrix.indptr[1:-1]) for part in (matrix.indices, matrix.data))
    return list(zip(*parts, strict=True))


def _join_rows(rows: list[tuple[IntArray, FloatArray]], n_columns: int) -> sp.csr_array:
    indptr = np.concatenate(([0], np.cumsum([indices.size for indices, _ in rows])))
    indices = np.concatenate([indices for indices, _ in rows])
    data = np.concatenate([values for _, values in rows])
    matrix = sp.csr_array((data, indices, indptr), shape=(len(rows), n_columns))
    matrix.sort_indices()
    return matrix
