"""Kernel K-lines and the dictionaries of several levels that are built from it."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from scipy.linalg import eigh

from imkpl._typing import FloatArray, IntArray

MAX_ROUNDS = 30
# What is left of a class is nothing but rounding.
NOTHING_LEFT = 1e-8


def cluster_lines(
    gram: FloatArray, n_lines: int, random: RandomState
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Lines through the origin, each along the main direction of the samples nearest to it."""
    norms = np.diagonal(gram)
    # Samples without length have no direction; they follow the line that they come nearest to.
    long = np.flatnonzero(norms > NOTHING_LEFT * norms.max())
    inner = gram[np.ix_(long, long)]
    owners = _first_owners(inner, n_lines, random)
    lines = _main_directions(inner, owners)
    history: list[float] = []
    for _ in range(MAX_ROUNDS):
        correlations = np.abs(lines.T @ inner)
        history.append(float((correlations.max(axis=0) ** 2).sum()))
        new = _fill_empty(np.argmax(correlations, axis=0), lines.shape[1], random)
        if np.array_equal(new, owners):
            break
        owners = new
        lines = _main_directions(inner, owners)
    whole = np.zeros((gram.shape[0], lines.shape[1]))
    whole[long] = lines
    nearest = np.argmax(np.abs(whole.T @ gram), axis=0)
    nearest[long] = owners
    return whole, nearest, np.array(history)


def multilevel_dictionary(
    kernel: FloatArray, n_lines: int, n_levels: int, random: RandomState
) -> tuple[FloatArray, IntArray]:
    """Lines through a class, lines through what these leave unexplained, and so on."""
    residual = np.eye(kernel.shape[0])
    atoms, levels = list[FloatArray](), list[int]()
    everyone = np.arange(kernel.shape[0])
    for level in range(n_levels):
        gram = residual.T @ kernel @ residual
        if np.trace(gram) < NOTHING_LEFT * np.trace(kernel):
            break
        lines, owners, _ = cluster_lines(gram, n_lines, random)
        found = residual @ lines
        shares = (lines.T @ gram)[owners, everyone]
        residual = residual - found[:, owners] * shares
        atoms.append(found)
        levels += [level] * found.shape[1]
    return np.concatenate(atoms, axis=1), np.array(levels)


def _first_owners(gram: FloatArray, n_lines: int, random: RandomState) -> IntArray:
    """The nearest of some samples: the longest, and others drawn by what these leave of them."""
    norms = np.diagonal(gram)
    squared_cosines = gram**2 / np.outer(norms, norms)
    seeds = [int(np.argmax(norms))]
    while len(seeds) < n_lines:
        left = norms * (1 - squared_cosines[seeds].max(axis=0))
        left[left < NOTHING_LEFT * norms.max()] = 0.0
        if left.max() == 0:
            break
        seeds.append(int(random.choice(left.size, p=left / left.sum())))
    owners: IntArray = np.argmax(squared_cosines[seeds], axis=0)
    owners[seeds] = np.arange(len(seeds))
    return owners


def _main_directions(gram: FloatArray, owners: IntArray) -> FloatArray:
    """The leading direction of every cluster as a mix of its samples, of unit norm."""
    lines = np.zeros((gram.shape[0], int(owners.max()) + 1))
    for line in range(lines.shape[1]):
        members = np.flatnonzero(owners == line)
        last = members.size - 1
        value, vector = eigh(gram[np.ix_(members, members)], subset_by_index=(last, last))
        # The direction of most members: an eigenvector has no sign of its own.
        sign = 1.0 if vector.sum() >= 0 else -1.0
        lines[members, line] = sign * vector[:, 0] / np.sqrt(value[0])
    return lines


def _fill_empty(owners: IntArray, n_lines: int, random: RandomState) -> IntArray:
    """Give a line that no sample is nearest to a random sample of a cluster of several."""
    owners = owners.copy()
    for line in range(n_lines):
        if not np.any(owners == line):
            is_free = np.bincount(owners, minlength=n_lines)[owners] > 1
            owners[random.choice(np.flatnonzero(is_free))] = line
    return owners
