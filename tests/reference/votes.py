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


def mix_penalty(K, mixes, sharpness, ridge):
    """Half the ridge on the sum of ``t^2 ||Phi (u_j - v_j)||^2``."""
    return ridge / 2 * sharpness**2 * sum(square(K, mix) for mix in mixes)


def voting_mixes(K, prototypes, contrasts):
    """What votes compare a sample with: ``u_j / ||u_j|| - v_j``, for dense rows."""
    return [
        [a / math.sqrt(square(K, u)) - b for a, b in zip(u, v, strict=True)]
        for u, v in zip(prototypes, contrasts, strict=True)
    ]


def resemblances_to(K, mixes):
    """``<phi(x_i), Phi w_j>`` from the definition."""
    return [[sum(w * k for w, k in zip(mix, row, strict=True)) for mix in mixes] for row in K]


def square(K, mix):
    """``||Phi w||^2`` from the definition."""
    used = [s for s, w in enumerate(mix) if w != 0]
    return sum(mix[s] * mix[t] * K[s, t] for s in used for t in used)
