"""A few cases of every kind (``make fuzz`` runs thousands), and a judge that can fail."""

import pathlib

import numpy as np
import pytest

from fuzz import oracle
from fuzz.cases import KINDS
from fuzz.inputs import from_seed
from imkpl import IMKPL
from imkpl.files import ModelFileError

# About a second of each: cheap kinds get more cases.
CASES = {"vectors": 25, "paths": 2, "series": 4, "readers": 40, "laws": 4}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_gives_a_right_fit_or_a_sentence(kind):
    """The rules of the judge are in `fuzz.oracle`."""
    for seed in range(CASES.get(kind, 12)):
        outcome = KINDS[kind](from_seed(seed))
        assert outcome == "held" if kind == "laws" else isinstance(outcome, str), seed


def test_a_sentence_of_a_documented_class_is_not_a_finding():
    X = np.ones((4, 2))
    _, error = oracle.attempt(lambda: IMKPL().fit(X, [0, 0, 1, 1]), X)
    assert isinstance(error, ValueError)


def raising(error):
    def fail():
        raise error

    return fail


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: np.ones(2) + np.ones(3), "words of another library"),
        (raising(KeyError("a sentence that is long enough to be one")), "undocumented error"),
        (raising(ValueError("bad value")), "not a sentence"),
        (raising(ModelFileError("A sentence that was not raised by the library.")), "an accident"),
        (lambda: np.float64(1) / np.float64(0), "arithmetic went wrong"),
    ],
)
def test_other_errors_and_warnings_are_findings(action, words):
    with pytest.raises(oracle.FindingError, match=words):
        oracle.attempt(action)


def test_altered_input_and_values_that_are_not_finite_are_findings():
    values = np.zeros(3)
    with pytest.raises(oracle.FindingError, match="altered input"):
        oracle.attempt(lambda: values.put(0, 5.0), values)
    with pytest.raises(oracle.FindingError, match=r"history_\['total'\] is not finite"):
        oracle.check_finite({"total": np.array([1.0, np.nan])}, "history_")


def test_the_documented_errors_are_those_that_the_judge_accepts():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "errors.md").read_text()
    for kind in oracle.DOCUMENTED:
        assert f"| `{kind.__name__}`" in page
