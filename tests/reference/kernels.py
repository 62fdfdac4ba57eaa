"""Dense stacks of kernels, straight from the formulas."""

import numpy as np


def mean_squared_difference(x, counts=None):
    """The mean of (x_i - x_j)**2 over all ordered pairs, by listing them."""
    x = np.asarray(x, dtype=np.float64)
    x = x if counts is None else np.repeat(x, counts)
    return np.mean([(a - b) ** 2 for a in x for b in x])


def gaussian_stack(X, Y, columns, widths):
    """exp(-(x_c - y_c)**2 / width), shape (n_X, n_Y, n_kernels); infinite width is constant 1."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    layers = [
        np.exp(-((X[:, c][:, np.newaxis] - Y[:, c]) ** 2) / width)
        for c, width in zip(columns, widths, strict=True)
    ]
    return np.stack(layers, axis=-1)


def per_feature_stack(X, Y, train, scales=(1.0,)):
    columns = np.repeat(np.arange(train.shape[1]), len(scales))
    deltas = [mean_squared_difference(train[:, c]) for c in range(train.shape[1])]
    widths = [s * (d if d > 0 else np.inf) for d in deltas for s in scales]
    return gaussian_stack(X, Y, columns, widths)


def gaussian_matrix(X, Y, bandwidth):
    squares = [[np.sum((x - y) ** 2) for y in np.asarray(Y, float)] for x in np.asarray(X, float)]
    return np.exp(-np.array(squares) / bandwidth)


def mean_squared_distance(X):
    X = np.asarray(X, dtype=np.float64)
    return np.mean([np.sum((a - b) ** 2) for a in X for b in X])


def normalized_stack(cross, left, right):
    """K(x, y) / sqrt(K(x, x) K(y, y)) from the cross stack and the two diagonals (n, n_kernels)."""
    out = np.zeros_like(cross)
    for i, j, k in np.ndindex(cross.shape):
        if left[i, k] == 0 or right[j, k] == 0:
            out[i, j, k] = float(left[i, k] == right[j, k])
        else:
            out[i, j, k] = cross[i, j, k] / np.sqrt(left[i, k] * right[j, k])
    return out


def feature_space_variance(stack, counts=None):
    """mean_i K(i, i) - mean_ij K(i, j) of every kernel, samples repeated by their counts."""
    everyone = np.arange(stack.shape[0])
    everyone = everyone if counts is None else np.repeat(everyone, counts)
    repeated = stack[np.ix_(everyone, everyone)]
    return np.einsum("iil->il", repeated).mean(axis=0) - repeated.mean(axis=(0, 1))


def overlap(a, b):
    """1 for equal cells and 0 for others; None is a missing cell and equal to another one."""
    return np.array([[float(x == y) for y in b] for x in a])


def column_stack(rows, others, train, categorical):
    """The kernels of a table given as rows of plain cells, from the sentences of the rule."""
    layers, marks = [], []
    for column in range(len(train[0])):
        left, right, seen = ([row[column] for row in part] for part in (rows, others, train))
        there = [cell for cell in seen if cell is not None]
        if column in categorical:
            layer = overlap(left, right) if len(set(seen)) > 1 else np.ones((len(left), len(right)))
        elif len(set(there)) < 2:
            layer = np.ones((len(left), len(right)))
        else:
            fill, width = np.median(there), mean_squared_difference(there)
            x, y = (np.array([fill if c is None else c for c in part]) for part in (left, right))
            layer = np.exp(-((x[:, np.newaxis] - y) ** 2) / width)
        layers.append(layer)
        if len(there) < len(seen):
            mark = overlap([c is None for c in left], [c is None for c in right])
            marks.append(mark if there else np.ones_like(mark))
    return np.stack([*layers, *marks], axis=-1)


def word_stack(rows, others, train):
    """z_l(x) z_l(y) / mean(z_l**2) of counts, z being their logarithms in documents of length 1.

    A thousandth is added, and then all is divided so that z_l(x)**2 is 1 on average.
    """

    def measure(counts):
        logs = [np.log1p(count) for count in counts]
        length = np.sqrt(sum(value**2 for value in logs))
        return [value / length if length > 0 else 0.0 for value in logs]

    left, right, seen = (np.array([measure(x) for x in part]) for part in (rows, others, train))
    squares = [np.mean(seen[:, word] ** 2) for word in range(seen.shape[1])]
    layers = [
        (np.outer(left[:, word], right[:, word]) / (square or np.inf) + 0.001) / 1.001
        for word, square in enumerate(squares)
    ]
    return np.stack(layers, axis=-1)
