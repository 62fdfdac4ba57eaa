"""A few cases of every kind; ``make fuzz`` runs thousands."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzz.kinds import KINDS
from fuzz.source import from_hypothesis, from_seed

# About a second of each: cheap kinds get more cases.
CASES = {
    "IMKPL": 12,
    "ISKPL": 12,
    "selector": 10,
    "IMKPLCV": 2,
    "baselines": 6,
    "tables": 12,
    "stacks": 12,
    "series": 4,
    "parameters": 12,
    "keeping": 6,
    "solvers": 60,
    "simplex": 60,
    "measures": 60,
    "readers": 40,
    "model files": 25,
    "bits": 1,
    "order": 3,
    "monotone": 50,
    "scaling": 4,
    "Gram matrices": 60,
    "precision": 30,
}
short = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def test_every_kind_has_a_number_of_cases():
    assert list(CASES) == list(KINDS)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_gives_a_right_fit_or_a_sentence(kind):
    """The judge's rules are in `fuzz.oracle`."""

    @settings(short, max_examples=CASES[kind])
    @given(st.data())
    def run(data):
        assert isinstance(KINDS[kind](from_hypothesis(data)), str)

    if kind == "monotone":
        # Choices by hypothesis are simple ones first; fifty problems should be of all sorts.
        for seed in range(CASES[kind]):
            KINDS[kind](from_seed(seed))
    else:
        run()
