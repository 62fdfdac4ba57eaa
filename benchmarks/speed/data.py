"""Data of the shapes in the speed table."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_wine, make_classification
from sklearn.model_selection import train_test_split

from imkpl_paper import datasets


def make_terms(n_samples=6000, n_features=944, n_classes=101, seed=0):
    """Term weights like those of rcv1: sparse, non-negative, of unit norm, some words per topic."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_samples - n_classes)])
    common = rng.gamma(0.3, 1.0, n_features)
    own = np.where(rng.random((n_classes, n_features)) < 0.03, rng.gamma(2.0, 6.0), 0.0)
    topics = common + own
    topics /= topics.sum(axis=1, keepdims=True)
    X = np.array([rng.multinomial(rng.integers(40, 160), topics[label]) for label in y])
    X = np.log1p(X) * np.log(n_samples / (1 + np.count_nonzero(X, axis=0)))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def make_shifts(n_samples=6000, n_features=944, n_classes=101, seed=0):
    """Gaussian features, a tenth of them shifted in every class."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_samples - n_classes)])
    shape = (n_classes, n_features)
    shifts = 0.6 * rng.standard_normal(shape) * (rng.random(shape) < 0.1)
    return rng.standard_normal((n_samples, n_features)) + shifts[y], y


def make_clusters(n_samples, n_features=50, n_test=0, seed=0):
    """Training and test samples of four classes with three clusters each, in 12 of the features."""
    X, y = make_classification(
        n_samples + n_test,
        n_features,
        n_informative=12,
        n_redundant=5,
        n_classes=4,
        n_clusters_per_class=3,
        flip_y=0.02,
        random_state=seed,
    )
    return X[n_test:], y[n_test:], X[:n_test], y[:n_test]


def write_wide(path, n_samples=900, n_features=860_000, n_informative=40, seed=0):
    """A memory-mapped table of three classes that differ in few of the columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_samples)
    informative = np.sort(rng.choice(n_features, n_informative, replace=False))
    shifts = rng.standard_normal((3, n_informative))
    table = np.memmap(path, np.float32, "w+", shape=(n_samples, n_features))
    for start in range(0, n_features, 20_000):
        columns = slice(start, min(start + 20_000, n_features))
        block = rng.standard_normal((n_samples, columns.stop - start), dtype=np.float32)
        for place in np.flatnonzero((informative >= start) & (informative < columns.stop)):
            block[:, informative[place] - start] += shifts[y, place]
        table[:, columns] = block
    table.flush()
    return y, informative


def make_tall(n_samples, n_features=100, seed=0, part=0):
    """A part of a table like that of `make_clusters`; parts are independent of each other."""
    shape = np.random.default_rng(seed)
    centres = shape.choice([-1.0, 1.0], (12, 12))
    spreads = shape.uniform(-1, 1, (12, 12, 12))
    mixes = shape.uniform(-1, 1, (12, 5))
    rng = np.random.default_rng([seed, part])
    groups = rng.integers(0, 12, n_samples)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    for group in range(12):
        rows = groups == group
        X[rows, :12] = X[rows, :12] @ spreads[group] + centres[group]
    X[:, 12:17] = X[:, :12] @ mixes
    y = np.where(rng.random(n_samples) < 0.02, rng.integers(0, 4, n_samples), groups % 4)
    return X, y


def write_tall(path, n_samples, n_features=100, seed=0, n_rows=100_000):
    """The same as a Parquet file, with the classes in the column "y"."""
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"x{i}" for i in range(n_features)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        for part, start in enumerate(range(0, n_samples, n_rows)):
            X, y = make_tall(min(n_rows, n_samples - start), n_features, seed, part + 1)
            file.write_table(pa.table([*X.T, y.astype(np.int8)], schema=schema))


def make_wine_like(n_samples, seed=0):
    """Samples drawn from one Gaussian per cultivar of wine."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n_samples, p=np.bincount(y) / y.size)
    out = np.empty((n_samples, X.shape[1]))
    for label in range(3):
        members = X[y == label]
        rows = labels == label
        out[rows] = rng.multivariate_normal(members.mean(axis=0), np.cov(members.T), rows.sum())
    return out, labels


def load_isolet():
    """The training part of one split of Isolet, or data of its shape if it is missing."""
    try:
        data = datasets.load("Isolet", download=False)
        X, y, name = data.X, data.y, "Isolet"
    except FileNotFoundError:
        X, y = make_shifts(1560, 617, 26)
        name = "data of Isolet's shape"
    return (*train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)[::2], name)
