"""What `imkpl check` says about a table, and about the likely mistakes of spreadsheet users."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from imkpl.readers import ReadOptions, read_training_file

MISTAKES = Path(__file__).parent / "mistakes"
SENTENCES = {
    "units": "Column 'glucose': 24 cells ('120 mg/dl', '123 mg/dl' and '125 mg/dl') read as "
    "numbers, without 'mg/dl'.",
    "limits": "Column 'crp': 2 cells ('<0.1') read as the limit itself.",
    "missing_code": "Column 'weight': '-999' in 3 cells looks like a code for a missing value.",
    "spellings": "Column 'sex': 'male' and 'Male' look like one category and count as 2.",
    "spelt_classes": "Target 'diagnosis': 'Ill' and 'ill' look like one class and count as 2.",
    "misspelt_class": "Target 'diagnosis': 1 class with fewer than 3 rows: 'wel' (1).",
    "copies": "2 rows repeat the values of another, such as row '25' those of '4'.",
    "visits": "Column 'patient' has 8 different values in 24 rows, such as 'P00' in 3: rows of "
    "the same person or sample?",
    "derived": "Column 'treatment' alone tells the class in all 24 rows.",
    "dates": "Column 'admitted' looks like dates written as numbers, such as 20240116.",
    "case_numbers": "Column 'case' has whole numbers that rise from row to row, as the numbers "
    "of cases do.",
    "two_in_one": "Column 'pressure' is read as categories, but its cells begin with numbers "
    "('120/80', '130/70' and '150/70').",
    "one_sided": "Target 'diagnosis': 36 rows are 'well' and only 4 are 'ill'.",
}
# What makes the finding go away without a change of the file.
REMEDIES = {
    "missing_code": ["--missing", "-999"],
    "visits": ["--group", "patient"],
    "derived": ["--drop", "treatment"],
    "dates": ["--drop", "admitted"],
    "case_numbers": ["--id", "case"],
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_mistake_gets_a_sentence_and_an_advice(shell, name):
    result = shell("check", MISTAKES / f"{name}.csv")
    assert result.exit_code == 1
    shown = result.stdout.splitlines()
    advice = shown[shown.index(f"* {SENTENCES[name]}") + 1]
    assert advice.startswith("  ")
    assert " ".join(REMEDIES.get(name, [])) in advice
    assert shown[-1] == "1 finding to act on."
    if name in REMEDIES:
        corrected = shell("check", MISTAKES / f"{name}.csv", *REMEDIES[name])
        assert (corrected.exit_code, corrected.stdout.splitlines()[-1]) == (0, "Nothing to do.")


def test_every_file_of_mistakes_is_tested():
    assert {path.stem for path in MISTAKES.glob("*.csv")} == {*SENTENCES, "title"}


def test_a_title_above_the_table_is_not_read_and_said(shell):
    result = shell("check", MISTAKES / "title.csv")
    assert "note: 'Results of the study 2024' above the table is not read." in result.stderr
    assert result.exit_code == 0


def test_the_table_says_how_columns_are_read_and_how_to_change_that(shell, tmp_path):
    frame = pd.DataFrame({"name": [f"p{i}" for i in range(12)], "ward": [1, 2, 3] * 4})
    frame["size"] = [1.5, 2, None, 4, 5, 6, 7, 8, 9, 1, 3, 2]
    frame["colour of hair"] = ["dark", "fair"] * 6
    frame["born"], frame["site"] = "1990-02-03", "Ulm"
    frame["y"] = ["b", "a", "a"] * 4
    frame.to_csv(tmp_path / "a.csv", index=False)
    result = shell("check", tmp_path / "a.csv", "--categories", "ward")
    lines = [line.split("  ") for line in result.stdout.splitlines()[2:9]]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells == [
        ["y", "target", "a (8), b (4)", "--target COLUMN"],
        ["ward", "categories", "1 (4), 2 (4), 3 (4)", "--numbers ward"],
        ["size", "numbers", "1 to 9", "1", "--categories size"],
        ["colour of hair", "categories", "dark (6), fair (6)", "--numbers 'colour of hair'"],
        ["name", "left out", cells[4][2], "--categories name"],
        ["born", "left out", cells[5][2], "--categories born"],
        ["site", "left out", "always 'Ulm'"],
    ]
    assert "Baseline to beat: 66.7% (8 of 12 rows are 'a')." in result.stdout


def test_json_has_columns_findings_and_baseline(shell):
    result = shell("check", MISTAKES / "units.csv", "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["baseline"] == {"class": "ill", "rows": 12, "accuracy": 0.5}
    (finding,) = answer["findings"]
    assert (finding["kind"], finding["columns"]) == ("units", ["glucose"])
    assert [one["role"] for one in answer["columns"]] == ["target"] + ["numbers"] * 3


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_clean_tables_have_no_findings(tmp_path, load):
    X, y = load(return_X_y=True, as_frame=True)
    X.assign(y=y).drop_duplicates().to_csv(tmp_path / "a.csv", index=False)
    data = read_training_file(tmp_path / "a.csv", ReadOptions(target="y"))
    assert [one.text for one in data.findings] == []


def test_age_groups_grades_and_signs_stay_categories(tmp_path):
    frame = pd.DataFrame({"age": ["<65", ">=65"] * 10, "grade": ["1a", "1b", "2a", "2b"] * 5})
    frame["marker"] = ["CD4+", "CD4-"] * 10
    frame["dose"] = ["5 mg", "3 ml"] * 10
    frame["y"] = (["a"] * 3 + ["b"] * 2) * 4
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = read_training_file(tmp_path / "a.csv", ReadOptions(target="y"))
    assert [data.samples[name].dtype.kind for name in data.samples] == ["O"] * 4
    assert not any(one.needs_action for one in data.findings)


def test_codes_are_emptied_where_they_are_named(tmp_path):
    frame = pd.DataFrame({"a": [1.5, -999, 2, 3], "b": ["x", "y", "n.d.", "x"], "y": list("uvuv")})
    frame.to_csv(tmp_path / "a.csv", index=False)
    options = ReadOptions(target="y", missing=("-999", "n.d."))
    samples = read_training_file(tmp_path / "a.csv", options).samples
    assert samples["a"].isna().tolist() == [False, True, False, False]
    assert samples["b"].isna().tolist() == [False, False, True, False]


def test_rows_without_a_value_to_learn_from_are_left_out(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None, 2, 3], "b": ["x", None, "y", "x"], "y": list("uvuv")})
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = read_training_file(tmp_path / "a.csv", ReadOptions(target="y"))
    assert data.y.tolist() == ["u", "u", "v"]
    assert "1 row without a value to learn from left out." in data.notes


def test_equal_rows_of_another_class_are_counted(tmp_path):
    frame = pd.DataFrame({"a": np.arange(12) ** 1.5, "b": np.arange(12) % 3, "y": list("uv") * 6})
    frame.loc[3, ["a", "b"]] = frame.loc[8, ["a", "b"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    texts = [one.text for one in read_training_file(tmp_path / "a.csv").findings]
    start = "1 row repeats the values of another, such as row '9' those of '4'"
    assert f"{start}, 1 with another class." in texts


def test_many_findings_of_a_kind_are_counted(shell, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"a{i}": [f"{v} kg" for v in rng.integers(1, 99, 20)] for i in range(9)})
    frame.assign(y=["u", "v"] * 10).to_csv(tmp_path / "a.csv", index=False)
    shown = shell("check", tmp_path / "a.csv").stdout
    assert shown.count("without 'kg'") == 1
    assert "* 9 findings such as this one, in 'a0', 'a1', 'a2'" in shown
    assert "1 finding to act on." in shown


def test_options_must_name_columns(shell):
    path = MISTAKES / "visits.csv"
    assert shell.fails("check", path, "--drop", "wait") == (
        "visits.csv has no column 'wait' (--drop). Did you mean 'weight'?"
    )
    assert shell.fails("check", path, "--group", "patient", "--drop", "patient") == (
        "Column 'patient' is both --group and --drop, expected two columns. Change one."
    )


def test_rows_of_few_persons_are_suspected_without_their_names(shell, tmp_path):
    source, person = np.random.default_rng(0), np.repeat(np.arange(40), 4)
    values = source.standard_normal((40, 5))[person] + 0.1 * source.standard_normal((160, 5))
    frame = pd.DataFrame(values, columns=list("abcde")).assign(ill=person % 2)
    path, asked = tmp_path / "visits.csv", "rows of the same person or sample?"
    frame.sample(frac=1, random_state=0).to_csv(path, index=False)
    assert "such as '1', " in (shown := shell("check", path, "--target", "ill").stdout)
    assert shown.count(asked) == 1
    # A control: every row is of its own person.
    frame[list("abcde")] = source.standard_normal((160, 5))
    frame.to_csv(path, index=False)
    assert asked not in shell("check", path, "--target", "ill").stdout


def test_a_column_that_is_constant_for_stretches_of_a_log_may_name_persons(shell, tmp_path):
    source, person = np.random.default_rng(0), np.repeat(np.arange(9), 50)
    values = {"speed": source.standard_normal(450), "height": 160 + (7 * person % 9)}
    frame = pd.DataFrame({**values, "act": np.arange(450) // 10 % 2})
    path, asked = tmp_path / "log.csv", "Column 'height' has 9 different values, each in rows"
    frame.to_csv(path, index=False)
    assert asked in shell("check", path, "--target", "act").stdout
    # Neither does a file that is sorted by a column, nor one in which heights come again.
    for other in (frame.sort_values("height"), frame.sample(frac=1, random_state=0)):
        other.to_csv(path, index=False)
        assert asked not in shell("check", path, "--target", "act").stdout


def test_a_file_for_a_model_is_compared_with_its_training(shell, tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.assign(region=np.where(X["alcohol"] > 13, "north", "south"), kind=y)
    X.to_csv(tmp_path / "wine.csv", index=False)
    model, odd_file = tmp_path / "m.imkpl", tmp_path / "odd.csv"
    names = ("region", "hue", "proline", "alcohol", "flavanoids")
    fixed = ["--target", "kind", "--prototypes", 3, "--max-kernels", 5]
    needed = [part for name in names for part in ("--require", name)]
    shell("fit", tmp_path / "wine.csv", "--model", model, *fixed, *needed)
    same = shell("check", model, tmp_path / "wine.csv")
    assert (same.exit_code, "As training." in same.stdout) == (0, True)
    odd = X.drop(columns="proline").assign(hue=X["hue"] * 100, alcohol=X["alcohol"] + 2)
    odd.loc[::3, "region"] = "moon"
    odd.loc[::5, ["flavanoids", "hue", "alcohol"]] = None
    odd.to_csv(odd_file, index=False)
    found = shell("check", model, odd_file, "--json")
    assert found.exit_code == 1
    findings = {one["kind"]: one for one in json.loads(found.stdout)["findings"]}
    kinds = {"missing columns", "no answer", "units", "unknown categories", "shifted"}
    assert set(findings) == kinds
    assert findings["units"]["columns"] == ["hue"]
    assert "about 100 times as large" in findings["units"]["text"]
    assert "--not-measured proline" in shell.fails("predict", model, odd_file)
    rows = shell.ask("predict", model, odd_file, "--not-measured", "proline")["rows"]
    assert [one["prediction"] is None for one in rows[:6]] == [True, *[False] * 4, True]
    assert "of the weight is missing" in rows[0]["note"]


def test_cells_that_are_nearly_numbers_are_corrected_and_not_declared_missing(shell, tmp_path):
    for cell, advice in (
        ("about 4", "Write the number alone, such as 4, or empty the cells."),
        ("unclear", "Correct or empty them, or say that they mean missing: --missing 'unclear'."),
    ):
        cells = [1.5, 2, cell, 4, 5, 6, 7, 8, 9, 1, 3, 2.5] * 2
        pd.DataFrame({"size": cells, "y": list("ab") * 12}).to_csv(tmp_path / "a.csv", index=False)
        result = shell("check", tmp_path / "a.csv")
        assert result.exit_code == 1
        assert f"2 cells ('{cell}') are not numbers, read as missing.\n  {advice}" in result.stdout
