"""
Selecting features for another classifier
=========================================

The weights of ``IMKPL`` are sparse, so that ``SelectFromModel`` of scikit-learn keeps the features
that have one. Are they worth more to a nearest-neighbour classifier than all features, or than as
many random ones?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from imkpl import IMKPL

# %%
# The wine data with 60 columns of noise. Selection is a step of the pipeline, so that the left-out
# samples of a fold have no part in it.
X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)
X = np.hstack([X, rng.standard_normal((len(X), 60))])
selector = SelectFromModel(IMKPL(max_kernels=8, n_prototypes=6), threshold=1e-12)
kept = selector.fit(X, y).get_support(indices=True)
print(f"kept {kept.size} of {X.shape[1]} features, {np.sum(kept >= 13)} of them noise")

# %%
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)


def measure(*steps):
    pipeline = make_pipeline(*steps, StandardScaler(), KNeighborsClassifier(5))
    return cross_val_score(pipeline, X, y, cv=folds)


draws = [rng.choice(X.shape[1], kept.size, replace=False) for _ in range(5)]
scores = {
    "selected by IMKPL": measure(selector),
    "all 73 features": measure(),
    f"{kept.size} random features": np.concatenate(
        [measure(FunctionTransformer(np.take, kw_args={"indices": d, "axis": 1})) for d in draws]
    ),
}
for name, values in scores.items():
    print(f"{name}: {values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(values.size):.3f}")

# %%
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
means = [values.mean() for values in scores.values()]
errors = [values.std(ddof=1) / np.sqrt(values.size) for values in scores.values()]
axis.barh(list(scores), means, xerr=errors, capsize=3, color="#0072B2")
axis.invert_yaxis()
axis.set(xlabel="accuracy of five nearest neighbours, with one standard error")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
