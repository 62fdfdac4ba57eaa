"""
Values between two cases
========================

How far will the disease progress within a year? A model of few prototypes names two patients, one
with a smaller and one with a larger value, and what draws the answer to either.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPLRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
model = IMKPLRegressor().fit(X_train, y_train)
peers = {
    f"{model.prototypes_.shape[0]} prototypes": model,
    "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))).fit(X_train, y_train),
    "forest": RandomForestRegressor(300, random_state=0).fit(X_train, y_train),
}
{name: round(one.score(X_test, y_test), 2) for name, one in peers.items()}

# %%
# The reasons for one answer: the features add up to how far it is above the middle between the two
# sides.
print(model.explain(X_test.iloc[[3]]))

# %%
# Estimates with intervals that are to hold nine of ten true values.
values, intervals = model.predict(X_test, return_interval=0.9)
order = np.argsort(values)
inside = np.mean((intervals[:, 0] <= y_test) & (y_test <= intervals[:, 1]))
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.fill_between(np.arange(order.size), *intervals[order].T, color="#0072B2", alpha=0.2)
axis.plot(values[order], color="#0072B2", label="estimate")
axis.plot(y_test.to_numpy()[order], ".", color="black", ms=4, label=f"true, {inside:.0%} inside")
axis.set(xlabel="test cases, by their estimate", ylabel="progression of the disease")
axis.legend()
plt.show()
