"""The numbers that the paper prints, from published.toml."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_published() -> dict[str, Any]:
    """Everything in published.toml."""
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))


# The paper's letters by our parameters.
LETTERS = {
    "sparsity": "sparsity",
    "discrimination": "lambda",
    "separation": "mu",
    "interpretability": "tau",
}


def published_settings(dataset: str) -> dict[str, Any]:
    """The paper's settings for a data set, as parameters of `IMKPL.as_published`; may be empty."""
    values = published_values("table-1", dataset)
    return {ours: values[letter] for ours, letter in LETTERS.items() if letter in values}


def published_values(item: str, dataset: str) -> dict[str, Any]:
    """The paper's numbers for a data set in an item, however it is prepared."""
    values = read_published().get(item, {}).get("values", {})
    return dict(values.get(dataset.partition("/")[0], {}))


def published_measure(dataset: str, method: str, measure: str) -> float | None:
    """The paper's value of a measure, in whichever table it is."""
    tables = ("table-2", "table-3", "table-5")
    found = (published_values(name, dataset).get(method, {}).get(measure) for name in tables)
    return next((value for value in found if value is not None), None)
