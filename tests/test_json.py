"""One cleaning of values for JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imkpl._json import to_json


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_anything_becomes_json_that_utf8_can_hold(value):
    ready = to_json(value)
    text = json.dumps(ready, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode("utf-8")) == ready


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_digits(value):
    assert to_json(value) == value
    assert to_json(value, digits=6) == pytest.approx(value, rel=1e-5, abs=0)


def test_numbers_that_json_lacks_become_words_or_nothing():
    assert to_json([np.nan, np.inf, -np.inf]) == [None, "inf", "-inf"]
    assert to_json("a\x00b\ud800") == "a\ufffdb\ufffd"
    assert to_json({1: np.float32(0.5), "b": np.bool_(True)}) == {"1": 0.5, "b": True}
