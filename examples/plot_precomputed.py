"""
Similarities from elsewhere: graphs
===================================

My similarities come from another program, as a matrix. Is that enough? Yes: ``"precomputed"``
takes a data frame of similarities with the names of the samples, or a stack of several of them.
Here the samples are small graphs, of which the model sees nothing but similarities.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

rng = np.random.default_rng(0)


def make_graph(kind):
    """Adjacency matrix of a ring, a star or two groups, with a few edges changed."""
    n = rng.integers(9, 14)
    A = np.zeros((n, n), dtype=bool)
    if kind == "ring":
        A[np.arange(n), (np.arange(n) + 1) % n] = True
    elif kind == "star":
        A[0, 1:] = True
    else:
        A[: n // 2, : n // 2] = A[n // 2 :, n // 2 :] = A[0, -1] = True
    A = np.triu(A | A.T, 1) ^ np.triu(rng.random((n, n)) < 0.05, 1)
    return A | A.T


def compare(values):
    """A data frame of similarities, from vectors that describe the graphs."""
    distances = ((values[:, None] - values[None]) ** 2).sum(axis=2)
    return pd.DataFrame(np.exp(-distances / np.median(distances)), names, names)


kinds = rng.choice(["ring", "star", "two groups"], 120)
names = np.array([f"graph {i}" for i in range(120)])
graphs = {name: make_graph(kind) for name, kind in zip(names, kinds, strict=True)}
spectra = [np.quantile(np.linalg.eigvalsh(graphs[name]), [0, 0.25, 0.5, 0.75, 1]) for name in names]
K = compare(np.array(spectra))
K.iloc[:4, :4].round(2)

# %%
# Rows are the samples to judge, columns the training samples.
train, test, y_train, y_test = train_test_split(names, kinds, stratify=kinds, random_state=0)
model = IMKPL("precomputed").fit(K.loc[train, train], y_train)
largest = DummyClassifier().fit(y_train, y_train).score(y_test, y_test)
print(f"IMKPL {model.score(K.loc[test, train], y_test):.2f}, largest class {largest:.2f}")


# %%
# The graphs that each prototype consists of, largest share first, with the nodes on a circle.
def draw(axis, name):
    """A graph, as dots and lines."""
    angle = np.linspace(0, 2 * np.pi, len(graphs[name]), endpoint=False)
    places = np.column_stack([np.sin(angle), np.cos(angle)])
    for edge in np.argwhere(np.triu(graphs[name])):
        axis.plot(*places[edge].T, color="#999999", lw=1.2, zorder=1)
    axis.scatter(*places.T, s=26, color="#0072B2")
    axis.set_aspect("equal")
    axis.axis("off")


figure, axes = plt.subplots(3, 5, figsize=(7, 4.6), layout="constrained")
for row, (prototype, kind) in zip(axes, enumerate(model.prototype_classes_), strict=True):
    shares = model.prototypes_[[prototype]].toarray()[0]
    for axis, place in zip(row, np.argsort(-shares), strict=False):
        draw(axis, train[place])
    row[2].set_title(kind)
plt.show()

# %%
# Several ways to compare are a stack, (n, n, number of ways). Which are needed? The day on which a
# graph was recorded is the control: it is random.
ways = {
    "spectrum": K,
    "degrees": compare(np.array([np.quantile(graphs[n].sum(axis=0), [0, 0.5, 1]) for n in names])),
    "day": compare(rng.uniform(0, 365, (len(names), 1))),
}
stack = np.stack([way.loc[train, train] for way in ways.values()], axis=2)
several = IMKPL("precomputed").fit(stack, y_train)
for name, weight, evidence in zip(
    ways, several.kernel_weights_, several.kernel_evidence_, strict=True
):
    print(f"{name}: weight {weight:.2f}, evidence {evidence:.2f}")
