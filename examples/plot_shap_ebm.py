"""
Beside Shapley values and an additive model
===========================================

How do these explanations differ from those that I know? Here is one tumour, explained in three
ways: by the votes of prototypes, by Shapley values of a random forest, and by the terms of an
additive model like an explainable boosting machine. Neither ``shap`` nor ``interpret`` is needed:
the values are computed from their definitions.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
models = {
    "IMKPL": IMKPL(max_kernels=10),
    "random forest": RandomForestClassifier(100, random_state=0),
    "additive model": HistGradientBoostingClassifier(interaction_cst="no_interactions"),
}
case = X_test.iloc[[0]]
for name, model in models.items():
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name}: accuracy {accuracy:.3f}; this case is {model.predict(case)[0]}")

# %%
# IMKPL: what every feature adds to the lead of one class over the other. These numbers are the
# decision itself, and a real case stands behind each side.
explanation = models["IMKPL"].explain(case)
parts = dict(zip(explanation.feature_names, explanation.feature_contributions()[0], strict=True))
votes = np.array([np.diff(parts.get(name, [0.0, 0.0]))[0] for name in X.columns])
print(explanation)

# %%
# Shapley values: features of the case are put into random tumours one by one, in random order, and
# each is given the change of the forest's probability. They are means over 300 orders. Terms of
# the additive model: what its score changes if only this feature is put in.
rng = np.random.default_rng(0)
n_orders, n_features = 300, X.shape[1]
rows = X_train.to_numpy()[rng.integers(0, len(X_train), n_orders)]
orders = rng.permuted(np.tile(np.arange(n_features), (n_orders, 1)), axis=1)
rank = np.argsort(orders, axis=1)
mixed = np.stack([np.where(rank < k, case.to_numpy(), rows) for k in range(n_features + 1)])


def ask(method, samples):
    """Answers for an array of samples of any shape."""
    flat = pd.DataFrame(samples.reshape(-1, n_features), columns=X.columns)
    return method(flat).reshape(*samples.shape[:-1], -1)[..., -1]


steps = np.diff(ask(models["random forest"].predict_proba, mixed), axis=0)
gains = np.take_along_axis(steps.T, rank, axis=1)
shapley, error = gains.mean(axis=0), gains.std(axis=0) / np.sqrt(n_orders)
single = np.stack([np.where(np.arange(n_features) == j, case, rows) for j in range(n_features)])
score = models["additive model"].decision_function
terms = (ask(score, single) - ask(score, rows)).mean(axis=1)

# %%
# All three answer malignant. The worst radius, its perimeter and its concave points speak for it
# in each, the symmetry against it. Radius, perimeter and area say nearly the same, and each model
# gives the credit to others of them, so that ranks agree only in part, as printed below. Black
# bars are two standard errors of the sampled values; votes and terms have none.
shown = np.argsort(-sum(np.abs(v) / np.abs(v).max() for v in (votes, shapley, terms)))[:14]
panels = {"IMKPL, votes": votes, "forest, Shapley values": shapley, "additive, terms": terms}
figure, axes = plt.subplots(1, 3, figsize=(7, 4.2), sharey=True, layout="constrained")
for axis, (title, values) in zip(axes, panels.items(), strict=True):
    bars = 2 * error[shown] if "Shapley" in title else None
    colours = np.where(values[shown] < 0, "#E69F00", "#0072B2")
    axis.barh(X.columns[shown], values[shown], xerr=bars, color=colours)
    axis.axvline(0, color="black", lw=0.8)
    n_used = np.count_nonzero(np.abs(values) > 1e-9)
    axis.set_title(f"{title}\n{n_used} features", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
axes[0].invert_yaxis()
axes[1].set_xlabel("for malignant (to the right), in the units of each model")
plt.show()
for (one, left), (two, right) in combinations(panels.items(), 2):
    print(f"{one} and {two}: rank correlation {spearmanr(left, right).statistic:.2f}")
