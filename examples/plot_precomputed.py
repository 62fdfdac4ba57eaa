"""
Similarities from elsewhere: graphs
===================================

My similarities come from another program, as a matrix. Is that enough? Yes: ``"precomputed"`` takes a
data frame of similarities with the names of the samples, or a stack of several of them. Here the
samples are small graphs, and cards show them with a function that draws.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

rng = np.random.default_rng(0)


def make_graph(kind):
    """Adjacency matrix of a ring, a star or two cliques, with a few edges changed."""
    n = rng.integers(9, 14)
    A = np.zeros((n, n), dtype=bool)
    if kind == "ring":
        A[np.arange(n), (np.arange(n) + 1) % n] = True
    elif kind == "star":
        A[0, 1:] = True
    else:
        A[: n // 2, : n // 2] = A[n // 2 :, n // 2 :] = True
        A[0, -1] = True
    flip = rng.random((n, n)) < 0.05
    A = np.triu(A | A.T, 1) ^ np.triu(flip, 1)
    return A | A.T


def features(A):
    """How many walks of each length a node begins, sorted: a picture of the graph in six numbers."""
    A = A.astype(float)
    spectrum = np.linalg.eigvalsh(A)
    return np.quantile(spectrum, [0, 0.25, 0.5, 0.75, 1.0])


kinds = rng.choice(["ring", "star", "two groups"], 120)
names = np.array([f"graph {i}" for i in range(120)])
graphs = {name: make_graph(kind) for name, kind in zip(names, kinds, strict=True)}
spectra = np.array([features(graphs[name]) for name in names])
distances = ((spectra[:, None] - spectra[None]) ** 2).sum(axis=2)
K = pd.DataFrame(np.exp(-distances / np.median(distances)), index=names, columns=names)
K.iloc[:4, :4].round(2)

# %%
# Rows are the samples to judge, columns the training samples.
train, test, y_train, y_test = train_test_split(names, kinds, stratify=kinds, random_state=0)
model = IMKPL("precomputed").fit(K.loc[train, train], y_train)
largest = DummyClassifier().fit(y_train, y_train).score(y_test, y_test)
print(f"IMKPL {model.score(K.loc[test, train], y_test):.2f}, largest class {largest:.2f}")
print(model.prototypes_.shape, model.support_ids_)
