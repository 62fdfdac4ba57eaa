"""
A table with categories and missing cells
=========================================

My table has numbers, words and holes. Do I have to encode and impute it first? No: each column is
compared in its own way, and a missing cell is information like any other. Here customers of a
made-up shop stay or leave, and those who leave often do not tell their income.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from imkpl import IMKPL

rng = np.random.default_rng(0)
n = 400
leaves = rng.random(n) < 0.4
monthly = rng.random(n) < np.where(leaves, 0.8, 0.25)
table = pd.DataFrame(
    {
        "contract": np.where(monthly, "monthly", rng.choice(["one year", "two years"], n)),
        "months": rng.gamma(2.0, np.where(leaves, 8.0, 20.0)).round(),
        "calls": rng.poisson(np.where(leaves, 3.0, 1.0)),
        "income": rng.normal(40, 12, n).round(1),
        "region": rng.choice(["north", "south", "east", "west"], n),
        "age": rng.normal(45, 14, n).round(),
    }
)
table.loc[rng.random(n) < np.where(leaves, 0.6, 0.1), "income"] = np.nan
table.loc[rng.random(n) < 0.1, "region"] = None
answer = np.where(leaves, "leaves", "stays")
table.head()

# %%
# Region and age have nothing to do with the answer, and of the income it only matters whether it
# is known. The table goes in as it is; the control is always naming the larger class.
X_train, X_test, y_train, y_test = train_test_split(table, answer, stratify=answer, random_state=0)
model = IMKPL().fit(X_train, y_train)
larger = DummyClassifier().fit(X_train, y_train)
print(f"IMKPL {model.score(X_test, y_test):.2f}, larger class {larger.score(X_test, y_test):.2f}")

# %%
# Columns with missing cells have a second kernel, "is missing". The model fitted to shuffled
# answers, on the right, is the control: no column is much above 0 there, and a warning says so.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    control = IMKPL().fit(X_train, rng.permutation(y_train))

figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), sharey=True, layout="constrained")
for axis, fitted, title in zip(
    axes, [model, control], ["answers", "shuffled answers"], strict=True
):
    axis.barh(fitted.kernel_names_, fitted.kernel_evidence_, color="#0072B2")
    axis.set(title=title, xlabel="evidence", xlim=(0, 1))
    axis.spines[["top", "right"]].set_visible(False)
axes[0].invert_yaxis()
plt.show()

# %%
# The reasons for one decision, as a notebook shows them: the customer beside the nearest that left
# and the nearest that stayed.
model.explain(X_test).card(int(np.flatnonzero(X_test["income"].isna())[1]))
