"""The objective by loops over the paper's sums, and its prototype step one equation at a time.

Arrays are dense and stand as the library has them: `prototypes` (n_prototypes, n_samples) is U',
`codes` (n_samples, n_prototypes) is Gamma'.
"""

import numpy as np

from imkpl.solvers import solve_nqp


def label_matrix(labels):
    """L of shape (n_classes, n_samples): column i is the label vector l_i."""
    L = np.zeros((max(labels) + 1, len(labels)))
    for i, label in enumerate(labels):
        L[label, i] = 1.0
    return L


def squared_distance(K, i, s):
    return K[i, i] + K[s, s] - 2 * K[i, s]


def mix(prototypes, codes, i):
    """U gamma_i: the coefficients with which all samples rebuild sample i."""
    h = np.zeros(prototypes.shape[1])
    for t in range(prototypes.shape[0]):
        for s in range(prototypes.shape[1]):
            h[s] += prototypes[t, s] * codes[i, t]
    return h


def reconstruction(K, prototypes, codes, sample_weight):
    """Eq. 3."""
    n = len(K)
    total = 0.0
    for i in range(n):
        rest = np.eye(n)[i] - mix(prototypes, codes, i)
        for s in range(n):
            for t in range(n):
                total += sample_weight[i] * rest[s] * rest[t] * K[s, t]
    return total


def discrimination(K, prototypes, codes, labels, sample_weight):
    """Eq. 5."""
    L = label_matrix(labels)
    total = 0.0
    for i in range(len(K)):
        h = mix(prototypes, codes, i)
        for s in range(len(K)):
            near = L[:, i] @ L[:, s] * squared_distance(K, i, s)
            total += sample_weight[i] * h[s] * (near + np.sum((L[:, i] - L[:, s]) ** 2))
    return total / 2


def local_separation(K, same, other, sample_weight):
    """Eq. 6 for lists of pairs (sample, neighbour)."""
    total = 0.0
    for i, s in same:
        total += sample_weight[i] * squared_distance(K, i, s)
    for i, s in other:
        total += sample_weight[i] * K[i, s]
    return total


def interpretability(prototypes, labels):
    """``||L U||_1``."""
    return np.abs(label_matrix(labels) @ prototypes.T).sum()


def margins(K, same, other):
    """For every pair (i, t) of `other`: the mean K_is over the pairs (i, s) of `same`, - K_it."""
    return [np.mean([K[i, s] for j, s in same if j == i]) - K[i, t] for i, t in other]


def margin_shares(other, sample_weight):
    """For every pair (i, t): the weight of i, shared among the pairs that begin with i."""
    return [sample_weight[i] / sum(j == i for j, _ in other) for i, _ in other]


def hinge_loss(K, same, other, sample_weight, target):
    """Half the weighted sum of squares by which margins fall short of the target."""
    shares = margin_shares(other, sample_weight)
    pairs = zip(shares, margins(K, same, other), strict=True)
    return sum(a / 2 * max(0.0, 1 - m / target) ** 2 for a, m in pairs)


def update_prototypes(K, prototypes, codes, labels, sample_weight, lambda_, tau, sparsity):
    """Eq. 9 for one prototype after the other; each is kept only if the objective falls."""
    U, G = prototypes.copy(), codes.copy()
    L = label_matrix(labels)
    apart = 1 - (L.T @ L) * K

    def objective(U, G):
        return (
            reconstruction(K, U, G, sample_weight)
            + lambda_ * discrimination(K, U, G, labels, sample_weight)
            + tau * interpretability(U, labels)
        )

    for i in range(len(U)):
        if not G[:, i].any():
            continue
        others = [j for j in range(len(U)) if j != i]
        E = np.eye(len(K)) - G[:, others] @ U[others]
        row = sample_weight * G[:, i]
        linear = row @ (-2 * E @ K + lambda_ * apart) + tau * np.ones(len(L)) @ L
        u = solve_nqp(2 * (row @ G[:, i]) * K, linear, sparsity).x
        norm = np.sqrt(u @ K @ u)
        if norm == 0:
            continue
        new_U, new_G = U.copy(), G.copy()
        new_U[i], new_G[:, i] = u / norm, G[:, i] * norm
        if objective(new_U, new_G) < objective(U, G):
            U, G = new_U, new_G
    return U, G
