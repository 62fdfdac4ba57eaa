"""How the accuracy is measured: folds, groups, equal rows, intervals and the baseline."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from imkpl.cli import models
from imkpl.readers import InputError
from imkpl.readers.read import DataFile


def build(n=60, seed=0, **columns):
    """Rows of two classes that one column tells apart, mostly."""
    rng = np.random.default_rng(seed)
    y = np.array(["ill", "well"] * (n // 2))
    x = rng.standard_normal(n) + 2.5 * (y == "ill")
    return pd.DataFrame({"x": x, "z": rng.standard_normal(n), "y": y, **columns})


def as_data(frame, groups=None):
    ids = np.arange(len(frame)) + 1
    return DataFile(frame.drop(columns="y"), frame["y"].to_numpy(str), ids, "y", groups=groups)


def test_equal_rows_and_groups_are_units():
    frame = pd.DataFrame({"a": [1, 2, 1, 3, 4, np.nan, np.nan], "b": list("uvuwxyy"), "y": 0})
    assert models.find_units(as_data(frame)).tolist() == [0, 1, 0, 3, 4, 5, 5]
    groups = np.array(["p", "q", "r", "r", "q", "s", "t"])
    # Rows 0 and 2 are equal, rows 2 and 3 are of one group.
    assert models.find_units(as_data(frame, groups)).tolist() == [0, 1, 0, 0, 1, 5, 5]


def test_units_are_never_on_both_sides():
    rng = np.random.default_rng(0)
    frame = build(80)
    frame.loc[10:19, ["x", "z"]] = frame.loc[20:29, ["x", "z"]].to_numpy()
    data = as_data(frame, groups=rng.integers(0, 40, 80).astype(str))
    units = models.find_units(data)
    is_test = models.hold_out(data, 0.2, seed=0)
    assert not set(units[is_test]) & set(units[~is_test])
    assert 8 <= is_test.sum() <= 24
    for train, test in models.split_folds(data, 0):
        assert not set(units[train]) & set(units[test])


def test_every_class_keeps_a_row_that_may_be_shown():
    data = replace(as_data(build(80)), eligible=np.isin(np.arange(80), [2, 43]))
    for seed in range(5):
        is_test = models.hold_out(data, 0.9, seed)
        assert is_test.any()
        assert not is_test[[2, 43]].any()


def test_intervals_are_wilsons_for_distinct_rows():
    expected = binomtest(45, 60).proportion_ci(method="wilson")
    np.testing.assert_allclose(models.wilson_interval(0.75, 60), [expected.low, expected.high])
    frame = build(40, y=["a"] * 30 + ["b"] * 10)
    data = as_data(frame, groups=np.arange(40) // 2)
    measured = models.describe_accuracy(np.repeat([1.0, 0.6], [30, 10]), data)
    assert measured["accuracy"] == pytest.approx(0.9)
    assert measured["interval"] == models.wilson_interval(0.9, 20)
    assert measured["balanced_accuracy"] == pytest.approx(0.8)
    assert measured["balanced_interval"] == models.wilson_interval(0.8, 4 / (1 / 15 + 1 / 5))
    assert measured["baseline"] == {"class": "a", "accuracy": 0.75}


def test_fit_measures_in_repeated_folds(shell, tmp_path):
    build().to_csv(tmp_path / "a.csv", index=False)
    command = ("fit", tmp_path / "a.csv", "--prototypes", 4, "--repeats", 2)
    folds = shell.ask(*command)["provenance"]["folds"]
    assert (folds["folds"], folds["repeats"], folds["rows"]) == (5, 2, 60)
    assert folds["accuracy"] == pytest.approx(np.mean(list(folds["recall"].values())))
    assert folds["interval"][0] < folds["accuracy"] < folds["interval"][1]
    said = models.say_accuracy(folds)
    assert said.startswith(f"Accuracy {folds['accuracy']:.1%} (95% interval ")
    assert "; always saying 'ill' has 50.0%.\n  AUC " in said
    # With groups that are half of the rows each, two folds are left.
    build(site=np.repeat(["u", "v"], 30)).to_csv(tmp_path / "a.csv", index=False)
    result = shell(*command, "--group", "site")
    assert "In 2 x 2 folds of 60 rows (2 independent): accuracy" in result.stdout


def test_a_model_of_noise_gets_a_warning(shell, tmp_path):
    frame = build(40)
    frame["x"] = np.random.default_rng(1).standard_normal(40)
    frame.to_csv(tmp_path / "a.csv", index=False)
    shown = shell("fit", tmp_path / "a.csv", "--prototypes", 4, "--repeats", 1).stdout
    assert "In 5 folds of 40 rows: accuracy " in shown
    assert "etter than always saying ill (50.0% right)" in shown


def test_the_number_of_folds_depends_on_the_table_alone(shell, tmp_path, monkeypatch):
    build().to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.setattr(models, "FOLD_ROWS", 130)
    command = ("fit", tmp_path / "a.csv", "--prototypes", 4, "--json")
    assert json.loads(shell.typed(*command).stdout)["provenance"]["folds"]["repeats"] == 2
    monkeypatch.setattr(models, "MAX_FOLD_CELLS", 10)
    result = shell.typed(*command)
    assert "note: The accuracy is not measured in folds: the table has" in result.stderr
    assert json.loads(result.stdout)["provenance"]["folds"] is None


def test_costs_and_thresholds_change_answers_not_probabilities(shell, tmp_path):
    frame = build(120, seed=2)
    frame["x"] += 1.5 * np.random.default_rng(0).standard_normal(120)
    data, model = tmp_path / "a.csv", tmp_path / "m.imkpl"
    frame.to_csv(data, index=False)
    command = ("fit", data, "--repeats", 0, "--prototypes", 2, "--model", model)
    shell.ask(*command, "--costs", "ill=9")
    own = shell.ask("predict", model, data)["rows"]
    plain = shell.ask("predict", model, data, "--costs", "ill=1")["rows"]
    careful = shell.ask("predict", model, data, "--threshold", "ill=0.1")["rows"]
    assert [row["prediction"] for row in own] == [row["prediction"] for row in careful]
    n_ill = [sum(row["prediction"] == "ill" for row in rows) for rows in (plain, careful)]
    assert n_ill[0] < n_ill[1]
    for one, other in zip(plain, careful, strict=True):
        assert other["probabilities"] == pytest.approx(one["probabilities"])
        assert (other["prediction"] == "ill") == (other["probabilities"]["ill"] > 0.1)
    assert "costs of mistakes, for ill" in shell("explain", model, data).stdout
    seldom = shell.ask("predict", model, data, "--prevalence", "ill=0.01")["rows"]
    pairs = [
        (one["probabilities"]["ill"], two["probabilities"]["ill"])
        for one, two in zip(seldom, plain, strict=True)
    ]
    assert all(one < two for one, two in pairs if two > 0)
    for wrong in ("ill", "sick=2", "ill=-1", "ill=ten"):
        result = shell("predict", model, data, "--costs", wrong)
        assert result.exit_code == 1
        assert f"--costs {wrong}: expected a class and a positive number" in result.stderr


def test_one_verdict_in_terminal_page_card_and_inspect(shell, tmp_path):
    """Also where rows belong to persons, who are fewer."""
    frame = build(120, seed=1)
    frame["patient"] = np.arange(120) // 6
    frame["x"] = np.random.default_rng(0).standard_normal(20).repeat(6) + 0.8 * (frame.y == "ill")
    data, model, page = (tmp_path / name for name in ("a.csv", "m.imkpl", "page.json"))
    frame.to_csv(data, index=False)
    for repeats in (0, 1):
        command = ("fit", data, "--group", "patient", "--repeats", repeats, "--prototypes", 4)
        shown = shell(*command, "--model", model, "--report", page, "--force").stdout
        text = json.loads(page.read_text())["verdict"]["text"]
        assert text in shown
        assert text in shell("inspect", model).stdout
        assert text in shell("card", model).stdout
        assert text in shell("card", model, data).stdout
        assert shell.ask("inspect", model)["verdict"]["text"] == text


def test_balanced_fits_are_measured_by_class(shell, tmp_path):
    frame = build(100, seed=3)
    frame["x"] -= 1.2 * (frame["y"] == "ill")
    frame[(frame["y"] == "well") | (np.arange(100) < 24)].to_csv(tmp_path / "a.csv", index=False)
    command = ("fit", tmp_path / "a.csv", "--prototypes", 4)
    shown = shell(*command, "--balanced", "--repeats", 1).stdout
    assert "folds of 62 rows: balanced accuracy" in shown
    assert "; always saying any class has 50.0%." in shown
    plain = shell.ask(*command)["provenance"]["held_out"]
    again = shell.ask(*command, "--balanced")["provenance"]["held_out"]
    assert again["recall"]["ill"] >= plain["recall"]["ill"]
    assert again["balanced_accuracy"] == pytest.approx(np.mean(list(again["recall"].values())))


def test_predict_measures_on_classes_in_the_file(shell, folder, wine, tmp_path):
    words = ("predict", folder / "a.imkpl")
    partly = wine.copy()
    partly.loc[40:, "cultivar"] = None
    partly.to_csv(tmp_path / "new.csv", index=False)
    answer = shell.ask(*words, tmp_path / "new.csv")
    predicted = [row["prediction"] for row in answer["rows"]]
    assert len(predicted) == 60
    assert answer["measured"]["accuracy"] == np.mean(wine["cultivar"][:40] == predicted[:40])
    assert answer["measured"]["baseline"]["accuracy"] == 0.5
    shown = shell(*words, tmp_path / "new.csv", "--target", "cultivar").stdout
    assert "Compared with the target of 40 rows: accuracy " in shown
    # Other columns are not taken for the target, nor is one with other classes.
    for other in (wine.rename(columns={"cultivar": "kind"}), wine.assign(cultivar="Chianti")):
        other.to_csv(tmp_path / "new.csv", index=False)
        assert shell.ask(*words, tmp_path / "new.csv")["measured"] is None


def test_folds_need_two_units_of_every_class():
    frame = build(12).assign(y=["u"] * 5 + ["v"] * 5 + ["w"] * 2)
    data = as_data(frame, groups=np.array([*"abcdefghij", "k", "k"]))
    with pytest.raises(InputError, match="all rows of class 'w' are equal or of one group"):
        models.measure_folds(None, data, seed=0, repeats=1)


def test_what_is_lost_without_a_column_is_measured_in_folds(shell, wine, tmp_path):
    frame = wine.drop(columns="wine").assign(noise=np.random.default_rng(0).random(len(wine)))
    frame.to_csv(tmp_path / "wine.csv", index=False)
    command = ["fit", tmp_path / "wine.csv", "--target", "cultivar", "--prototypes", 3]
    command += ["--max-kernels", 4, "--require", "noise", "--repeats", 1]
    answer = shell.ask(*command, "--report", tmp_path / "page.html")
    lost = answer["provenance"]["folds"]["lost"]
    assert lost["alcohol"] > 0.05 > abs(lost["noise"])
    page = (tmp_path / "page.html").read_text()
    assert f"If missing</dt><dd>\N{MINUS SIGN}{100 * lost['alcohol']:.1f}" in page


def test_a_balanced_model_is_measured_as_it_is_judged(shell, tmp_path):
    """Accuracy and verdict are both of classes that count alike, at the fit and later."""
    rng = np.random.default_rng(0)
    ill = np.arange(80) % 5 == 0
    frame = pd.DataFrame({"a": rng.normal(1.5 * ill), "b": rng.normal(size=80)})
    frame.assign(y=np.where(ill, "ill", "well")).to_csv(tmp_path / "a.csv", index=False)
    path = tmp_path / "m.imkpl"
    more = ("--balanced", "--prototypes", 2, "--model", path)
    fitted = shell("fit", tmp_path / "a.csv", "--target", "y", *more).stdout
    found = shell("predict", path, tmp_path / "a.csv", "--target", "y").stdout
    for text in (fitted, found):
        assert "balanced accuracy" in text
        assert "with classes weighed alike" in text
        assert "% right)" not in text


def test_values_have_one_verdict_in_terminal_page_and_inspect(shell, tmp_path):
    source = np.random.default_rng(0)
    frame = pd.DataFrame(source.standard_normal((60, 2)), columns=["x", "z"])
    frame["y"] = (3 * frame.x + source.standard_normal(60)).round(3)
    data, model, page = (tmp_path / name for name in ("a.csv", "m.imkpl", "page.json"))
    frame.to_csv(data, index=False)
    command = ("fit", data, "--target", "y", "--repeats", 1, "--prototypes", 5)
    shown = shell(*command, "--model", model, "--report", page).stdout
    text = json.loads(page.read_text())["verdict"]["text"]
    assert text.startswith("Clearly better than always saying the mean")
    assert text in shown
    assert text in shell("inspect", model).stdout
