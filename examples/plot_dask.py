"""
Data in partitions, with Dask
=============================

My samples are spread over files or machines. Must they be brought together? No: a Dask array or data
frame is learned from where it is. Only landmarks, a few samples that stand for all, come to the
client, and the model is the same as if all samples had been in memory.
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
print("largest difference of the weights:", np.abs(model.kernel_weights_ - twin.kernel_weights_).max())
print(model.kernel_weights_, model.prototypes_.shape, model.support_)
