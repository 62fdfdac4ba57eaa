"""
Cases unlike all that was seen
==============================

My model knows five digits. What does it say to a sixth? A classifier always has an answer, unless
it may refuse: ``predict(X, reject=True)`` gives None for cases unlike all that it knows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

X, y = load_digits(return_X_y=True)
known = y < 5
X_train, X_test, y_train, y_test = train_test_split(
    X[known], y[known], stratify=y[known], random_state=0
)
model = IMKPL().fit(X_train, y_train)
groups = {
    "digits 0 to 4, not seen": X_test,
    "digits 5 to 9": X[~known],
    "pixels in random order": np.random.default_rng(0).permuted(X_test, axis=1),
}

# %%
# The control refuses the cases with the lowest probability, as many of the digits 0 to 4 as the
# model does. It finds fewer of the others.
threshold, cut = model.novelty_threshold_, None
for name, images in groups.items():
    is_refused = model.novelty(images) > threshold
    sure = model.predict_proba(images).max(axis=1)
    cut = np.quantile(sure, is_refused.mean()) if cut is None else cut
    print(f"{name}: {is_refused.mean():.0%} refused, by probability {np.mean(sure < cut):.0%}")

# %%
# The measure is how unlike a case is to the nearest training case in the model. Training cases set
# the threshold: 99 % of them are below it.
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
bins = np.linspace(0, 0.7, 50)
for (name, images), colour in zip(groups.items(), ["#0072B2", "#E69F00", "#595959"], strict=True):
    axis.hist(model.novelty(images), bins, density=True, alpha=0.65, color=colour, label=name)
axis.axvline(threshold, color="black", ls="--")
axis.text(threshold, axis.get_ylim()[1], " refused →", va="top")
axis.set(xlabel="novelty: unlikeness to the nearest training case", yticks=[])
axis.spines[["top", "right", "left"]].set_visible(False)
axis.legend()
plt.show()

# %%
# Three in ten of the digits from 5 to 9 get an answer all the same. Above, some that are refused;
# below, some that are taken for a digit that the model knows, and for which.
unknown = X[~known]
answers = model.predict(unknown, reject=True)
is_none = np.array([answer is None for answer in answers])
figure, axes = plt.subplots(2, 8, figsize=(7, 2.4), layout="constrained")
for row, chosen in zip(axes, [np.flatnonzero(is_none), np.flatnonzero(~is_none)], strict=True):
    for axis, place in zip(row, chosen[:: len(chosen) // 8], strict=False):
        axis.imshow(unknown[place].reshape(8, 8), cmap="Greys")
        axis.set(xticks=[], yticks=[], title="refused" if is_none[place] else f"“{answers[place]}”")
plt.show()

# %%
# A kernel lets one feature lower a similarity by no more than its weight. So a single value far
# outside of those in training, by three quarters of their range, is looked at on its own, and the
# card names it.
odd = X_test[:1].copy()
place = model.predictor_.kernels.input_columns[0]
odd[0, place] = 1000
print(model.predict(odd, reject=True), model.explain(odd).card(0).notes[0])
