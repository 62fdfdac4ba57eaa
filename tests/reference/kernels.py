"""Dense stacks of kernels, straight from the formulas."""

import numpy as np


def repeat_samples(X, counts):
    return np.repeat(X, counts, axis=0)


def mean_squared_difference(x, counts=None):
    """The mean of (x_i - x_j)**2 over all ordered pairs, by listing them."""
    x = np.asarray(x, dtype=np.float64)
    x = x if counts is None else repeat_samples(x, counts)
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
