"""The formulas of docs/scaling.md beside what real fits ask of their cluster."""

from collections import Counter

import dask
import dask.array as da
import numpy as np
import pytest

from imkpl.scale.cluster import DaskCluster, make_tasks
from scaling.full import watch_fit
from scaling.graphs import capture, shape_of_parts, shape_of_sum, tasks_of_parts
from scaling.passes import Size, count_touched, draw_rounds, list_passes
from scaling.watch import WatchedClient, kind_of, watched

# Pickled arrays are a few hundred bytes longer than their numbers.
SLACK = 700


@pytest.fixture(scope="module")
def fit():
    size = {"n_samples": 1200, "n_features": 60, "n_classes": 4, "n_landmarks": 200, "n_parts": 5}
    calls, model, _ = watch_fit(**size, max_iter=1)
    fitted = {
        "n_support": model.support_.size,
        "n_live": int(np.count_nonzero(model.kernel_weights_)),
        "n_prototypes": model.prototypes_.shape[0],
    }
    passes = list_passes(Size(**size, **fitted))
    return passes, [call for call in calls if "part" in call.counts]


def test_a_fit_goes_over_the_partitions_as_often_as_the_formulas_say(fit):
    passes, calls = fit
    assert [step.name for step in passes] == [call.name for call in calls]


def test_every_pass_has_as_many_tasks_as_the_formulas_say(fit):
    for step, call in zip(*fit, strict=True):
        assert call.counts == {step.name: step.n_tasks, "part": step.n_tasks, "job": 1}


def test_the_client_gets_as_many_bytes_as_the_formulas_say(fit):
    for step, call in zip(*fit, strict=True):
        expected = step.n_tasks * step.result_bytes
        # How many candidates are drawn depends on how many were turned down before.
        slack = 0.25 if (step.stage, step.name) == ("landmarks", "as_they_are") else 0.02
        assert call.result_bytes == pytest.approx(expected, rel=slack, abs=SLACK * step.n_tasks)


def test_tasks_get_as_many_bytes_as_the_formulas_say(fit):
    for step, call in zip(*fit, strict=True):
        own, common = call.sent_bytes[step.name], call.sent_bytes["job"]
        assert own == pytest.approx(
            step.n_tasks * step.sent_bytes, rel=0.02, abs=SLACK * step.n_tasks
        )
        # Prototypes and labels of the support come with the model.
        assert common == pytest.approx(step.common_bytes, rel=0.2, abs=2000)


def test_rounds_of_draws_end_with_as_many_landmarks_as_wanted():
    for n_landmarks, n_classes in [(4000, 10), (4000, 2), (200, 4), (30, 3)]:
        taken = [taken for _, taken in draw_rounds(n_landmarks, n_classes)]
        assert sum(taken) == n_landmarks // n_classes


def test_few_rows_touch_a_partition_each_and_many_touch_all():
    assert count_touched(1, 10_000) == 1
    assert count_touched(100_000, 100) == 100
    rng = np.random.default_rng(0)
    found = [np.unique(rng.integers(50, size=60)).size for _ in range(200)]
    assert count_touched(60, 50) == pytest.approx(np.mean(found), abs=1)


def test_the_graph_of_a_pass_is_the_one_that_a_real_map_builds():
    client = WatchedClient()
    with watched(client):
        from imkpl.scale.samples import read_dask

        read_dask(da.from_array(np.arange(24.0).reshape(12, 2), chunks=(2, -1)))
    kinds = Counter(kind for _, kind, _ in shape_of_parts(6))
    assert kinds == {"part": 6, "work": 6, "job": 1}
    assert client.calls[0].counts == {"part": 6, "summarize": 6, "job": 1}
    for _, kind, dependencies in shape_of_parts(6):
        assert len(dependencies) == (2 if kind == "work" else 0)


def test_the_graph_of_a_sum_over_features_has_sixteen_blocks_and_fifteen_additions():
    kinds = Counter(kind for _, kind, _ in shape_of_sum())
    assert (kinds["combine_block"], kinds["add"]) == (16, 15)


def test_partitions_that_are_persisted_are_not_read():
    step = list_passes(Size(n_samples=40, n_features=2, n_parts=4))[0]
    read = tasks_of_parts(step, 1.0, 5.0, 80.0, is_persisted=False)
    kept = tasks_of_parts(step, 1.0, 5.0, 80.0, is_persisted=True)
    assert [task.home for task in read.values() if task.kind == "read"] == [None] * 4
    assert sorted(task.home for task in kept.values() if task.kind == "read") == [0, 1, 2, 3]


def test_a_watched_client_returns_what_the_tasks_compute():
    client = WatchedClient()
    part = dask.delayed(np.arange)(5)
    found = DaskCluster(client).map(_add_to, [(part,), (part,)], 2)
    np.testing.assert_array_equal(found, [np.arange(5) + 2] * 2)
    assert client.calls[0].counts == {"add_to": 2, "job": 1, "part": 1}


def test_tasks_can_be_captured_and_nothing_runs():
    tasks = capture(lambda client: DaskCluster(client).map(_fail, [(1,), (2,)]))
    assert [kind_of(task.key) for task in tasks] == ["fail", "fail"]
    with pytest.raises(ValueError, match="No task was given to the client"):
        capture(lambda client: make_tasks(_fail, [(1,)]))


def _add_to(values, number):
    return values + number


def _fail(number):
    raise AssertionError("this ran")
