"""
Several labels per sample
=========================

A film has several genres, a patient several findings. ``MultiOutputClassifier`` of scikit-learn
fits one model per label, each with features, prototypes and reasons of its own.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputClassifier

from imkpl import IMKPL

# %%
# Made-up findings: each depends on two of six measurements, and a patient may have any of them.
rng = np.random.default_rng(0)
names = ["pressure", "pulse", "glucose", "weight", "iron", "height"]
X = pd.DataFrame(rng.standard_normal((400, 6)), columns=names)
findings = ["heart", "sugar", "blood"]
Y = np.column_stack(
    [
        X["pressure"] + X["pulse"] > 0.6,
        X["glucose"] + X["weight"] > 0.8,
        X["iron"] - X["pulse"] < -0.7,
    ]
).astype(int)
X += 0.3 * rng.standard_normal(X.shape)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

models = MultiOutputClassifier(IMKPL(n_prototypes=6)).fit(X_train, Y_train)
control = DummyClassifier(strategy="stratified", random_state=0).fit(X_train, Y_train)
for name, estimator in (("IMKPL per label", models), ("control, random labels", control)):
    scores = f1_score(Y_test, estimator.predict(X_test), average=None)
    shown = ", ".join(f"{f} {s:.2f}" for f, s in zip(findings, scores, strict=True))
    print(f"F1 of {name}: {shown}")

# %%
# Each label has its own reasons. Labels are 0 and 1: without and with the finding.
for finding, model in zip(findings, models.estimators_, strict=True):
    print(f"--- {finding} ---")
    print(model.explain(X_test[:1]).card())

# %%
# Which measurements matter for which finding:
weights = np.array([model.feature_importances_ for model in models.estimators_])
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
image = axis.imshow(weights, cmap="Blues", vmin=0)
axis.set_xticks(range(len(names)), names)
axis.set_yticks(range(len(findings)), findings)
figure.colorbar(image, label="weight", shrink=0.8)
plt.show()
