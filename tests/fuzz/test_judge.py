"""The judge can fail: each of its rules is broken once. And crashes and hangs are counted."""

import pathlib
import sys

import numpy as np
import pytest

from fuzz import oracle
from fuzz.runner import run_in_children
from fuzz.source import from_seed
from imkpl import IMKPL
from imkpl.files import ModelFileError


def test_a_sentence_of_a_documented_class_is_no_finding():
    X = np.ones((4, 2))
    _, error = oracle.attempt(lambda: IMKPL().fit(X, [0, 0, 1, 1]), X)
    assert isinstance(error, ValueError)


def _broadcast():
    return np.ones(2) + np.ones(3)


def _undocumented():
    raise KeyError("a sentence that is long enough to be one")


def _short():
    raise ValueError("bad value")


def _own_words():
    raise ModelFileError("This is a sentence, but it was not raised by the library.")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (_broadcast, "words of another library"),
        (_undocumented, "undocumented error"),
        (_short, "not a sentence"),
        (_own_words, "an accident"),
        (lambda: np.float64(1) / np.float64(0), "arithmetic went wrong"),
    ],
)
def test_other_errors_and_warnings_are_findings(action, words):
    with pytest.raises(oracle.FindingError, match=words):
        oracle.attempt(action)


@pytest.mark.parametrize(
    "value",
    [np.zeros(3), [1.0, [2.0]], np.array(["a", None], dtype=object), np.ma.masked_equal([1, 2], 2)],
    ids=["array", "list", "objects", "masked"],
)
def test_altered_input_is_a_finding(value):
    def alter():
        value[0] = 5.0

    with pytest.raises(oracle.FindingError, match="altered input"):
        oracle.attempt(alter, value)


def test_learned_values_that_are_not_finite_are_findings():
    with pytest.raises(oracle.FindingError, match=r"history_\['total'\] is not finite"):
        oracle.check_finite({"total": np.array([1.0, np.nan])}, "history_")


def test_a_seed_gives_the_same_choices_again():
    draws = [[from_seed(7).whole(0, 10**6), from_seed(7).pick("abc")] for _ in range(2)]
    assert draws[0] == draws[1]


CHILD = """
import os, sys, time
kind, first, last = sys.argv[-3:]
for seed in range(int(first), int(last)):
    print("start", seed, flush=True)
    if seed == 1:
        os.abort()
    if seed == 2:
        time.sleep(60)
    print("end", seed, "fitted" if seed else "finding nothing", flush=True)
"""


def test_crashes_and_hangs_are_findings_and_the_next_case_follows():
    command = [sys.executable, "-c", CHILD]
    tally = run_in_children("any", 0, 4, time_limit=3.0, command=command)
    assert [seed for seed, _ in tally.findings] == [0, 1, 2]
    assert "crash, -6" in tally.findings[1][1]
    assert "hang" in tally.findings[2][1]
    assert tally.outcomes == {"finding": 3, "fitted": 1}


def test_the_documented_errors_are_those_that_the_judge_accepts():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "errors.md").read_text()
    for kind in oracle.DOCUMENTED:
        assert f"| `{kind.__name__}`" in page
