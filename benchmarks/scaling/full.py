"""A fit with the real numbers of landmarks and features, and few samples, as tasks of a cluster.

What is learned from landmarks does not depend on the number of samples: that part of a fit is
measured at its real size.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import Any

import dask.array as da
import numpy as np

from imkpl import IMKPL
from scaling.watch import Call, WatchedClient, watched


def make_data(n_samples: int, n_features: int, n_classes: int, seed: int = 0) -> Any:
    """Gaussian groups, two for every class, apart in forty features at most.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        How many.
    seed : int
        Seed of the draws.

    Returns
    -------
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
        Samples and classes.
    """
    rng = np.random.default_rng(seed)
    informative = min(40, n_features)
    groups = rng.integers(2 * n_classes, size=n_samples)
    X = rng.standard_normal((n_samples, n_features))
    X[:, :informative] += rng.standard_normal((2 * n_classes, informative))[groups]
    return X, groups % n_classes


def watch_fit(
    n_samples: int, n_features: int, n_classes: int, n_landmarks: int, n_parts: int, **options: Any
) -> tuple[list[Call], IMKPL, float]:
    """A whole fit, call by call.

    Parameters
    ----------
    n_samples, n_features, n_classes, n_landmarks, n_parts : int
        Its size.
    **options : object
        Arguments of `IMKPL` and, under `log` and `sizes`, of `WatchedClient`.

    Returns
    -------
    calls : list of Call
        What the cluster was asked.
    model : IMKPL
        Fitted.
    rest : float
        Processor time of the client after the last call.
    """
    X, y = make_data(n_samples, n_features, n_classes)
    client = WatchedClient(options.pop("log", None), options.pop("sizes", True))
    model = IMKPL(n_landmarks=n_landmarks, **options)
    with watched(client):
        chunks = (-(-n_samples // n_parts), -1)
        collection = da.from_array(X, chunks=chunks, name=f"rows-{time.time_ns()}")
        client.left = time.process_time()
        model.fit(collection, y)
    return client.calls, model, time.process_time() - client.left


def record_landmarks(n_landmarks: int, n_features: int, n_classes: int = 10) -> dict[str, Any]:
    """What a fit asks of the cluster once it has its landmarks.

    Parameters
    ----------
    n_landmarks, n_features, n_classes : int
        Its size; there are half as many samples again as landmarks.

    Returns
    -------
    dict
        The calls, and the size of the model.
    """
    calls, model, rest = watch_fit(
        n_landmarks * 3 // 2, n_features, n_classes, n_landmarks, 4, log=sys.stderr
    )
    return {
        "n_landmarks": n_landmarks,
        "n_features": n_features,
        "n_classes": n_classes,
        "n_support": int(model.support_.size),
        "n_live": int(np.count_nonzero(model.kernel_weights_)),
        "n_prototypes": int(model.prototypes_.shape[0]),
        "n_rounds": int(model.n_iter_),
        "rest": rest,
        # Blocks are combined while candidates are compared, before the landmarks are known.
        "calls": [
            asdict(call)
            for call in calls
            if "part" not in call.counts and call.name != "combine_block"
        ],
    }
