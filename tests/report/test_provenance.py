"""Fingerprints, settings and plain values."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import imkpl
from imkpl.report.plain import as_json_ready
from imkpl.report.provenance import describe_provenance

from .conftest import describe


def fingerprint(model, X, y):
    return describe(lambda subject: describe_provenance(subject, None), model, X, y)["data"][0]


def test_equal_values_have_equal_fingerprints(wine):
    first = wine.found["provenance"]["data"][0]
    assert first["shape"] == list(wine.X.shape)
    assert first["covers"] == "all values and labels"
    copied = wine.X.copy()
    copied.index = range(len(copied))
    assert fingerprint(wine.model, copied, list(wine.y))["sha256"] == first["sha256"]


@pytest.mark.parametrize("part", ["value", "label", "order"])
def test_another_value_label_or_order_has_another_fingerprint(wine, part):
    X, y = wine.X[:12].copy(), wine.y[:12].copy()
    first = fingerprint(wine.model, X, y)["sha256"]
    if part == "value":
        X.iloc[3, 2] += 1e-9
    elif part == "label":
        y[0] = "Barbera"
    else:
        X = X.iloc[::-1]
    assert fingerprint(wine.model, X, y)["sha256"] != first


def test_settings_and_versions_are_there(wine):
    provenance = wine.found["provenance"]
    settings = {one["name"]: one["value"] for one in provenance["settings"]}
    assert settings == {name: repr(v) for name, v in wine.model.get_params(deep=False).items()}
    assert provenance["versions"]["imkpl"] == imkpl.__version__
    assert provenance["versions"]["numpy"] == np.__version__
    assert provenance["created"] == "2026-01-02 03:04 UTC"


def test_the_dict_is_json_and_comes_back_the_same(wine):
    assert json.loads(json.dumps(wine.found, allow_nan=False)) == wine.found


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_anything_becomes_json_that_utf8_can_hold(value):
    plain = as_json_ready(value)
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode("utf-8")) == plain


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_six_digits(value):
    assert as_json_ready(value) == pytest.approx(value, rel=1e-5, abs=0)


def test_numbers_that_json_lacks_become_words_or_nothing():
    assert as_json_ready([np.nan, np.inf, -np.inf]) == [None, "inf", "-inf"]
    assert as_json_ready("a\x00b\ud800") == "a\ufffdb\ufffd"
    assert as_json_ready({1: np.float32(0.5), "b": np.bool_(True)}) == {"1": 0.5, "b": True}
