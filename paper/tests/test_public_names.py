"""The public names of the package, and what their docstrings tell."""

import importlib
import inspect
import re

import pytest
from numpydoc.validate import validate

PUBLIC = {
    "imkpl_paper": ["settings"],
    "imkpl_paper.baselines": ["AKGLVQ", "DKMLD", "MIDL", "MKLDPL", "PrototypeSelection"],
    "imkpl_paper.datasets": [
        "Dataset",
        "DatasetInfo",
        "available",
        "fingerprint",
        "load",
        "make_paper_series",
        "rarest_label",
    ],
    "imkpl_paper.experiments": ["Outcome", "available", "reproduce"],
    "imkpl_paper.skeletons": ["SkeletonLieGroup", "SkeletonNormalizer"],
}
# No text, parameters undocumented, unknown, in the wrong order or not described, returns likewise.
REQUIRED = {"GL08", "PR01", "PR02", "PR03", "PR07", "RT03", "SS01"}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module):
    assert sorted(importlib.import_module(module).__all__) == PUBLIC[module]


@pytest.mark.parametrize("name", [f"{m}.{name}" for m, names in PUBLIC.items() for name in names])
def test_docstring_is_complete(name):
    problems = [text for code, text in validate(name)["errors"] if code in REQUIRED]
    assert not problems


@pytest.mark.parametrize(
    "name",
    [f"{m}.{name}" for m in ("baselines", "skeletons") for name in PUBLIC[f"imkpl_paper.{m}"]],
)
def test_estimators_show_an_example(name):
    module, kind = name.split(".")
    estimator = getattr(importlib.import_module(f"imkpl_paper.{module}"), kind)
    assert ">>> " in inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)* :", inspect.getdoc(estimator), re.M)
