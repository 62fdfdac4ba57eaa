"""Targets that are values: every command, from a file to a card."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from imkpl import load


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file of 90 rows, the last 30 of which are new ones."""
    folder = tmp_path_factory.mktemp("values")
    X, y = make_friedman1(120, 6, noise=0.5, random_state=1)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(price=y.round(2))
    frame[:90].to_csv(folder / "known.csv", index=False)
    frame[90:].to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(shell, table):
    return shell.ask("fit", table / "known.csv", "--target", "price", "--prototypes", 5,
                     "--repeats", 1, "--model", table / "m.imkpl")  # fmt: skip


def test_fit_says_how_far_values_are_off_beside_the_mean_and_a_line(shell, table, fitted):
    for part in ("held_out", "folds"):
        measured = fitted["provenance"][part]
        assert measured["r2"] > 0.3
        assert measured["mean_error"] < measured["mean"]["mean_error"]
        assert measured["line"]["r2"] > 0.3
    assert "a linear model by" in fitted["verdict"]["text"]
    shown = shell("inspect", table / "m.imkpl").stdout
    assert "R²" in shown
    assert "holds a fitted IMKPLRegressor" in shown
    check = shell("check", table / "known.csv", "--target", "price").stdout
    assert "is off by" in check


def test_predict_gives_values_with_intervals(shell, table, fitted):
    new = pd.read_csv(table / "new.csv")
    answer = shell.ask("predict", table / "m.imkpl", table / "new.csv")
    values, intervals = load(table / "m.imkpl").predict(
        new.drop(columns="price"), return_interval=0.9
    )
    found = pd.DataFrame(answer["rows"])
    np.testing.assert_allclose(found["prediction"], values)
    ends = pd.DataFrame(found["probabilities"].tolist()).to_numpy()
    np.testing.assert_allclose(ends, intervals)
    errors = np.abs(new["price"] - values)
    assert answer["measured"]["mean_error"] == pytest.approx(errors.mean())
    shown = shell("predict", table / "m.imkpl", table / "new.csv").stdout
    assert "90% interval" in shown
    out = table / "out.csv"
    assert shell("predict", table / "m.imkpl", table / "new.csv", "--out", out).exit_code == 0
    assert "90% interval from" in pd.read_csv(out).columns


def test_explain_names_the_cases_on_either_side(shell, table, fitted):
    shown = shell("explain", table / "m.imkpl", table / "new.csv", "--row", 2).stdout
    assert "between case" in shown
    assert "from the middle" in shown


def test_exported_models_predict_the_same_values(shell, table, fitted):
    model = load(table / "m.imkpl")
    X = pd.read_csv(table / "new.csv").drop(columns="price")
    for name in ("m.json", "m.onnx"):
        assert shell("export", table / "m.imkpl", "--output", table / name).exit_code == 0
    found = json.loads((table / "m.json").read_text())
    np.testing.assert_allclose(found["levels"], model.prototype_values_)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(table / "m.onnx"))
    columns = json.loads(session.get_modelmeta().custom_metadata_map["columns"])
    value, shares = session.run(None, {"X": X[columns].to_numpy()})
    np.testing.assert_allclose(value, model.predict(X), rtol=1e-9)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_what_is_for_classes_is_refused_for_values_and_the_reverse(shell, table):
    message = shell.fails("fit", table / "known.csv", "--target", "price", "--balanced")
    assert message.startswith("--balanced, --site and --review are for classes")
    message = shell.fails("fit", table / "known.csv", "--target", "price", "--classify")
    assert "expected at least three" in message or "row" in message


def test_an_order_of_classes_is_measured_by_how_far_answers_are_off(shell, table):
    frame = pd.read_csv(table / "known.csv")
    frame["price"] = pd.qcut(frame["price"], 3, labels=["low", "mid", "high"])
    frame.to_csv(table / "ordered.csv", index=False)
    order = [part for name in ("low", "mid", "high") for part in ("--ordered", name)]
    result = shell("fit", table / "ordered.csv", "--target", "price", "--prototypes", 3, *order)
    assert "classes of the order on average" in result.stdout
