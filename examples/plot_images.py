"""
Prototypes as pictures
======================

Which images does the model compare mine with? With one kernel per pixel, prototypes are mixes of a
few training images, and the weights say which pixels are looked at.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from imkpl import IMKPL

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = IMKPL(n_prototypes=50).fit(X_train, y_train)

# %%
# The control: as many images, drawn at random, five of each digit, and the nearest of them
# decides.
rng = np.random.default_rng(0)
scores = []
for _ in range(20):
    drawn = np.concatenate([rng.choice(np.flatnonzero(y_train == digit), 5) for digit in range(10)])
    nearest = KNeighborsClassifier(1).fit(X_train[drawn], y_train[drawn])
    scores.append(nearest.score(X_test, y_test))
n_prototypes = model.prototypes_.shape[0]
print(f"{n_prototypes} prototypes: {model.score(X_test, y_test):.3f}")
print(f"50 random images: {np.mean(scores):.3f} +- {np.std(scores):.3f}")

# %%
# The prototypes of each digit, as the weighted means of their training images. The digits 1 and 7
# have most of them, 0 and 6 fewest.
mixes = model.prototypes_.toarray()
images = (mixes / mixes.sum(axis=1, keepdims=True) @ X_train).reshape(-1, 8, 8)
n_rows = np.bincount(model.prototype_classes_).max()
figure, axes = plt.subplots(n_rows, 10, figsize=(7, 4.7), layout="constrained")
for axis in axes.flat:
    axis.axis("off")
for digit in range(10):
    own = images[model.prototype_classes_ == digit]
    for axis, image in zip(axes[:, digit], own, strict=False):
        axis.imshow(image, cmap="Greys")
    axes[0, digit].set_title(digit)
plt.show()

# %%
# The weights of the pixels, beside the mean image. Pixels that are nearly always empty have none.
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
panels = [
    ("mean image", X_train.mean(axis=0), "Greys"),
    ("weights", model.kernel_weights_, "Oranges"),
]
for axis, (title, values, colours) in zip(axes, panels, strict=True):
    figure.colorbar(axis.imshow(values.reshape(8, 8), cmap=colours), ax=axis, shrink=0.8)
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
