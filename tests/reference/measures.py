"""IP, DR and stability by loops over the papers' formulas."""

import itertools
import math


def purity(prototype, labels):
    """l^q u / ||L u||_1 with q the class that holds most of u."""
    held = {}
    for u, label in zip(prototype, labels, strict=True):
        held[label] = held.get(label, 0.0) + u
    return max(held.values()) / sum(held.values()) if sum(held.values()) > 0 else 0.0


def compactness(prototype, K):
    exponent = 0.0
    for s, u in enumerate(prototype):
        for t, v in enumerate(prototype):
            exponent += u * v * (K[s][s] + K[t][t] - 2 * K[s][t])
    return math.exp(-exponent)


def interpretability(prototypes, labels, K):
    parts = [purity(u, labels) * compactness(u, K) for u in prototypes]
    return 100 * sum(parts) / len(parts)


def exclusiveness(codes, labels, prototype_classes):
    """Per prototype the share of its codes in its own class; None where no code uses it."""
    shares = []
    for i, q in enumerate(prototype_classes):
        column = [row[i] for row in codes]
        own = sum(g for g, label in zip(column, labels, strict=True) if label == q)
        shares.append(own / sum(column) if sum(column) > 0 else None)
    return shares


def discrimination(codes, labels, prototype_classes):
    """The mean over prototypes that some code uses."""
    used = [s for s in exclusiveness(codes, labels, prototype_classes) if s is not None]
    return 100 * sum(used) / len(used)


def selection_stability(chosen):
    """In how many features two choices differ, over all pairs, beside random choices.

    The unbiased variance of a feature is the mean of half its squared differences.
    """
    pairs = list(itertools.combinations(chosen, 2))
    n_features = len(chosen[0])
    n_different = sum(
        bool(a) != bool(b) for one, other in pairs for a, b in zip(one, other, strict=True)
    )
    share = sum(bool(a) for one in chosen for a in one) / (len(chosen) * n_features)
    return 1 - n_different / (2 * len(pairs) * n_features) / (share * (1 - share))


def selection_deviation(chosen, step=1e-6):
    """The standard deviation of the index: how it moves as the weight of one choice grows.

    Of many choices; for few the unbiased variance of a feature is larger than the plain one here.
    """

    def index(weights):
        total = sum(weights)
        columns = list(zip(*chosen, strict=True))
        shares = [sum(w for w, a in zip(weights, c, strict=True) if a) / total for c in columns]
        share = sum(shares) / len(shares)
        return 1 - sum(p * (1 - p) for p in shares) / len(shares) / (share * (1 - share))

    n = len(chosen)
    heavier = ([1 + step * (i == j) for j in range(n)] for i in range(n))
    slopes = [(index(weights) - index([1] * n)) / step for weights in heavier]
    return math.sqrt(sum(slope**2 for slope in slopes))
