"""
Beside SHAP and an explainable boosting machine
===============================================

How do these explanations differ from those that I know? Here is one tumour, explained in three
ways: by the votes of prototypes, by SHAP values of a random forest, and by the terms of an
explainable boosting machine (EBM). Then all tumours that were left out: do the three agree?
Needs ``pip install shap interpret-core``.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import shap
from interpret.glassbox import ExplainableBoostingClassifier
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
models = {
    "IMKPL": IMKPL(max_kernels=10),
    "random forest": RandomForestClassifier(200, random_state=0),
    "EBM": ExplainableBoostingClassifier(interactions=0, random_state=0, n_jobs=1),
}
for name, model in models.items():
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name}: accuracy {accuracy:.3f}; the first case is {model.predict(X_test[:1])[0]}")

# %%
# All three give every feature of a case a number for malignant (positive) or against it. The votes
# of ``IMKPL`` come with the cases behind them:
explanation = models["IMKPL"].explain(X_test)
print(explanation[0])

# %%
# IMKPL and EBM are read directly: contributions to the votes add up to the lead of one class over
# the other, terms to the score. SHAP looks at the forest from outside: its values add up to the
# forest's probability minus its mean.
votes = pd.DataFrame(0.0, X_test.index, X.columns)
leads = np.diff(explanation.feature_contributions())[..., 0]
leads = pd.DataFrame(leads, X_test.index, explanation.term_names)
votes.update(leads)  # "bonus" and "several prototypes" are no features
forest = shap.TreeExplainer(models["random forest"])(X_test)
panels = {
    "IMKPL, votes": votes.to_numpy(),
    "forest, SHAP values": forest.values[..., 1],
    "EBM, terms": models["EBM"].eval_terms(X_test),
}

# %%
# The first case, with the fourteen features that count most. In all three the worst radius, its
# perimeter and its concave points speak for malignant, and the symmetry against it.
shown = np.argsort(-sum(np.abs(v[0]) / np.abs(v[0]).max() for v in panels.values()))[:14]
figure, axes = plt.subplots(1, 3, figsize=(7, 4.2), sharey=True, layout="constrained")
for axis, (title, values) in zip(axes, panels.items(), strict=True):
    bars = values[0, shown]
    axis.barh(X.columns[shown], bars, color=np.where(bars < 0, "#E69F00", "#0072B2"))
    axis.axvline(0, color="black", lw=0.8)
    n_used = np.count_nonzero(np.abs(values).max(axis=0) > 1e-9)
    axis.set_title(f"{title}\n{n_used} features", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
axes[0].invert_yaxis()
axes[1].set_xlabel("for malignant (to the right), in the units of each model")
plt.show()

# %%
# Over all tumours that were left out: how well do the ranks of the features correlate? Forest and
# EBM, which use all features, agree best over all of them, because ``IMKPL`` was allowed ten and
# leaves some of radius, perimeter and area out, which say nearly the same. Among the ten features
# that it uses, the three agree about equally well.
is_used = np.isin(X.columns, explanation.feature_names)


def agree(left, right):
    """Mean rank correlation over the cases."""
    return np.mean([spearmanr(a, b).statistic for a, b in zip(left, right, strict=True)])


for (one, left), (two, right) in combinations(panels.items(), 2):
    print(f"{one} and {two}: {agree(left, right):.2f} over all features,", end=" ")
    print(f"{agree(left[:, is_used], right[:, is_used]):.2f} over the {is_used.sum()} in use")
