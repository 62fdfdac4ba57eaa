"""
Cases unlike all that was seen
==============================

My model knows five digits. What does it say to a sixth? A classifier always has an answer, unless it
may refuse: ``predict(X, reject=True)`` gives None for cases that its prototypes cannot rebuild.
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
rng = np.random.default_rng(0)
groups = {
    "digits 0 to 4, not seen": X_test,
    "digits 5 to 9": X[~known],
    "pixels in random order": rng.permuted(X_test, axis=1),
}
for name, images in groups.items():
    answers = model.predict(images, reject=True)
    print(f"{name}: {np.mean([answer is None for answer in answers]):.0%} refused")

# %%
# The measure is the part of a case that the prototypes leave unexplained. The threshold is set by the
# training cases: 99 % of them are below it.
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
bins = np.linspace(0, 1, 60)
for (name, images), colour in zip(groups.items(), ["#0072B2", "#E69F00", "#595959"], strict=True):
    error = model.reconstruction_error(images)
    axis.hist(error, bins, density=True, alpha=0.65, color=colour, label=name)
axis.axvline(model.novelty_threshold_, color="black", ls="--")
axis.set(xlabel="part of the case that is unexplained", ylabel="density", yticks=[])
axis.spines[["top", "right", "left"]].set_visible(False)
axis.legend()
plt.show()
