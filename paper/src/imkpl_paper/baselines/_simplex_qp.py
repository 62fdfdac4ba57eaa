"""Kernel weights on the simplex: a convex quadratic of the combined kernel, plus a ridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from imkpl._typing import FloatArray
from imkpl.solvers import project_onto_simplex
from imkpl_paper.baselines._operator import KernelOperator, keep_largest

# A weight below this part of the average weight is zero but for rounding.
NEGLIGIBLE = 1e-7


def minimize_quadratic_on_simplex(
    linear: FloatArray,
    hessian_times: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    max_iter: int = 200,
    tol: float = 1e-7,
) -> FloatArray:
    """``argmin linear'b + b'Hb / 2`` over ``b >= 0, sum(b) = 1``, H positive semi-definite.

    Accelerated projected gradient with backtracking; a step that would raise the objective throws
    the momentum away. One product with H per step: that with the point ahead follows from the two
    before, because it is linear.
    """
    x, Hx = start, hessian_times(start)
    value = _value(linear, x, Hx)
    L = _first_curvature(linear + Hx, hessian_times)
    ahead, H_ahead, momentum = x, Hx, 1.0
    for _ in range(max_iter):
        while True:
            new = project_onto_simplex(ahead - (linear + H_ahead) / L)
            H_new = hessian_times(new)
            step = new - ahead
            length = float(step @ step)
            bend = float(step @ (H_new - H_ahead))
            if bend <= L * length * (1 + 1e-10) or length == 0:
                break
            L = max(2 * L, bend / length)
        new_value = _value(linear, new, H_new)
        decrease = value - new_value
        if decrease <= 0:
            if ahead is x:
                break
            ahead, H_ahead, momentum = x, Hx, 1.0
            continue
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        factor = (momentum - 1) / following
        ahead, H_ahead = new + factor * (new - x), H_new + factor * (H_new - Hx)
        x, Hx, value, momentum = new, H_new, new_value, following
        if decrease <= tol * abs(value):
            break
    kept = np.where(x < NEGLIGIBLE / x.size, 0.0, x)
    return np.asarray(kept / kept.sum())


@dataclass(frozen=True, eq=False)
class Weighting:
    """The kernels that are left, their weights, and the ridge that keeps them from being one.

    Parameters
    ----------
    operator : KernelOperator
        The kernels.
    weights : array of shape (n_kernels,)
        Their weights, which sum to one.
    ridge : float
        The weight of the ridge, relative to the spread of the errors of single kernels.
    rho : float, optional
        The factor on the squared weights, ``ridge * n_kernels * std_l <K_l, errors>`` with the
        errors of the first weight step: fixed from then on, so that there is one objective.
    """

    operator: KernelOperator
    weights: FloatArray
    ridge: float
    rho: float | None = None

    @property
    def cost(self) -> float:
        """``rho ||b||^2``."""
        return (self.rho or 0.0) * float(self.weights @ self.weights)


def learn_weights(
    weighting: Weighting,
    errors: FloatArray,
    gradient_matrix: Callable[[FloatArray], FloatArray],
    max_kernels: int | None = None,
) -> Weighting:
    """Weights that minimise ``<K, errors> + Q(K) + rho ||b||^2`` with ``K = sum_l b_l K_l``.

    Without the ridge the smoothest kernel alone would minimise the errors. If too many weights are
    positive, the kernels with the largest are kept for good and the problem is solved once more
    for them, with a ridge of their own.
    """
    operator = weighting.operator
    constant = gradient_matrix(np.zeros((operator.n_samples, operator.n_samples)))
    costs = operator.inner(errors)
    rho = weighting.rho
    if rho is None:
        rho = float(weighting.ridge * operator.n_kernels * costs.std())

    def hessian_times(b: FloatArray) -> FloatArray:
        matrix = gradient_matrix(operator.combine(b)) - constant
        return operator.inner(matrix) + 2 * rho * b

    linear = costs + operator.inner(constant) if constant.any() else costs
    weights = minimize_quadratic_on_simplex(linear, hessian_times, weighting.weights)
    smaller, weights = keep_largest(operator, weights, max_kernels)
    if smaller is operator:
        return replace(weighting, weights=weights, rho=rho)
    again = Weighting(smaller, weights, weighting.ridge)
    return learn_weights(again, errors, gradient_matrix)


def default_ridge(ridge: float | None, n_kernels: int) -> float:
    """The ridge that was given, or one that leaves a part of the kernels at zero."""
    if ridge is not None:
        return ridge
    return 0.3 if n_kernels <= 1000 else 0.03


def _value(linear: FloatArray, x: FloatArray, Hx: FloatArray) -> float:
    return float(linear @ x + 0.5 * (x @ Hx))


def _first_curvature(
    gradient: FloatArray, hessian_times: Callable[[FloatArray], FloatArray]
) -> float:
    """The curvature along the gradient, a lower bound of the largest."""
    direction = gradient - gradient.mean()
    length = float(direction @ direction)
    if length == 0:
        return 1.0
    curvature = float(direction @ hessian_times(direction)) / length
    # With a smaller one the first step from anywhere ends at a vertex.
    return max(curvature, 1e-3 * float(np.ptp(gradient)))
