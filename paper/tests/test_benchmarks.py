"""The benchmarks' control, and rows that fill their lines."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from control import RandomPrototypes
from imkpl import IMKPL
from imkpl.estimators import discrimination_scorer, interpretability_scorer
from reasons import TABLE, show_values, summarize


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_the_control_has_the_size_of_the_model_and_an_ip_of_100(wine):
    X, y = wine
    model = IMKPL(n_prototypes=6, max_kernels=4).fit(X[::2], y[::2])
    control = RandomPrototypes(model, 3).fit(X[::2], y[::2])
    assert control.columns_.size == 4
    assert sorted(control.prototype_classes_) == sorted(model.prototype_classes_)
    assert interpretability_scorer(control) == 100
    assert 100 / 3 < discrimination_scorer(control, X[1::2], y[1::2]) < 100
    assert control.score(X[1::2], y[1::2]) > 0.5


def test_codes_of_the_control_use_prototypes_of_several_classes(wine):
    X, y = wine
    model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
    control = RandomPrototypes(model, 3).fit(X, y)
    used = (control.transform(X) @ control.class_shares_ > 0).sum(axis=1)
    assert np.mean(used > 1) > 0.5


@pytest.mark.parametrize("name", ["noise", "named", "small", "few", "alternation", "stability"])
def test_a_row_fills_its_line(name):
    row = TABLE[name]
    measured = row.measure("wine", 500)
    records = [(500, measured), (501, measured)]
    values, n_splits = summarize(row, {"wine": records})
    assert n_splits == "2"
    line = row.figure.format(**values) + row.control.format(**values)
    assert "±" in line
    assert 0 <= measured["accuracy"] <= 100


def test_spread_is_over_the_means_of_data_sets():
    records = {"a": [(0, {"x": 1.0}), (1, {"x": 3.0})], "b": [(0, {"x": 6.0})]}
    values, n_splits = summarize(TABLE["noise"], records)
    assert values == {"x": "4.0 ± 2.0"}
    assert n_splits == "1 to 2 of each"
    assert show_values([{"x": np.nan}]) == {"x": "?"}
