"""
How few features are enough?
============================

I want a model that fits on one page. What do I lose with five features instead of twenty?
``imkpl.path`` measures the accuracy of models of several sizes on left-out samples, says what comes
in with each, and takes the smallest model that is within one standard error of the best.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

import imkpl
from imkpl.plots import EffectsDisplay, PathDisplay, PrototypesDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
path = imkpl.path(imkpl.IMKPL(), X_train, y_train, sizes=(1, 2, 4, 8, 16, 30))
print(path)

# %%
# The model of the chosen size is fitted to all training samples.
model = path.model
print(f"{path.chosen} features, {model.prototypes_.shape[0]} prototypes")
print(f"test accuracy {model.score(X_test, y_test):.3f}")
largest = DummyClassifier().fit(X_train, y_train).score(X_test, y_test)
print(f"control, always the largest class: {largest:.3f}")

# %%
# Every point is a model, measured on left-out samples of the training part; bars are one standard
# error. The dashed line is one standard error below the best.
PathDisplay(path).plot()
plt.show()

# %%
# What the chosen model consists of: its prototypes, with the features of the largest weights.
PrototypesDisplay.from_estimator(model, X_train, max_features=8)
plt.show()

# %%
# What the score of a class does along each feature, all other values being as they are.
EffectsDisplay.from_estimator(model, X_train)
plt.show()
