"""One round of the paper's Algorithm 1, equation by equation, for unit weights of the samples.

What the print leaves open is as in the library: prototypes start by covering, an unused one moves
to the sample that is rebuilt worst, and no step may raise the objective.
"""

import numpy as np

from imkpl.solvers import solve_nqp
from reference import objective as slow


def base_kernels(X):
    """``exp(-(x - y)^2 / delta)`` of every feature, delta the mean squared difference."""
    squares = (X.T[:, :, None] - X.T[:, None, :]) ** 2
    return np.exp(-squares / squares.mean(axis=(1, 2), keepdims=True))


def neighbors(K, labels, k):
    """Pairs of all samples and their k nearest of the same class, and of other classes."""
    same, other = [], []
    for i in range(len(K)):
        order = [s for s in np.argsort(-K[i], kind="stable") if s != i]
        same += [(i, s) for s in order if labels[s] == labels[i]][:k]
        other += [(i, s) for s in order if labels[s] != labels[i]][:k]
    return same, other


def cover(K, labels, n_prototypes):
    """Samples that raise ``sum_i max_t K_it`` over t of the class of i the most, one at a time."""
    chosen = []
    same = np.equal.outer(labels, labels)
    for step in range(n_prototypes):
        open_classes = set(labels) if step >= len(set(labels)) else {step}
        candidates = [t for t in range(len(K)) if t not in chosen and labels[t] in open_classes]
        gains = [np.where(same, K, 0)[:, [*chosen, t]].max(axis=1).sum() for t in candidates]
        chosen.append(candidates[int(np.argmax(gains))])
    return sorted(chosen, key=lambda t: (labels[t], chosen.index(t)))


def weight_costs(kernels, U, G, labels, lambda_, mu, same, other):
    """Eq. 11 for every kernel."""
    L = slow.label_matrix(labels)
    H = U.T @ G.T
    costs = []
    for K in kernels:
        E_rec = np.trace(K @ (np.eye(len(K)) - 2 * H) + H.T @ K @ H)
        E_dis = np.trace((1 - (L.T @ L) * K) @ H)
        E_ls = sum(2 - 2 * K[i, s] for i, s in same) + sum(K[i, s] for i, s in other)
        costs.append(E_rec + lambda_ * E_dis + mu * E_ls)
    return np.array(costs)


def one_round(X, labels, T0, lambda_, mu, tau):
    """beta, U', Gamma' and the objective after the first round, with c = p T0 and k = T0."""
    kernels, ones, L = base_kernels(X), np.ones(len(X)), slow.label_matrix(labels)
    K = kernels.mean(axis=0)
    same, other = neighbors(K, labels, T0)
    U = np.eye(len(X))[cover(K, labels, len(L) * T0)]
    # Eq. 7
    apart = lambda_ * (1 - (L.T @ L) * K) - 2 * K
    G = np.array([solve_nqp(2 * U @ K @ U.T, U @ apart[i], T0).x for i in range(len(X))])
    # Eq. 9
    U, G = slow.update_prototypes(K, U, G, labels, ones, lambda_, tau, T0)
    rest = np.eye(len(X)) - G @ U
    worst = np.argsort(-np.einsum("is,st,it->i", rest, K, rest), kind="stable")
    for i, sample in zip(np.flatnonzero(~G.any(axis=0)), worst, strict=False):
        U[i] = np.eye(len(X))[sample]
    # Eq. 10
    beta = np.zeros(len(kernels))
    beta[np.argmin(weight_costs(kernels, U, G, labels, lambda_, mu, same, other))] = 1.0
    K = np.tensordot(beta, kernels, 1)
    norms = np.sqrt(np.einsum("is,st,it->i", U, K, U))
    U, G = U / norms[:, None], G * norms
    value = (
        slow.reconstruction(K, U, G, ones)
        + lambda_ * slow.discrimination(K, U, G, labels, ones)
        + mu * slow.local_separation(K, same, other, ones)
        + tau * slow.interpretability(U, labels)
    )
    return beta, U, G, value
