"""A worker that is killed in the middle of a stage changes nothing."""

import os
import signal

import pytest
from numpy.testing import assert_allclose

from imkpl import IMKPL, scale
from imkpl.kernels import PerFeatureGaussian
from imkpl.scale import DaskBank
from scale.losing import DangerousBank, all_labels, all_rows, arm_at, dangerous_array

SETTINGS = {
    "solver": "landmarks", "n_landmarks": 36, "sparsity": 2, "n_prototypes": 6, "contrast": False,
    "random_state": 0,
}  # fmt: skip
# The tasks of every stage that reads partitions, in their order ...
DATA_STAGES = [
    "summarize", "columns_of", "asarray", "find_largest", "sum_moments", "partial",
]  # fmt: skip
# ... and of those that compute kernels of the landmarks.
KERNEL_STAGES = ["pairs", "contract_pairs", "contract_rows", "combine_band"]
# One is always tested, while landmarks are drawn; all of them by `make faults`.
STAGES = [
    pytest.param(stage, marks=[] if stage == "asarray" else pytest.mark.faults)
    for stage in DATA_STAGES + KERNEL_STAGES
]


@pytest.fixture(scope="module")
def undisturbed():
    return IMKPL(**SETTINGS).fit(all_rows(), all_labels())


def wait_for_two_workers(client):
    try:
        client.wait_for_workers(2, timeout=30)
    except TimeoutError:
        # On a busy machine Dask may give up on a worker that was killed.
        client.cluster.scale(len(client.cluster.worker_spec) + 1)
        client.wait_for_workers(2, timeout=120)


@pytest.mark.parametrize("stage", STAGES)
def test_a_fit_survives_a_worker_that_is_killed(
    on_cluster, monkeypatch, tmp_path, undisturbed, stage, assert_same_model
):
    kernels = PerFeatureGaussian()
    if stage in KERNEL_STAGES:
        monkeypatch.setattr(scale, "LEAST_VALUES", 0)
        kernels = DaskBank(DangerousBank(kernels, str(tmp_path)))
    wait_for_two_workers(on_cluster)
    arm_at(monkeypatch, f"{stage}-", tmp_path)
    model = IMKPL(kernels, **SETTINGS).fit(dangerous_array(tmp_path), all_labels())
    assert (tmp_path / "fired").exists(), "no worker was killed"
    assert_same_model(model, undisturbed, all_rows())


@pytest.mark.faults
def test_partitions_that_were_kept_and_lost_are_computed_again(
    on_cluster, tmp_path, undisturbed, assert_same_model
):
    wait_for_two_workers(on_cluster)
    kept = on_cluster.persist(dangerous_array(tmp_path))
    kept.sum().compute()
    owner = next(worker for worker, keys in on_cluster.has_what().items() if keys)
    os.kill(on_cluster.run(os.getpid)[owner], signal.SIGKILL)
    assert_same_model(IMKPL(**SETTINGS).fit(kept, all_labels()), undisturbed, all_rows())


@pytest.mark.faults
@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform"])
def test_an_answer_survives_a_worker_that_is_killed(
    on_cluster, tmp_path, undisturbed, method, assert_close
):
    wait_for_two_workers(on_cluster)
    answer = getattr(undisturbed, method)(dangerous_array(tmp_path))
    (tmp_path / "armed").touch()
    found = answer.compute()
    assert (tmp_path / "fired").exists()
    assert_close(found, getattr(undisturbed, method)(all_rows()))


@pytest.mark.faults
def test_a_bank_survives_a_worker_that_is_killed(on_cluster, monkeypatch, tmp_path, rng):
    monkeypatch.setattr(scale, "LEAST_VALUES", 0)
    wait_for_two_workers(on_cluster)
    X = rng.standard_normal((50, 60))
    weights = rng.random(60)
    kernels = DaskBank(DangerousBank(PerFeatureGaussian(), str(tmp_path))).on(X)
    expected = DaskBank(PerFeatureGaussian()).on(X).combine(weights)
    (tmp_path / "armed").touch()
    assert_allclose(kernels.combine(weights), expected, rtol=1e-13)
    assert (tmp_path / "fired").exists()
