"""Every public name tells what it is, what it takes and what it gives back, as numpydoc asks."""

import importlib
import inspect

import pytest
from numpydoc.validate import validate

MODULES = [
    "imkpl.estimators",
    "imkpl.files",
    "imkpl.kernels",
    "imkpl.measures",
    "imkpl.readers",
    "imkpl.plots",
    "imkpl.report",
    "imkpl.scale",
    "imkpl.series",
    "imkpl.solvers",
    "imkpl.tables",
]
# No text, parameters undocumented, unknown, in the wrong order or not described, returns likewise.
REQUIRED = {"GL08", "PR01", "PR02", "PR03", "PR07", "RT03", "SS01"}


def public_names():
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            # Members of an enumeration are documented one by one, it takes no parameters.
            if name != "Status":
                yield f"{module}.{name}"


@pytest.mark.parametrize("name", sorted(set(public_names())))
def test_docstring_is_complete(name):
    module, _, last = name.rpartition(".")
    is_class = inspect.isclass(getattr(importlib.import_module(module), last))
    # Every class shows an example (EX01), which runs as a doctest.
    shows_example = is_class
    required = REQUIRED | ({"EX01"} if shows_example else set())
    problems = [text for code, text in validate(name)["errors"] if code in required]
    assert not problems
