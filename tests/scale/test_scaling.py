"""The formulas of docs/scaling.md beside what a real fit asks of its cluster."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from scaling import Size, count_touched, estimate, list_passes, record_fit


@pytest.fixture(scope="module")
def recorded():
    size = Size(n_samples=1200, n_features=60, n_parts=5, n_classes=4, n_landmarks=200)
    client, model = record_fit(size)
    size = replace(
        size,
        n_support=model.support_.size,
        n_live=np.count_nonzero(model.kernel_weights_),
        n_prototypes=model.prototypes_.shape[0],
    )
    return list_passes(size), client.calls


def test_tasks_and_bytes_of_a_fit_are_those_of_the_formulas(recorded):
    passes, calls = recorded
    assert [(step.name, step.n_tasks) for step in passes] == [call[:2] for call in calls]
    for step, (_, _, found, _) in zip(passes, calls, strict=True):
        n_bytes = np.mean([len(pickle.dumps(result)) for result in found])
        assert n_bytes == pytest.approx(step.result_bytes, rel=0.02, abs=700)


def test_few_rows_touch_a_partition_each_and_many_touch_all():
    assert count_touched(1, 10_000) == 1
    assert count_touched(100_000, 100) == 100


def test_workers_share_the_work_and_nothing_else():
    constants = dict.fromkeys([*(step.name for step in list_passes(Size())), "combine"], 1e-9)
    constants |= {"disk": 1e9, "task": 0.0, "byte": 0.0, "client: sort": 0.0, "client: end": 0.0}
    one, many = (estimate(Size(), constants, n_workers) for n_workers in (1, 100))
    assert one["bandwidths"] == pytest.approx(100 * many["bandwidths"], rel=0.05)
    slow = estimate(Size(), {**constants, "client: sort": 1e-6}, 100)
    assert slow["sort"] - many["sort"] == pytest.approx(1e-6 * Size().n_samples)
    late = estimate(Size(), {**constants, "task": 1.0}, 10**4)
    assert late["read"] > 2 * Size().n_parts
