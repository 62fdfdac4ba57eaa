"""Two workers in processes of their own, and a client without any, for all tests of this folder."""

import dask
import pytest
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
    """The two workers are those in use."""
    with client.as_current():
        yield client


class LocalClient:
    """Computes graphs here, one task after the other."""

    def compute(self, tasks):
        return list(dask.compute(*tasks, scheduler="synchronous"))

    def gather(self, results):
        return results


@pytest.fixture
def local_client(monkeypatch):
    """No cluster is started; graphs are the same."""
    client = LocalClient()
    monkeypatch.setattr("distributed.default_client", lambda: client)
    return client


@pytest.fixture(scope="session")
def samples():
    """Six hundred samples of eight features and three classes, some of them twice."""
    X, y = make_classification(600, 8, n_informative=5, n_classes=3, random_state=0)
    X[590:], y[590:] = X[:10], y[:10]
    X.flags.writeable = y.flags.writeable = False
    return X, y
