"""What a user gets for wrong input: one sentence, exit code 1, no file."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import typer

from imkpl import IMKPL, load, save
from imkpl.cli import answering, learning, main, outputs


def fit(shell, path, *more):
    return shell.fails("fit", path, "--target", "cultivar", *more)


def test_a_file_that_is_not_there(shell, tmp_path):
    path = tmp_path / "nowhere.csv"
    assert fit(shell, path) == f"{path} is not there. Check the name and the folder."


def test_a_folder(shell, tmp_path):
    assert fit(shell, tmp_path) == f"{tmp_path} is a folder, expected a file. Name a file in it."


def test_an_empty_file(shell, tmp_path):
    (tmp_path / "a.csv").touch()
    expected = "a.csv is empty, expected rows of data. Check how it was made."
    assert fit(shell, tmp_path / "a.csv") == expected


def test_a_format_that_is_not_read(shell, tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    assert fit(shell, tmp_path / "a.xlsx") == (
        "a.xlsx ends in .xlsx, expected .csv, .tsv, .parquet, .feather, .npz, .mat, .arff or .ts. "
        "Save the sheet as CSV in the spreadsheet program."
    )


def test_a_target_that_is_not_there(shell, data):
    assert shell.fails("fit", data, "--target", "cultivars") == (
        "data.csv has no column 'cultivars' (--target). Did you mean 'cultivar'?"
    )


def test_no_target(shell, data):
    assert shell.fails("fit", data) == (
        "It is not known which column of data.csv holds the classes. Say so with --target NAME; "
        "its columns are 'wine', 'alcohol', 'malic_acid', 'ash', 'alcalinity_of_ash', 'magnesium', "
        "'total_phenols' and 'cultivar'."
    )


def test_a_target_of_amounts(shell, data):
    message = shell.fails("fit", data, "--target", "malic_acid")
    assert message.startswith("Target 'malic_acid' has 5")
    assert message.endswith(
        "this is a classifier and needs classes. Make groups of them (such as low and high), or "
        "write classes as text."
    )


def test_one_class(shell, frame, tmp_path):
    frame[:20].to_csv(tmp_path / "a.csv", index=False)
    assert fit(shell, tmp_path / "a.csv") == (
        "Target 'cultivar' has one class, 'Barolo', expected at least two to tell apart. Add rows "
        "of another class, or name another column with --target."
    )


@pytest.mark.parametrize(("n_rows", "said"), [(41, "one row"), (42, "2 rows")])
def test_a_class_of_few_rows(shell, frame, tmp_path, n_rows, said):
    frame[:n_rows].to_csv(tmp_path / "a.csv", index=False)
    assert fit(shell, tmp_path / "a.csv") == (
        f"Class 'Barbera' has {said}, expected at least three: two to learn from and one to "
        "measure on. Add rows of that class, leave it out, or use --test-size 0."
    )


def test_a_ragged_line(shell, data):
    data.write_text(data.read_text() + "w99,1,2\n")
    assert fit(shell, data) == (
        "Line 62 of data.csv has 3 cells, expected 8 as in the first line. Quote cells that hold "
        "the separator, or name it with --separator."
    )


def test_text_instead_of_numbers_in_a_new_file(shell, folder, frame, tmp_path):
    frame["alcohol"] = "strong"
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert shell.fails("predict", folder / "a.imkpl", tmp_path / "a.csv") == (
        "Column 'alcohol' of a.csv holds text such as 'strong', but the model was fitted to "
        "numbers there. Check that the columns of the two files mean the same."
    )


def test_missing_cells_for_a_model_of_complete_numbers(shell, folder, frame, tmp_path):
    name = load(folder / "a.imkpl").feature_names_in_[0]
    frame.loc[[3, 5], name] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert shell.fails("predict", folder / "a.imkpl", tmp_path / "a.csv") == (
        f"Column '{name}' of a.csv has no number in 2 rows (first: row w3), but the model was "
        "fitted to complete numbers. Fill the cells, leave out the rows, or fit again with "
        "--allow-missing."
    )


def test_columns_that_are_missing(shell, folder, frame, tmp_path):
    frame[["wine", "ash"]].to_csv(tmp_path / "a.csv", index=False)
    message = shell.fails("predict", folder / "b.imkpl", tmp_path / "a.csv")
    assert message.startswith("a.csv lacks ")
    assert message.endswith("rename columns: those in the file are 'wine' and 'ash'.")


def test_a_model_that_is_none(shell, folder):
    message = shell.fails("predict", folder / "wine.csv", folder / "wine.csv")
    assert message.startswith(f"{folder / 'wine.csv'} cannot be loaded: ")


def test_a_model_that_is_not_there(shell, folder):
    message = shell.fails("explain", folder / "c.imkpl", folder / "wine.csv")
    assert message.startswith(f"{folder / 'c.imkpl'} is not there.")


def test_a_model_that_was_not_fitted(shell, folder, tmp_path):
    save(IMKPL(), tmp_path / "m.imkpl")
    assert shell.fails("predict", tmp_path / "m.imkpl", folder / "wine.csv") == (
        "m.imkpl holds a IMKPL that was not fitted or does not classify, expected a fitted model. "
        "Write one with imkpl fit --model."
    )


def test_a_model_of_kernels_of_its_own(shell, folder, frame, tmp_path):
    K = np.eye(60) * 0.9 + 0.1
    save(IMKPL("precomputed", sparsity=2).fit(K, frame["cultivar"]), tmp_path / "m.imkpl")
    assert shell.fails("predict", tmp_path / "m.imkpl", folder / "wine.csv") == (
        "The model in m.imkpl has kernels of its own and reads neither tables nor time series. Use "
        "it from Python."
    )


def test_time_series_for_a_model_of_tables(shell, folder, tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((3, 2, 4)), y=[0, 1, 1])
    assert shell.fails("predict", folder / "a.imkpl", tmp_path / "a.npz") == (
        "a.npz holds time series, but the model was fitted to a table. Pass a file of the kind "
        "that it was fitted to."
    )


def test_pickled_objects(shell, tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 2)), y=np.array(["a", None]))
    assert shell.fails("fit", tmp_path / "a.npz") == (
        "a.npz holds pickled objects, which can run code and are never opened, expected arrays of "
        "numbers or text. Save with numpy.savez(path, X=X, y=y.astype(str))."
    )


def test_a_file_of_matlab_7_3(shell, tmp_path):
    start = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(start + b"\0" * 500)
    assert shell.fails("fit", tmp_path / "a.mat") == (
        "a.mat is in version 7.3 of MATLAB's format, expected 7 or older. Save it in MATLAB with "
        "save('name.mat', 'X', 'Y', '-v7')."
    )


def test_a_damaged_parquet_file(shell, frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
    assert fit(shell, tmp_path / "a.parquet") == (
        "a.parquet cannot be read as a Parquet file: it is damaged, cut short or of another "
        "format. Write it again."
    )


def test_names_of_rows_that_are_not_unique(shell, frame, tmp_path):
    frame["wine"] = frame["wine"].replace("w3", "w1")
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert fit(shell, tmp_path / "a.csv", "--id", "wine") == (
        "Column 'wine' (--id) has 'w1' in rows 2 and 4, expected a name of its own for every row. "
        "Take another column, or leave out --id to number the rows."
    )


def test_a_row_that_is_not_there(shell, folder):
    command = ("explain", folder / "a.imkpl", folder / "wine.csv", "--row", "w999")
    assert shell.fails(*command) == (
        "There is no row 'w999'; the rows are called w0, w1, w2, ... Name their column with --id, "
        "or number them from 1."
    )


@pytest.mark.parametrize("option", ["--model", "--report"])
def test_a_folder_for_results_that_is_not_there(shell, data, tmp_path, option):
    path = tmp_path / "nowhere" / "out"
    assert fit(shell, data, option, path) == (
        f"{path} cannot be written: the folder {path.parent} is not there. Make it, or choose "
        "another."
    )


def test_a_folder_for_results_that_is_a_file(shell, data):
    path = data / "page.html"
    assert fit(shell, data, "--report", path) == (
        f"{path} cannot be written: {data} is a file, expected a folder. Choose another name."
    )


def test_a_folder_for_results_that_may_not_be_written_to(shell, data, tmp_path, monkeypatch):
    # Who runs the tests may be allowed to write everywhere.
    monkeypatch.setattr(outputs.os, "access", lambda path, mode: not mode & outputs.os.W_OK)
    path = tmp_path / "page.html"
    assert fit(shell, data, "--report", path) == (
        f"{path} cannot be written: you may not write to the folder {tmp_path}. Choose another."
    )


def test_a_file_that_may_not_be_read(shell, data, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert fit(shell, data) == f"{data} cannot be used: permission denied."


def test_a_result_that_is_already_there(shell, data, tmp_path):
    (tmp_path / "m.imkpl").write_text("precious")
    assert fit(shell, data, "--model", tmp_path / "m.imkpl") == (
        f"{tmp_path / 'm.imkpl'} is already there. Choose another name, or replace it with --force."
    )
    assert (tmp_path / "m.imkpl").read_text() == "precious"


def test_a_result_in_place_of_the_input(shell, folder, data):
    for command in (
        ("fit", data, "--target", "cultivar", "--model", data, "--force"),
        ("predict", folder / "a.imkpl", data, "--out", data, "--force"),
    ):
        assert shell.fails(*command) == (
            f"{data} is read or written for something else in the same command. Choose another "
            "name."
        )


def test_a_format_of_results_that_there_is_not(shell, folder, tmp_path):
    command = ("predict", folder / "a.imkpl", folder / "wine.csv", "--out", tmp_path / "p.doc")
    assert shell.fails(*command) == "--out is p.doc, expected a name that ends in .csv or .json."
    command = ("fit", folder / "wine.csv", "--target", "cultivar", "--report", tmp_path / "p.pdf")
    assert shell.fails(*command) == (
        "--report is p.pdf, expected a name that ends in .html or .json."
    )


def test_classes_that_the_model_does_not_know(shell, folder, frame, tmp_path):
    frame["cultivar"] = ["x", "y"] * 30
    frame.to_csv(tmp_path / "a.csv", index=False)
    command = ("compare", folder / "a.imkpl", folder / "b.imkpl", "--data", tmp_path / "a.csv")
    assert shell.fails(*command, "--target", "cultivar") == (
        "No class of a.csv is one of the model's: 'x' and 'y' are not among 'Barbera', 'Barolo' "
        "and 'Grignolino'. Name the column with the classes with --target."
    )


def test_settings_that_contradict_each_other(shell, data):
    assert fit(shell, data, "--path", "--sparsity", 3) == (
        "--path chooses the size by cross-validation, so --sparsity and --max-kernels have no say. "
        "Leave them out, or leave out --path."
    )


def test_a_target_without_a_file(shell, folder):
    command = ("compare", folder / "a.imkpl", folder / "b.imkpl", "--target", "cultivar")
    assert shell.fails(*command) == (
        "--target names a column of a file, but there is none. Add --data FILE."
    )


def test_wrong_options_are_usage_errors(shell, data):
    for command in (
        ("fit",),
        ("fit", data, "--tarjet", "cultivar"),
        ("fit", data, "--test-size", 2),
        ("fit", data, "--sparsity", 0),
        ("fitt", data),
    ):
        result = shell(*command)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "Usage: " in result.stderr


def test_faults_of_the_program_are_told_apart(shell, data, monkeypatch):
    monkeypatch.setattr(learning, "build_model", lambda *parts: {}["gone"])
    command = ("fit", data, "--target", "cultivar")
    result = shell(*command)
    assert result.exit_code == answering.IMKPL_AT_FAULT == 3
    assert "a fault of imkpl, not of your data (KeyError: 'gone'). Run again with" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in shell(*command, "--debug").stderr


def test_debug_shows_where_a_complaint_came_from(shell, tmp_path):
    result = shell("fit", tmp_path / "a.csv", "--target", "y", "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("imkpl: ")


def test_too_little_memory_is_said(shell, data, monkeypatch):
    def run_out(*parts):
        raise MemoryError

    monkeypatch.setattr(learning, "build_model", run_out)
    message = shell.fails("fit", data, "--target", "cultivar")
    assert message == "The data do not fit into memory. Use fewer rows or columns."


def test_stopping_leaves_no_files(shell, data, tmp_path, monkeypatch):
    def stop(*parts):
        raise KeyboardInterrupt

    monkeypatch.setattr(IMKPL, "fit", stop)
    before = sorted(tmp_path.iterdir())
    result = shell("fit", data, "--target", "cultivar", "--model", tmp_path / "m.imkpl")
    assert result.exit_code == 130
    assert result.stderr.endswith("Stopped with Ctrl-C. No file was left half written.\n")
    assert sorted(tmp_path.iterdir()) == before


def test_stopping_while_writing_leaves_no_files(tmp_path, monkeypatch):
    def stop(*parts):
        raise KeyboardInterrupt

    monkeypatch.setattr(outputs.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        outputs.write_text(tmp_path / "p.csv", "text")
    assert list(tmp_path.iterdir()) == []


def test_warnings_become_notes(capsys):
    with answering.ending_well(debug=False):
        warnings.warn("The search was cut short.", UserWarning, stacklevel=1)
        warnings.warn("Call it otherwise.", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: The search was cut short.\n"


@pytest.mark.parametrize("ending", [typer.Exit(5), typer.Abort(), BrokenPipeError()])
def test_endings_that_typer_knows_pass_through(ending, capsys):
    with pytest.raises(type(ending)), answering.ending_well(debug=False):
        raise ending
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("package", ["typer", "rich", "pandas"])
def test_without_its_packages_the_command_says_what_to_install(package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        f"The command line needs {package}, which is not installed. Install it with "
        "pip install 'imkpl[cli]'.\n"
    )


def test_a_report_needs_its_packages(shell, data, tmp_path, monkeypatch):
    pytest.importorskip("imkpl.report")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert fit(shell, data, "--report", tmp_path / "page.html") == (
        "A report needs jinja2, which is not installed. Install it with pip install "
        "'imkpl[report]'."
    )


def test_labels_are_compared_by_their_text(shell, tmp_path):
    """Whole numbers in one file and text in the other are the same classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2], 15)
    frame = pd.DataFrame(rng.standard_normal((30, 2)) + y[:, None] * 3, columns=["a", "b"])
    frame.assign(y=np.where(y == 1, "1a", "2")).to_csv(tmp_path / "a.csv", index=False)
    shell.ask("fit", tmp_path / "a.csv", "--target", "y", "--model", tmp_path / "m.imkpl")
    frame[15:].assign(y=2).to_csv(tmp_path / "b.csv", index=False)
    command = ("compare", tmp_path / "m.imkpl", tmp_path / "m.imkpl", "--data", tmp_path / "b.csv")
    assert shell.ask(*command, "--target", "y")["on_data"]["accuracy"]["a"] > 0.9
