"""Every command, as a user would type it."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.utils import Bunch

from imkpl import load
from imkpl.readers import ReadOptions, read_training_file

# Folds would choose the number of prototypes, and that takes a while.
TRAIN = ("--target", "cultivar", "--prototypes", 6)


def test_fit_says_what_was_guessed_and_what_was_learned(shell, folder):
    result = shell("fit", folder / "wine.csv", *TRAIN, "--max-kernels", 3)
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "note: wine.csv: cells separated by commas.",
        "note: Target 'cultivar': 3 classes 'Barbera', 'Barolo' and 'Grignolino'.",
        "note: 6 columns of numbers, 1 left out (listed by imkpl check).",
        "note: Column 'wine' left out: all values differ, as in an identifier (--id keeps it as "
        "the name of rows).",
    ]
    assert "Learned from 48 rows in" in result.stdout
    assert "This model on 12 other rows: accuracy " in result.stdout
    assert "Features kept: 3 of 6." in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


def test_fit_measures_the_model_that_it_writes(shell, folder, wine, tmp_path):
    path = tmp_path / "m.imkpl"
    command = ("fit", folder / "wine.csv", *TRAIN, "--id", "wine")
    answer = shell.ask(*command, "--model", path)
    model = load(path)
    data = read_training_file(folder / "wine.csv", ReadOptions(target="cultivar"))
    # Whom prototypes are made of was trained on; the held-out rows are others.
    assert set(model.support_ids_) <= set(wine["wine"])
    held_out = answer["provenance"]["held_out"]
    assert (answer["n_training_rows"], held_out["rows"]) == (48, 12)
    assert model.prototypes_.shape == (answer["n_prototypes"], 48)
    rows = answer["provenance"]["held_out_rows"]
    assert wine["cultivar"].iloc[rows].value_counts().tolist() == [4, 4, 4]
    is_right = model.predict(data.samples.iloc[rows]) == data.y[rows]
    assert held_out["accuracy"] == np.mean(is_right)
    assert len(answer["features"]) == int((model.feature_importances_ > 0).sum())
    assert sum(one["weight"] for one in answer["features"]) == pytest.approx(1)
    evidence = [one["evidence"] for one in answer["features"]]
    assert answer["expected_false_features"] == pytest.approx(sum(1 - one for one in evidence))
    assert model.score(data.samples, data.y) > 0.8


def test_export_writes_a_model_for_other_programs(shell, folder, tmp_path):
    path = tmp_path / "m.json"
    result = shell("export", folder / "b.imkpl", "--output", path)
    assert result.stdout.startswith(f"Model written to {path}. It holds the training rows behind")
    assert json.loads(path.read_text())["classes"] == ["Barbera", "Barolo", "Grignolino"]
    onnx = tmp_path / "a.onnx"
    assert shell("export", folder / "a.imkpl", "--out", onnx).exit_code == 0
    assert onnx.exists()


def test_the_seed_draws_the_held_out_rows(shell, folder, tmp_path):
    supports = []
    for seed in (0, 0, 1):
        path = tmp_path / "m.imkpl"
        command = ("fit", folder / "wine.csv", *TRAIN, "--seed", seed)
        shell.ask(*command, "--model", path, "--force")
        supports.append(load(path).support_ids_.tolist())
    assert supports[0] == supports[1] != supports[2]


def test_fit_holds_nothing_out_on_request(shell, folder):
    result = shell("fit", folder / "wine.csv", *TRAIN, "--test-size", 0)
    assert "Accuracy" not in result.stdout
    assert "No rows were held out, so the accuracy on new rows is not known." in result.stderr


@pytest.mark.parametrize("test_size", [0.01, 0.9])
def test_every_class_has_rows_to_learn_from_and_to_measure_on(shell, wine, tmp_path, test_size):
    wine[:43].to_csv(tmp_path / "wine.csv", index=False)
    command = ("fit", tmp_path / "wine.csv", *TRAIN, "--test-size", test_size)
    rows = shell.ask(*command)["provenance"]["held_out_rows"]
    counts = wine[:43]["cultivar"].iloc[rows].value_counts()
    assert (counts >= 1).sum() == 3
    assert (wine[:43]["cultivar"].value_counts() - counts).min() >= 2


def test_fit_says_what_is_chosen_again_on_request(shell, folder, tmp_path):
    command = ("fit", folder / "wine.csv", *TRAIN, "--max-kernels", 3)
    command = (*command, "--id", "wine", "--sparsity", 2, "--stability", 2)
    shown = shell(*command, "--report", tmp_path / "page.html")
    assert "Stability of IMKPL over 2 refits to 80% of 48 samples:" in shown.stdout
    assert 'id="stability"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    measured = shell.ask(*command)["stability"]
    assert measured["kernels"]["n"] == 6
    # Rows have their names in the file.
    assert all(one["sample"].startswith("w") for one in measured["prototypes"]["regions"])
    assert shell.ask(*command[:-2])["stability"] is None


def test_fit_chooses_the_number_of_prototypes_by_folds(shell, folder):
    command = ("fit", folder / "wine.csv", "--target", "cultivar", "--max-kernels", 2)
    assert 3 <= shell.ask(*command)["n_prototypes"] <= 48
    assert shell.ask(*command, "--prototypes", 4)["n_prototypes"] <= 4


def test_predict_gives_what_the_model_gives(shell, folder, wine):
    answer = shell.ask("predict", folder / "a.imkpl", folder / "wine.csv")
    model = load(folder / "a.imkpl")
    X = wine[list(model.feature_names_in_)]
    assert [row["id"] for row in answer["rows"]] == wine["wine"].tolist()
    assert [row["prediction"] for row in answer["rows"]] == model.predict(X).tolist()
    shares = [[row["probabilities"][label] for label in model.classes_] for row in answer["rows"]]
    np.testing.assert_allclose(shares, model.predict_proba(X))
    novelty = [row["novelty"] for row in answer["rows"]]
    np.testing.assert_allclose(novelty, model.novelty(X))


def test_predict_finds_columns_by_name_and_says_what_it_ignores(shell, folder, wine, tmp_path):
    shuffled = wine[wine.columns[::-1]].assign(extra=range(1, 121, 2))
    shuffled.to_csv(tmp_path / "new.csv", index=False, sep=";", decimal=",")
    result = shell("predict", folder / "a.imkpl", tmp_path / "new.csv", "--json")
    expected = shell.ask("predict", folder / "a.imkpl", folder / "wine.csv")
    assert json.loads(result.stdout)["rows"] == expected["rows"]
    assert "note: Column 'extra' ignored: not part of the model." in result.stderr
    assert "note: Column 'cultivar' is the target: the answers are measured on it." in result.stderr


def test_predict_needs_only_the_columns_that_the_model_looks_at(shell, folder, wine, tmp_path):
    model = load(folder / "b.imkpl")
    live = model.feature_names_in_[model.feature_importances_ > 0]
    assert 0 < live.size < 6
    wine[["wine", *live]].to_csv(tmp_path / "new.csv", index=False)
    expected = shell.ask("predict", folder / "b.imkpl", folder / "wine.csv")
    found = shell.ask("predict", folder / "b.imkpl", tmp_path / "new.csv")
    assert found["rows"] == expected["rows"]


def test_predict_writes_all_rows(shell, folder, tmp_path):
    for name in ("p.csv", "p.json"):
        result = shell("predict", folder / "a.imkpl", folder / "wine.csv", "--out", tmp_path / name)
        assert result.stdout.splitlines()[0] == f"60 rows written to {tmp_path / name}."
    table = pd.read_csv(tmp_path / "p.csv")
    rows = json.loads((tmp_path / "p.json").read_text())["rows"]
    chances = [f"probability {name}" for name in ("Barbera", "Barolo", "Grignolino")]
    assert list(table.columns) == ["id", "prediction", *chances, "novelty", "is_novel", "note"]
    assert table["prediction"].tolist() == [row["prediction"] for row in rows]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "p.json"]


def test_predict_and_explain_show_the_first_rows(shell, folder):
    lines = shell("predict", folder / "a.imkpl", folder / "wine.csv").stdout.splitlines()
    assert lines[0].split() == ["row", "class", "probability", "novelty"]
    assert lines[2].split()[:2] == ["w0", "Barolo"]
    assert "... and 40 more; --out classes.csv writes all" in lines
    shown = shell("explain", folder / "a.imkpl", folder / "wine.csv").stdout
    assert "Sample w0 is Barolo" in shown
    assert [f"Sample w{i} is" in shown for i in range(6)] == [True] * 5 + [False]
    assert "... and 55 more rows (--row NAME, --out FILE)" in shown


def test_explain_writes_tables_that_add_up(shell, folder, tmp_path):
    for name in ("e.csv", "e.json"):
        result = shell("explain", folder / "a.imkpl", folder / "wine.csv", "--out", tmp_path / name)
        assert result.stdout == f"Reasons for 60 rows written to {tmp_path / name}.\n"
    samples = json.loads((tmp_path / "e.json").read_text())["samples"]
    table = pd.read_csv(tmp_path / "e.csv")
    sums = table.groupby("sample")["contribution"].sum()
    best = {one["sample"]: max(one["scores"]) for one in samples}
    np.testing.assert_allclose(sums, [best[name] for name in sums.index])


def test_fit_and_report_write_a_page(shell, folder, tmp_path):
    command = ("fit", folder / "wine.csv", *TRAIN, "--report", tmp_path / "f.html")
    assert shell.ask(*command)["report"] == str(tmp_path / "f.html")
    command = ("report", folder / "a.imkpl", folder / "wine.csv", "--target", "cultivar")
    answer = shell.ask(*command, "--out", tmp_path / "r.html")
    assert answer["rows"] == 60
    for name in ("f.html", "r.html"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert "Grignolino" in page
        assert "color_intensity" in page or "alcohol" in page


def test_categories_and_missing_cells_are_fitted_and_predicted(shell, wine, tmp_path):
    mixed = wine.assign(colour=np.where(wine["cultivar"] == "Barolo", "dark", "light"))
    mixed.loc[[1, 25, 50], "colour"] = None
    mixed.loc[[2, 30], "alcohol"] = np.nan
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    model = tmp_path / "m.imkpl"
    answer = shell.ask("fit", tmp_path / "mixed.csv", *TRAIN, "--model", model)
    assert answer["settings"]["kernels"] == "per_column"
    mixed.loc[[0, 1], "colour"] = ["golden", None]
    mixed.to_csv(tmp_path / "new.csv", index=False)
    result = shell("predict", model, tmp_path / "new.csv", "--json")
    assert result.exit_code == 0, result.stderr
    assert len(json.loads(result.stdout)["rows"]) == 60
    kept = {one["name"] for one in answer["features"]}
    assert ("'golden' not seen in training." in result.stderr) == ("colour" in kept)


def test_counts_of_words_are_fitted_and_predicted_with_all_columns(shell, tmp_path):
    rng = np.random.default_rng(0)
    rates = np.full((60, 120), 0.03)
    rates[:30, :10] = rates[30:, 10:20] = 0.5
    names = [f"word{i}" for i in range(120)]
    table = pd.DataFrame(rng.poisson(rates), columns=names)
    table.assign(topic=["tea"] * 30 + ["milk"] * 30).to_csv(tmp_path / "words.csv", index=False)
    table.to_csv(tmp_path / "new.csv", index=False)
    table[names[:-1]].to_csv(tmp_path / "short.csv", index=False)
    model = tmp_path / "m.imkpl"
    command = ("fit", tmp_path / "words.csv", "--target", "topic", "--prototypes", 4)
    assert shell.ask(*command, "--model", model)["reads"] == "words"
    rows = shell.ask("predict", model, tmp_path / "new.csv")["rows"]
    assert np.mean([row["prediction"] == "tea" for row in rows[:30]]) > 0.8
    result = shell("predict", model, tmp_path / "short.csv")
    assert result.exit_code != 0
    assert "word119" in result.stderr


def test_a_model_of_complete_numbers_takes_missing_cells(shell, folder, wine, tmp_path):
    model = tmp_path / "m.imkpl"
    command = ("fit", folder / "wine.csv", *TRAIN, "--model", model)
    assert shell.ask(*command)["settings"]["kernels"] == "auto"
    # A short file may have a cell that is no number.
    wine[:1].assign(alcohol="n.d.").to_csv(tmp_path / "new.csv", index=False)
    wine[:1].assign(alcohol="NA").to_csv(tmp_path / "empty.csv", index=False)
    result = shell("predict", model, tmp_path / "new.csv", "--json")
    assert "note: Column 'alcohol': 1 cell ('n.d.') is not a number, read as" in result.stderr
    expected = shell.ask("predict", model, tmp_path / "empty.csv")
    assert json.loads(result.stdout)["rows"] == expected["rows"]


def test_commands_write_nothing_that_was_not_named(shell, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, model = folder / "wine.csv", folder / "a.imkpl"
    before = sorted(folder.iterdir())
    for typed in (
        ("check", table, "--target", "cultivar"),
        ("fit", table, *TRAIN, "--repeats", 1),
        ("predict", model, table),
        ("explain", model, table),
        ("inspect", model, "--records"),
        ("card", model, table),
    ):
        assert shell(*typed).exit_code == 0
    assert (list(tmp_path.iterdir()), sorted(folder.iterdir())) == ([], before)


def test_the_demo_says_why(shell, tmp_path, monkeypatch):
    whole = load_breast_cancer(as_frame=True)
    part = Bunch(data=whole.data[::5], target=whole.target[::5], target_names=whole.target_names)
    monkeypatch.setattr("sklearn.datasets.load_breast_cancer", lambda as_frame: part)
    result = shell("demo", "--folder", tmp_path / "demo")
    assert result.exit_code == 0, result.stderr
    assert "Features kept: 10 of 30." in result.stdout
    assert re.search(r"A prototype is made of \d+\.\d rows on average", result.stdout)
    assert re.search(r"^Sample \d+ is (malignant|benign)", result.stdout, re.MULTILINE)
    assert (tmp_path / "demo" / "report.html").exists()


@pytest.fixture(scope="module")
def formulas(tmp_path_factory, wine, shell):
    """A folder with a table whose names a spreadsheet would run, and a model of it."""
    folder = tmp_path_factory.mktemp("formulas")
    columns = {"alcohol": "=HYPERLINK(1)", "malic_acid": "@SUM(1)", "ash": "-x", "wine": "wine"}
    frame = wine.rename(columns=columns)
    starts = ["=cmd|' /C calc'!A0", "+1+1", "-2.5", "-a", "@SUM(A1)", "\tx", "plain"]
    frame["wine"] = [f"{starts[i % 7]}{i:02d}" for i in range(len(frame))]
    classes = {"Barolo": "=1+1", "Grignolino": "-5", "Barbera": "safe"}
    frame["cultivar"] = frame["cultivar"].map(classes)
    frame.to_csv(folder / "wine.csv", index=False)
    command = ("fit", folder / "wine.csv", *TRAIN, "--id", "wine")
    result = shell(*command, "--model", folder / "m.imkpl")
    assert result.exit_code == 0, result.stderr
    return folder


def is_run(cell):
    """Whether a spreadsheet takes a cell for a formula."""
    try:
        float(cell)
    except ValueError:
        return cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    return False


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_tables_have_no_cell_that_a_spreadsheet_runs(shell, formulas, tmp_path, command):
    words = (command, formulas / "m.imkpl", formulas / "wine.csv", "--id", "wine")
    result = shell(*words, "--out", tmp_path / "safe.csv")
    assert result.exit_code == 0, result.stderr
    with open(tmp_path / "safe.csv", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not any(map(is_run, cells))
    assert any(cell.startswith("-2.5") for cell in cells)
    n_changed = sum(cell.startswith("'") for cell in cells)
    (note,) = [line for line in result.stderr.splitlines() if "spreadsheet" in line]
    assert note.startswith(
        f"note: {n_changed} cells of safe.csv that a spreadsheet would run, such"
    )
    shell(*words, "--out", tmp_path / "as_is.json")
    assert "'=1+1" not in (tmp_path / "as_is.json").read_text()


def test_rows_without_evidence_and_far_values_are_said(shell, wine, tmp_path):
    model = tmp_path / "m.imkpl"
    wine.to_csv(tmp_path / "wine.csv", index=False)
    command = ("fit", tmp_path / "wine.csv", *TRAIN, "--sparsity", 3)
    shell.ask(*command, "--model", model)
    new = wine[:30].drop(columns="cultivar")
    new.loc[0, new.columns[1:]] = np.nan
    new.loc[1, "alcohol"] = 0.014
    new.to_csv(tmp_path / "new.csv", index=False)
    rows = shell.ask("predict", model, tmp_path / "new.csv")["rows"]
    assert rows[0]["prediction"] is None
    assert set(rows[0]["probabilities"].values()) == {None}
    assert rows[0]["note"] == "no evidence: no value that the model reads"
    assert re.search(r"alcohol = 0\.014, in training 11\.\d+ to 14\.\d+$", rows[1]["note"])
    assert all(row["note"] in ("", "unlike any in training") for row in rows[2:])
    shown = shell("predict", model, tmp_path / "new.csv").stdout
    assert "1 of 30 rows with a value far outside the training range." in shown
    assert "1 of 30 rows without a value that the model reads, thus without a class." in shown
    assert shown.splitlines()[2].split()[:3] == ["w0", "(none)", "-"]
    explained = shell("explain", model, tmp_path / "new.csv", "--row", "w0", "--row", "2").stdout
    assert "without any evidence" in explained
    assert "alcohol = 0.014 is far below all training values (" in explained


def test_tables_have_the_separator_and_decimal_mark_of_the_input(shell, folder, wine, tmp_path):
    wine.to_csv(tmp_path / "new.csv", index=False, sep=";", decimal=",")
    for command in ("predict", "explain"):
        out = tmp_path / f"{command}.csv"
        shell(command, folder / "a.imkpl", tmp_path / "new.csv", "--out", out)
        shell(command, folder / "a.imkpl", folder / "wine.csv", "--out", tmp_path / "same.csv")
        pd.testing.assert_frame_equal(
            pd.read_csv(out, sep=";", decimal=","), pd.read_csv(tmp_path / "same.csv")
        )
        (tmp_path / "same.csv").unlink()


def test_explain_takes_rows_by_name_or_by_number(shell, folder, wine, tmp_path):
    command = ("explain", folder / "a.imkpl")
    rows = ("--row", "w61", "--row", 17, "--row", "w16")
    found = shell.ask(*command, folder / "wine.csv", *rows)["samples"]
    assert [one["sample"] for one in found] == ["w61", "w16"]
    # Names come first.
    wine.assign(wine=range(100, 40, -1)).to_csv(tmp_path / "new.csv", index=False)
    found = shell.ask(*command, tmp_path / "new.csv", "--id", "wine", "--row", 60, "--row", 5)
    assert [one["sample"] for one in found["samples"]] == [60, 96]


def test_a_panel_is_extended_on_the_command_line(shell, folder, tmp_path):
    prices = tmp_path / "prices.csv"
    prices.write_text("name,price\nmagnesium,2.5\nash,1\n")
    command = ["path", folder / "wine.csv", "--target", "cultivar", "--prototypes", 3]
    command += ["--have", "alcohol,ash", "--sizes", "3", "--price", prices]
    outputs = {name: tmp_path / f"panel.{name}" for name in ("html", "svg", "imkpl")}
    options = [
        part
        for flag, name in (("report", "html"), ("plot", "svg"), ("model", "imkpl"))
        for part in (f"--{flag}", outputs[name])
    ]
    answer = shell.ask(*command, *options)
    assert (answer["sizes"], answer["have"]) == ([2, 3], ["alcohol", "ash"])
    assert answer["entered"][0] in (["alcohol", "ash"], ["ash", "alcohol"])
    page = outputs["html"].read_text()
    assert "Every model has alcohol, ash." in page
    assert "If one cannot be measured" in page
    assert "<svg" in outputs["svg"].read_text()
    assert shell.ask("inspect", outputs["imkpl"])["n_features"] == 6
    assert "expected whole numbers" in shell.fails(*command[:4], "--sizes", "a few")
    prices.write_text("name,price\nash,cheap\n")
    assert "no list of prices" in shell.fails(*command)
