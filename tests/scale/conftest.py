"""Two workers in processes of their own, and a client without workers that runs tasks here."""

import dask
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification


@pytest.fixture(scope="session")
def client():
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, Client(cluster, set_as_default=False) as connected:
        yield connected


@pytest.fixture
def on_cluster(client):
    """The two workers are in use."""
    with client.as_current():
        yield client


class LocalClient:
    """Runs the same graphs here, one task after the other."""

    def compute(self, tasks):
        return list(dask.compute(*tasks, scheduler="synchronous"))

    def gather(self, results):
        return results


@pytest.fixture
def local_client(monkeypatch):
    client = LocalClient()
    monkeypatch.setattr("distributed.default_client", lambda: client)
    return client


@pytest.fixture
def no_client(monkeypatch):
    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.default_client", nobody)


@pytest.fixture(scope="session")
def samples():
    """Three hundred samples of eight features and three classes, some of them twice."""
    X, y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=0)
    X[290:], y[290:] = X[:10], y[:10]
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def assert_close():
    """Answers of a model, dense or sparse, are equal to 1e-8.

    Sums over partitions need extended precision for that; see docs/adr/0023-dask.md.
    """
    tolerance = 1e-8 if np.finfo(np.longdouble).nmant > 52 else 1e-5

    def check(*answers):
        found, expected = (
            one.toarray() if hasattr(one, "toarray") else np.asarray(one) for one in answers
        )
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f":
            assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        else:
            assert_array_equal(found, expected)

    return check


@pytest.fixture(scope="session")
def assert_same_model(assert_close):
    """Two fitted models are equal to 1e-8."""

    def check(model, expected, X):
        for name in (
            "classes_", "support_", "support_ids_", "kernel_weights_", "codes_", "prototypes_",
            "contrasts_", "novelty_threshold_", "class_shares_",
        ):  # fmt: skip
            assert_close(getattr(model, name), getattr(expected, name))
        assert_close(model.predict_proba(X), expected.predict_proba(X))

    return check
