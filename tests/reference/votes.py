"""A decision by votes, sample by sample and prototype by prototype."""

import math


def class_votes(similarities, classes, n_classes, sharpness, log_strengths):
    """For one sample: the sum of ``exp(t s_j + log a_j)`` over the prototypes of every class."""
    votes = [0.0] * n_classes
    for similarity, owner, log_strength in zip(similarities, classes, log_strengths, strict=True):
        votes[owner] += math.exp(sharpness * similarity + log_strength)
    return votes


def cross_entropy(similarities, classes, labels, sample_weight, sharpness, log_strengths):
    """The weighted sum of minus the logarithm of the own class's share of all votes."""
    total = 0.0
    for row, label, weight in zip(similarities, labels, sample_weight, strict=True):
        votes = class_votes(row, classes, max(classes) + 1, sharpness, log_strengths)
        total -= weight * math.log(votes[label] / sum(votes))
    return total


def strength_penalty(sample_weight, log_strengths, ridge):
    """The ridge on the mean square of the logarithms of strength, per sample."""
    return ridge * sum(sample_weight) * sum(b**2 for b in log_strengths) / len(log_strengths)


def similarities_to(K, prototypes):
    """``<phi(x_i), u_j> / ||u_j||`` from the definition, for dense prototypes."""
    n_samples = len(K)
    found = []
    for i in range(n_samples):
        row = []
        for u in prototypes:
            inner = sum(u[s] * K[i, s] for s in range(n_samples))
            square = sum(u[s] * u[t] * K[s, t] for s in range(n_samples) for t in range(n_samples))
            row.append(inner / math.sqrt(square))
        found.append(row)
    return found
