"""Simulated fits of docs/scaling.md, with constants that are easy to follow."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from imkpl.kernels import PerFeatureGaussian
from imkpl.model.landmarks import ClassDraw, draw_alone
from scaling.events import Machines
from scaling.fit import list_landmark_steps, list_steps, simulate
from scaling.page import say_bytes, say_seconds
from scaling.passes import Size, draw_rounds, list_passes

SIZE = Size(4000, 50, 20, 2, 100, n_support=10, n_live=5, n_prototypes=4)
TERMS = ("summarize", "columns", "take", "largest", "moments", "nearest", "similarity", "pursuit")


@pytest.fixture(scope="module")
def measured():
    call = {
        "name": "find_nearest_of_block",
        "client_seconds": 0.5,
        "seconds": {"find_nearest_of_block": 16.0},
        "counts": {"find_nearest_of_block": 16, "job": 1},
        "result_bytes": 1600,
        "sent_bytes": {"find_nearest_of_block": 160, "job": 1000},
    }
    return {
        "workers": {term: {"seconds": 1e-4, "held": 2.0} for term in TERMS},
        "disk": {"bytes_per_second": 8e4},
        "client": {"columns_of": {"seconds": 1e-3}, "rest": {"seconds": 1e-3}},
        "scheduler": {"seconds": 1e-3, "seconds_per_byte": 0.0},
        "landmarks": {
            "n_landmarks": 50,
            "n_features": 25,
            "n_live": 5,
            "calls": [
                call,
                {
                    **call,
                    "name": "combine_band",
                    "counts": {"combine_band": 16},
                    "seconds": {"combine_band": 1.0},
                    "sent_bytes": {"combine_band": 160, "job": 1000},
                },
            ],
        },
    }


def total(stages, what):
    return sum(getattr(stage, what) for stage in stages.values())


@pytest.mark.parametrize("is_persisted", [False, True])
def test_a_simulated_fit_obeys_the_laws_of_schedules(measured, is_persisted):
    ends = []
    for n_workers in (1, 4, 40):
        machines = Machines(n_workers, overhead=1e-3)
        stages = simulate(list_steps(SIZE, measured, is_persisted=is_persisted), machines)
        seconds = total(stages, "seconds")
        client = total(stages, "client_seconds")
        assert seconds >= total(stages, "unbounded")
        assert seconds - client >= total(stages, "busy") / n_workers
        for stage in stages.values():
            assert sum(stage.chain.values()) == pytest.approx(stage.seconds)
        ends.append(seconds)
    assert ends[0] > ends[1] > ends[2]


def test_partitions_are_read_in_every_pass_unless_they_are_kept(measured):
    machines = Machines(1, overhead=0.0)
    anew = simulate(list_steps(SIZE, measured), machines)
    kept = simulate(list_steps(SIZE, measured, is_persisted=True), machines)
    reading = SIZE.part_bytes / 8e4
    n_read = sum(step.n_tasks for step in list_passes(SIZE))
    difference = total(anew, "busy") - total(kept, "busy")
    assert difference == pytest.approx((n_read - SIZE.n_parts) * reading)


def test_the_work_of_a_simulated_fit_is_the_sum_of_the_formulas(measured):
    stages = simulate(list_steps(SIZE, measured), Machines(3))
    reading = SIZE.part_bytes / 8e4
    for name in ("read", "order", "bandwidths", "calibration", "codes"):
        steps = [step for step in list_passes(SIZE) if step.stage == name]
        expected = sum(step.n_tasks * (reading + 1e-4 * step.count) for step in steps)
        assert stages[name].busy == pytest.approx(expected)
        assert stages[name].client_bytes == pytest.approx(
            sum(step.n_tasks * step.result_bytes for step in steps)
        )
    assert stages["order"].client_seconds == pytest.approx(4.0)


def test_calls_on_landmarks_are_scaled_from_those_of_a_real_fit(measured):
    # Twice the landmarks and twice the features: eight times the pairs times features.
    nearest, combined = list_landmark_steps(SIZE, measured)
    assert sum(task.seconds for task in nearest.tasks.values()) == pytest.approx(8 * 16.0)
    assert nearest.tasks["job"].result_bytes == pytest.approx(4 * 1000)
    # Live kernels are as many: four times the pairs.
    assert sum(task.seconds for task in combined.tasks.values()) == pytest.approx(4 * 1.0)


def test_a_real_draw_takes_about_as_many_rounds_as_the_formula_says():
    X = np.random.default_rng(0).standard_normal((600, 80))
    bank = PerFeatureGaussian().adapt(X)
    draw = ClassDraw(np.arange(600), np.ones(600), 100, np.random.default_rng(0))
    sizes = []
    original = draw.draw
    draw.draw = lambda: (sizes.append(draw.chosen.size), original())[1]
    draw_alone(bank, X, draw, working_memory=64)
    assert abs(len(sizes) - len(draw_rounds(100, 1))) <= 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 ns"),
        (2.5e-9, "2.5 ns"),
        (0.002, "2 ms"),
        (90.0, "90 s"),
        (7200.0, "2 h"),
        (3e6, "35 d"),
    ],
)
def test_times_are_said_in_a_unit_that_reads_well(seconds, words):
    assert say_seconds(seconds) == words


def test_bytes_are_said_in_a_unit_that_reads_well():
    assert [say_bytes(n) for n in (12.0, 8e8, 8e12)] == ["12", "800 MB", "8 TB"]


def test_outcomes_can_be_kept_as_json(measured):
    stages = simulate(list_steps(SIZE, measured), Machines(2))
    kept = json.loads(json.dumps({name: asdict(stage) for name, stage in stages.items()}))
    assert kept["read"]["chain"] == pytest.approx(stages["read"].chain)
