"""
How small may the model be?
===========================

I want a model that fits on one page. What do I lose with five features instead of twenty, or with
two prototypes instead of ten? ``IMKPLCV`` follows the accuracy over sizes and takes the smallest
model that is within one standard error of the best.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from imkpl import IMKPLCV
from imkpl.plots import PrototypesDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = IMKPLCV(max_kernels=(2, 4, 8, 16, 30), sparsity=(2, 5, 10)).fit(X_train, y_train)
print(f"chosen: {model.max_kernels_} features, sparsity {model.sparsity_}")
print(f"{model.prototypes_.shape[0]} prototypes, test accuracy {model.score(X_test, y_test):.3f}")
largest = DummyClassifier().fit(X_train, y_train).score(X_test, y_test)
print(f"control, always the largest class: {largest:.3f}")

# %%
# Every point is a model, measured on left-out samples of the training part; bars are one standard
# error. The dashed line is one standard error below the best; of the models above it the one with
# the smallest product of features and prototypes is taken.
path = model.path_
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for sparsity, colour in zip((2, 5, 10), ("#0072B2", "#E69F00", "#009E73"), strict=True):
    of = path["sparsity"] == sparsity
    size, score, error = (path[key][of] for key in ("n_kernels", "mean_score", "standard_error"))
    label = f"{path['n_prototypes'][of].max():.0f} prototypes"
    axis.errorbar(size, score, error, marker="o", capsize=3, color=colour, label=label)
best, chosen = model.best_index_, model.chosen_index_
bar = path["mean_score"][best] - path["standard_error"][best]
axis.axhline(bar, color="#595959", ls="--", lw=1)
point = path["n_kernels"][chosen], path["mean_score"][chosen]
axis.plot(*point, "o", ms=16, mfc="none", mec="black")
axis.annotate("chosen", point, (14, 10), textcoords="offset points")
axis.set_xscale("log", base=2)
axis.set_xticks([2, 4, 8, 16, 30], ["2", "4", "8", "16", "30"])
axis.set(xlabel="features", ylabel="accuracy, five folds")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(loc="lower right")
plt.show()

# %%
# What the chosen model consists of: its prototypes, with the features of the largest weights.
PrototypesDisplay.from_estimator(model, X_train, max_features=8)
plt.show()
