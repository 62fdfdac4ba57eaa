"""What a user gets for wrong input: one sentence, exit code 1, no file."""

import itertools
import os
import pkgutil
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from imkpl import IMKPL, load, save
from imkpl.cli import command, main
from imkpl.cli import fit as fitting

TRAIN = ("--target", "cultivar", "--prototypes", 6)


def fit(shell, path, *more):
    return shell.fails("fit", path, "--target", "cultivar", *more)


NO_TARGET = (
    "data.csv does not say which column holds the classes. Name it with --target. Its columns are "
    "'wine', 'alcohol', 'malic_acid', 'ash', 'alcalinity_of_ash', 'magnesium', 'total_phenols' and "
    "'cultivar'."
)
SENTENCES = {
    "fit {data}": NO_TARGET,
    "fit {data} --target cultivars": "data.csv has no column 'cultivars' (--target). Did you mean "
    "'cultivar'?",
    "fit {data} --target cultivar --target ash": "--target is given 2 times ('cultivar' and 'ash')"
    ", expected it once. Fit a model for each, with --drop for the others.",
    "predict {model} {data} --id ash --id wine": "--id is given 2 times ('ash' and 'wine'), "
    "expected it once. Keep one of them.",
    "fit {folder}/no.csv": "{folder}/no.csv does not exist. Check the name and the folder.",
    "fit {folder}": "{folder} is a folder, expected a file. Pass a file in it.",
    "fit {data} --model {folder}": "{folder} is a folder. Pass the name of a file in it.",
    "fit {data} --report {folder}/no/p.html": "The folder {folder}/no of p.html does not exist. "
    "Create it, or choose another.",
    "fit {data} --report p.pdf": "--report is p.pdf, expected a name that ends in .html or .json.",
    "fit {data} --model {folder}/a.imkpl": "{folder}/a.imkpl already exists. Choose another name, "
    "or replace it with --force.",
    "fit {data} --model {data} --force": "{data} is already read or written by this command. "
    "Choose another name.",
    "predict {model} {data} --out {data} --force": "{data} is already read or written by this "
    "command. Choose another name.",
    "predict {model} {data} --out p.doc": "--out is p.doc, expected a name that ends in .csv or "
    ".json or .h5ad.",
    "explain {model} {data} --row w999": "There is no row 'w999'; the rows are named w0, w1, w2, "
    "... Name their column with --id, or number them from 1 to 60.",
    "explain {folder}/c.imkpl {data}": "{folder}/c.imkpl does not exist. Pass a file that "
    "imkpl.save wrote.",
    "export {model} --out p.pmml": "--output is p.pmml, expected a name that ends in .json or "
    ".onnx.",
}


@pytest.mark.parametrize("typed", SENTENCES)
def test_wrong_input_gets_a_sentence(shell, folder, data, typed):
    names = {"data": data, "folder": folder, "model": folder / "a.imkpl"}
    before = {path: path.read_bytes() for path in folder.iterdir()}
    words = [word.format(**names) for word in typed.split()]
    assert shell.fails(*words) == SENTENCES[typed].format(**names)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


TOO_FEW = (
    ", expected at least three: two to learn from and one to measure on. Add rows of that class, "
    "leave them out, or use --test-size 0."
)


@pytest.mark.parametrize(
    ("n_rows", "sentence"),
    [
        (
            20,
            "Target 'cultivar' has one class, 'Barolo', expected at least two. Add rows of another "
            "class, or name another column with --target.",
        ),
        (41, f"Class 'Barbera' has 1 row{TOO_FEW}"),
        (42, f"Class 'Barbera' has 2 rows{TOO_FEW}"),
    ],
)
def test_too_few_classes_or_rows(shell, wine, tmp_path, n_rows, sentence):
    wine[:n_rows].to_csv(tmp_path / "a.csv", index=False)
    assert fit(shell, tmp_path / "a.csv") == sentence


def test_new_files_that_do_not_fit_the_model(shell, folder, wine, tmp_path):
    path = tmp_path / "a.csv"
    wine.assign(alcohol="strong").to_csv(path, index=False)
    assert shell.fails("predict", folder / "a.imkpl", path) == (
        "Column 'alcohol' of a.csv holds text such as 'strong', but the model was fitted to "
        "numbers there. Correct the cells, or check that the columns of both files mean the same."
    )
    wine[["wine", "ash"]].to_csv(path, index=False)
    message = shell.fails("predict", folder / "b.imkpl", path)
    assert message.startswith("a.csv lacks ")
    assert "rename columns, or say that it was not measured: --not-measured " in message
    assert message.endswith("Its columns are 'wine' and 'ash'.")
    wine.assign(cultivar=["x", "y"] * 30).to_csv(path, index=False)
    assert shell.fails("predict", folder / "a.imkpl", path, "--target", "cultivar") == (
        "a.csv has none of the model's classes: found 'x' and 'y', expected 'Barbera', 'Barolo' "
        "and 'Grignolino'. Name the column with the classes with --target."
    )


def test_models_that_cannot_be_used(shell, folder, wine, tmp_path):
    path, rows = tmp_path / "m.imkpl", folder / "wine.csv"
    assert shell.fails("predict", rows, folder / "a.imkpl") == (
        "wine.csv is not a model, expected a file that imkpl fit --model wrote. Pass the model "
        "first, and then the data."
    )
    path.write_text("no model")
    assert shell.fails("predict", path, rows).startswith(f"{path} cannot be loaded: ")
    save(IMKPL(), path)
    assert shell.fails("predict", path, rows) == (
        "m.imkpl holds a IMKPL that is not fitted or is not a classifier, expected a fitted model. "
        "Write one with imkpl fit --model."
    )
    y = wine["cultivar"].to_numpy()
    K = (y[:, None] == y) * 0.5 + np.eye(60) * 0.5
    save(IMKPL("precomputed", n_prototypes=3).fit(K, y), path)
    assert shell.fails("predict", path, rows) == (
        "The model in m.imkpl reads similarities, expected one that reads a table. Use it from "
        "Python."
    )


def test_a_file_that_may_not_be_read(shell, data, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert fit(shell, data) == f"{data} cannot be used: permission denied."


@pytest.mark.parametrize(
    "typed", [[], ["--tarjet", "cultivar"], ["--test-size", 2], ["--sparsity", 0]]
)
def test_wrong_options_are_usage_errors(shell, data, typed):
    result = shell("fit", *([data] if typed else []), *typed)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: " in result.stderr


def test_internal_errors_are_told_apart(shell, data, monkeypatch):
    monkeypatch.setattr(fitting, "_build_model", lambda *parts, **more: {}["gone"])
    typed = ("fit", data, "--target", "cultivar")
    result = shell(*typed)
    assert result.exit_code == command.INTERNAL_ERROR == 3
    assert "an error in imkpl, not in your data (KeyError: 'gone'). Run again with" in result.stderr
    assert "Traceback" not in result.stderr
    shown = shell(*typed, "--debug").stderr
    assert "Traceback" in shown
    assert shown.splitlines()[-1].startswith("imkpl: ")


def raising(error):
    def fail(*arguments, **more):
        raise error

    return fail


def test_too_little_memory_is_reported(shell, data, monkeypatch):
    monkeypatch.setattr(fitting, "_build_model", raising(MemoryError()))
    assert fit(shell, data) == "The data do not fit into memory. Use fewer rows or columns."


@pytest.mark.skipif(os.name != "posix", reason="There are pipes with names on POSIX systems only")
@pytest.mark.parametrize("option", ["--model", "--report"])
def test_a_pipe_is_refused_before_the_fit(shell, data, tmp_path, monkeypatch, option):
    pipe = tmp_path / "page.html"
    os.mkfifo(pipe)
    monkeypatch.setattr(IMKPL, "fit", raising(AssertionError("fitted")))
    assert "is a device, a pipe or a socket" in fit(shell, data, option, pipe, "--force")
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("step", "turn"),
    [
        ("imkpl.IMKPL.fit", 1),
        ("imkpl.report.page.render_report", 1),
        ("os.fsync", 2),
        ("os.replace", 1),
    ],
)
def test_stopping_leaves_the_old_model_with_the_old_page(shell, data, tmp_path, step, turn):
    old = {data.name: data.read_bytes(), "m.imkpl": b"old model", "page.html": b"old page"}
    for name, content in old.items():
        (tmp_path / name).write_bytes(content)
    outputs = ("--model", tmp_path / "m.imkpl", "--report", tmp_path / "page.html", "--force")
    original, calls = pkgutil.resolve_name(step), itertools.count(1)

    def stop_in_turn(*arguments, **more):
        if next(calls) == turn:
            raise KeyboardInterrupt
        return original(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, stop_in_turn)
        result = shell("fit", data, *TRAIN, *outputs)
    assert result.exit_code == 130
    assert result.stderr.endswith("Stopped with Ctrl-C. No file is incomplete.\n")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == old
    assert next(calls) > turn


def test_warnings_become_notes(capsys):
    with command.handle_errors(debug=False):
        warnings.warn("The search was cut short.", UserWarning, stacklevel=1)
        warnings.warn("Call it otherwise.", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: The search was cut short.\n"


@pytest.mark.parametrize("package", ["typer", "rich", "pandas", "jinja2"])
def test_without_its_packages_the_command_says_what_to_install(package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        f"The command line needs {package}, which is not installed. Install it with "
        "pip install 'imkpl[cli]'.\n"
    )


def test_names_and_classes_keep_their_zeros_everywhere(shell, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    frame = pd.DataFrame(rng.standard_normal((30, 2)) + y[:, None] * 4, columns=["a", "b"])
    frame = frame.assign(id=[f"{i:05d}" for i in range(30)], kind=np.where(y, "001", "000"))
    data, model = tmp_path / "a.csv", tmp_path / "m.imkpl"
    frame.to_csv(data, index=False)
    new = frame[:16].assign(kind=[*frame["kind"][:15], "1"])
    new.to_csv(tmp_path / "b.csv", index=False)
    train = ("fit", data, "--target", "kind", "--id", "id", "--prototypes", 2)
    fitted = shell.ask(*train, "--model", model)
    assert [one["class"] for one in fitted["classes"]] == ["000", "001"]
    measured = shell.ask("predict", model, tmp_path / "b.csv")["measured"]
    assert measured["recall"] == {"000": 1, "1": 0}
    assert set(load(model).support_ids_) <= set(frame["id"])
    answer = shell.ask("predict", model, data, "--id", "id", "--out", tmp_path / "p.csv")
    assert [row["id"] for row in answer["rows"]] == frame["id"].tolist()
    assert answer["measured"]["accuracy"] == 1
    written = pd.read_csv(tmp_path / "p.csv", dtype=str)
    assert written["id"].tolist() == frame["id"].tolist()
    assert written["prediction"].tolist() == frame["kind"].tolist()
    assert "00003" in shell("explain", model, data, "--id", "id", "--row", "00003").stdout


def test_one_class_with_a_zero_leaves_the_others_what_they_are(shell, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2], 15)
    frame = pd.DataFrame(rng.standard_normal((30, 2)) + y[:, None] * 4, columns=["a", "b"])
    frame.assign(y=y).to_csv(tmp_path / "a.csv", index=False)
    frame.assign(y=[*map(str, y[:-1]), "03"]).to_csv(tmp_path / "b.csv", index=False)
    train = ("fit", tmp_path / "a.csv", "--target", "y", "--prototypes", 2)
    shell.ask(*train, "--model", tmp_path / "m.imkpl")
    use = (tmp_path / "m.imkpl", tmp_path / "b.csv", "--target", "y")
    assert shell.ask("predict", *use)["measured"]["recall"] == {"03": 0, "1": 1, "2": 1}
    assert shell.ask("report", *use, "--out", tmp_path / "p.html")["accuracy"] == 29 / 30
