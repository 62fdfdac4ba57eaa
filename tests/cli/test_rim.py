"""What names may do to a terminal, how long a fit takes, and which files are written."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from imkpl import IMKPL
from imkpl._progress import announce, listening
from imkpl.cli import command, models
from imkpl.cli import fit as fitting
from imkpl.readers import InputError
from imkpl.report import write_report

FAKE = "imkpl: fake error"
CONTROLS = (
    "\n",
    "\r\n",
    "\x1b[2J",
    "\x07",
    "\x7f",
    "\x85",
    "\x9b31m",
    "\u2028",
    "\u2029",
    "\u202e",
)
FIT = ("--target", "kind", "--prototypes", 4, "--sparsity", 3)


def hostile(control):
    return f"line1{control}{FAKE}"


@pytest.fixture(scope="module", params=CONTROLS, ids=ascii)
def control(request):
    return request.param


@pytest.fixture(scope="module")
def tables(control, tmp_path_factory):
    """A table with the control in every name, and a model of it."""
    folder = tmp_path_factory.mktemp("hostile")
    values = np.random.default_rng(0).standard_normal((40, 2))
    is_ill = np.arange(40) % 2 == 1
    values[is_ill] += 2
    frame = pd.DataFrame(values, columns=[hostile(control), "other"])
    frame["where"] = np.where(np.arange(40) % 3, hostile(control), "elsewhere")
    frame["kind"] = np.where(is_ill, hostile(control), "well")
    frame["row"] = [f"{hostile(control)} {row}" for row in range(40)]
    # Parquet keeps names as they are.
    frame.to_parquet(folder / "a.parquet")
    return folder


def check_shown(result):
    for line in (result.stdout + result.stderr).split("\n"):
        assert line.isprintable(), ascii(line)
        assert not line.startswith(FAKE)


def test_controls_in_names_are_shown_escaped(shell, control, tables):
    data, model = tables / "a.parquet", tables / "a.imkpl"
    escaped = hostile(control.encode("unicode_escape").decode())
    fitted = shell("fit", data, *FIT, "--id", "row", "--stability", 2, "--model", model)
    checked = shell("check", data, "--target", "kind")
    assert fitted.exit_code == 0, fitted.stderr
    explained = shell("explain", model, data, "--id", "row")
    described = shell("inspect", model, "--records")
    predicted = shell("predict", model, data, "--id", "row", "--target", "kind")
    for result in (fitted, checked, explained, described, predicted, shell("card", model)):
        check_shown(result)
        assert "Traceback" not in result.stderr
    for result in (fitted, checked, explained, described, predicted):
        assert escaped in result.stdout
    answer = shell("predict", model, data, "--id", "row", "--json").stdout
    assert answer.replace("\n", "").isprintable()
    assert FAKE in json.loads(answer)["rows"][0]["id"]


def test_controls_in_errors_and_notes_are_shown_escaped(shell, control, tables, tmp_path):
    for typed in (
        ("check", tmp_path / hostile(control)),
        ("check", tables / "a.parquet", "--target", hostile(control) + "s"),
        ("fit", tables / "a.parquet", *FIT, "--require", hostile(control) + "?", "--debug"),
    ):
        result = shell(*typed)
        assert result.exit_code == 1
        check_shown(result)
        assert result.stderr.split("\n")[-2].startswith("imkpl: ")


def test_controls_in_progress_are_shown_escaped(control, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with command.progress_bar("fitting"):
        announce("a", hostile(control))
    assert hostile(control) not in terminal.getvalue()
    assert hostile(control.encode("unicode_escape").decode()) in terminal.getvalue()


def test_a_long_fit_says_so_before_it_starts(shell, folder, monkeypatch):
    typed = ("fit", folder / "wine.csv", "--target", "cultivar", "--prototypes", 3)
    assert " s on a usual computer" not in shell(*typed).stderr
    monkeypatch.setattr(fitting, "SECONDS_PER_COLUMN", 2.0)
    said = "note: 6 fits to 48 rows with 6 columns: about 72 s on a usual computer.\n"
    seen = []
    with listening(seen.append):
        assert said in shell(*typed, "--repeats", 1).stderr
    # Folds are announced one by one.
    folds = [(one.done, one.total) for one in seen if one.source == "folds"]
    assert folds == [(fold, 5) for fold in range(5)]


def test_folds_that_would_take_long_are_not_started(monkeypatch):
    monkeypatch.setattr(models, "MAX_FOLD_ROWS", 100)
    monkeypatch.setattr(models, "split_folds", lambda data, seed: [None] * 5)
    with pytest.raises(InputError, match="that would take about 300 s; --repeats 1 does it"):
        models.measure_folds(None, [0] * 60, seed=0, repeats=None, seconds=60)


def test_the_choice_of_the_number_of_prototypes_is_announced():
    X, y = load_wine(return_X_y=True)
    seen = []
    with listening(seen.append):
        IMKPL().fit(X[::3], y[::3])
    steps = [(one.done, one.total) for one in seen if one.source == "prototypes"]
    done, total = zip(*steps, strict=True)
    assert len(set(total)) == 1
    assert done[:5] == (0, 1, 2, 3, 4)
    assert list(done) == sorted(done)
    assert done[-1] == total[-1]


def test_python_writes_nothing_that_was_not_named(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = IMKPL(n_prototypes=3).fit(X[::3], y[::3])
    model.predict(X)
    model.predict_proba(X)
    str(model.explain(X[:2]))
    page = tmp_path_factory.mktemp("named") / "page.html"
    write_report(model, X[::7], y[::7], page)
    assert list(tmp_path.iterdir()) == []
    assert list(page.parent.iterdir()) == [page]
