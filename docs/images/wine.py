"""Draws docs/images/wine.svg: python docs/images/wine.py (needs matplotlib)."""

import pathlib

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.manifold import TSNE

from imkpl import IMKPL
from imkpl.kernels import PerFeatureGaussian

COLOURS = ["#0072B2", "#E69F00", "#009E73"]  # Okabe and Ito: safe for colour-blind readers

data = load_wine()
X, y = data.data, data.target
model = IMKPL(sparsity=4, max_kernels=6, random_state=0).fit(X, y)
kernels = PerFeatureGaussian().on(X)
average = np.full(X.shape[1], 1 / X.shape[1])

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
panels = [("average of 13 kernels", average), ("learned: 6 of 13", model.kernel_weights_)]
for axis, (title, weights) in zip(axes, panels, strict=False):
    distances = np.sqrt(np.maximum(0, 2 - 2 * kernels.combine(weights)))
    places = TSNE(metric="precomputed", init="random", random_state=0).fit_transform(distances)
    for label, colour in enumerate(COLOURS):
        axis.scatter(*places[y == label].T, s=14, color=colour, label=data.target_names[label])
    if weights is not average:
        shares = model.prototypes_ / model.prototypes_.sum(axis=1)[:, None]
        stars = shares @ places
        colours = [COLOURS[label] for label in model.prototype_classes_]
        axis.scatter(*stars.T, s=190, marker="*", color=colours, edgecolor="black", zorder=3)
    axis.set(title=title, xticks=[], yticks=[])
axes[0].legend(fontsize=8)
order = np.flatnonzero(model.kernel_weights_)
order = order[np.argsort(model.kernel_weights_[order])]
axes[2].barh([data.feature_names[i] for i in order], model.kernel_weights_[order], color="#555555")
axes[2].set(title="weights of the features kept")
axes[2].spines[["top", "right"]].set_visible(False)
figure.savefig(pathlib.Path(__file__).with_suffix(".svg"))
