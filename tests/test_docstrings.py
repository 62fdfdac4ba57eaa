"""Every public name tells what it is, what it takes and what it gives back, as numpydoc asks."""

import importlib
import inspect
import re

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
    problems = [text for code, text in validate(name)["errors"] if code in REQUIRED]
    assert not problems


@pytest.mark.parametrize(
    "name",
    [
        "IMKPL",
        "IMKPLCV",
        "ISKPL",
        "IMKPLSelector",
        "MultiLabelIMKPL",
        "TimeSeriesIMKPL",
    ],
)
def test_estimators_show_an_example(name):
    check_example(getattr(importlib.import_module("imkpl"), name))


def check_example(estimator):
    assert ">>> " in inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)* :", inspect.getdoc(estimator), re.M)
