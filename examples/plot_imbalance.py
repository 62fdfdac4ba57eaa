"""
A rare class
============

One case in twenty is the one that I look for. Does the model find it, or does it simply say "no"
and is right nineteen times in twenty? ``class_weight="balanced"`` makes both classes count the
same.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

rng = np.random.default_rng(0)
n = 1200
rare = np.arange(n) < n // 20
X = rng.normal(0, 1.1, (n, 2))
X[rare] = rng.normal([1.7, 1.7], 0.45, (rare.sum(), 2))
y = np.where(rare, "rare", "usual")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, test_size=0.5, random_state=0)

models = {
    "always usual": DummyClassifier(),
    "IMKPL": IMKPL(),
    "IMKPL, balanced": IMKPL(class_weight="balanced"),
}
rows = {}
for name, model in models.items():
    answer = model.fit(X_train, y_train).predict(X_test)
    rows[name] = {
        "accuracy": np.mean(answer == y_test),
        "balanced accuracy": balanced_accuracy_score(y_test, answer),
        "rare cases found": recall_score(y_test, answer, pos_label="rare"),
        "alarms that are right": precision_score(y_test, answer, pos_label="rare", zero_division=0),
    }
pd.DataFrame(rows).T.round(2)

# %%
# Dots are test cases. Balanced weights find more of the rare cases and raise more false alarms:
# which of the two is right depends on what a missed case costs. White regions are unlike all
# training cases; ``predict(X, reject=True)`` gives no answer there. The patch below has hardly any
# cases: features are compared one by one, and the first is that of a rare case there.
side = np.linspace(-4, 4, 160)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), sharey=True, layout="constrained")
for axis, name in zip(axes, ["IMKPL", "IMKPL, balanced"], strict=True):
    model = models[name]
    chance = model.predict_proba(grid)[:, 0]
    chance[model.novelty(grid) > model.novelty_threshold_] = np.nan
    chance = chance.reshape(160, 160)
    shades = axis.contourf(side, side, chance, levels=np.linspace(0, 1, 11), cmap="Oranges")
    axis.contour(side, side, chance, levels=[0.5], colors="black", linewidths=1.5)
    for label, marker, colour in [("usual", ".", "#0072B2"), ("rare", "^", "black")]:
        axis.plot(*X_test[y_test == label].T, marker, ms=3.5, color=colour, ls="", label=label)
    axis.set(title=name, aspect="equal", xlim=(-4, 4), ylim=(-4, 4))
axes[0].legend(loc="lower left", framealpha=1)
figure.colorbar(shades, ax=axes, label="probability of rare", shrink=0.8)
plt.show()
