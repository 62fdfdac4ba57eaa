"""
Data in partitions, with Dask
=============================

My samples are spread over files or machines. Must they be brought together? No: a Dask array or
data frame is learned from where it is. Only landmarks, a few samples that stand for all, come to
the client, and the model is the same as if all samples had been in memory.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client
from sklearn.dummy import DummyClassifier

from imkpl import IMKPL

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 20_000)
angle = rng.uniform(0, np.pi, len(y)) + np.pi * 2 / 3 * y
X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + y / 2)[:, None]
X = np.hstack([X + rng.normal(0, 0.25, X.shape), rng.normal(size=(len(y), 6))])
client = Client(processes=False, dashboard_address=None)  # or the address of a cluster
X_train, y_train = da.from_array(X[:16_000], chunks=(4_000, -1)), y[:16_000]
print(f"{X_train.npartitions} partitions of {X_train.chunksize[0]} samples")

settings = {"solver": "landmarks", "n_landmarks": 300, "random_state": 0}
model = IMKPL(**settings).fit(X_train, y_train)
twin = IMKPL(**settings).fit(X[:16_000], y_train)
X_test, y_test = X[16_000:], y[16_000:]
print(f"accuracy {model.score(X_test, y_test):.3f}")
print(f"largest class {DummyClassifier().fit(X[:16_000], y_train).score(X_test, y_test):.3f}")
print(f"weights differ by {np.abs(model.kernel_weights_ - twin.kernel_weights_).max():.0e}")

# %%
# Left, test samples and the training samples that the prototypes consist of. Right, the weights of
# the eight columns, six of which are noise, from four partitions and from memory.
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for label, colour in enumerate(["#0072B2", "#E69F00", "#009E73"]):
    of = np.flatnonzero(y_test == label)[:500]
    axes[0].plot(*X_test[of, :2].T, ".", ms=3, color=colour)
axes[0].plot(*X[model.support_, :2].T, "*", ms=9, mfc="white", mec="black")
axes[0].set(title=f"{model.prototypes_.shape[0]} prototypes", aspect="equal", xticks=[], yticks=[])
columns = np.arange(X.shape[1])
axes[1].barh(columns - 0.2, model.kernel_weights_, 0.4, color="#D55E00", label="Dask")
axes[1].barh(columns + 0.2, twin.kernel_weights_, 0.4, color="#999999", label="memory")
axes[1].set(title="weights", yticks=columns, ylabel="column")
axes[1].invert_yaxis()
axes[1].spines[["top", "right"]].set_visible(False)
axes[1].legend()
client.close()
plt.show()
