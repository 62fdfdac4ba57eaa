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
from imkpl.cli import command

FAKE = "imkpl: fake error"
CONTROLS = "\n", "\r\n", "\x1b[2J", "\x07", "\x7f", "\x85", "\x9b31m", "\u2028", "\u2029", "\u202e"
FIT = ("--target", "kind", "--prototypes", 10, "--sparsity", 3)


def hostile(control):
    return f"[red]<b>&ü漢{control}{FAKE}"


NAMES = [hostile(control) for control in CONTROLS]
ESCAPED = [hostile(control.encode("unicode_escape").decode()) for control in CONTROLS]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Every control in the name of a column, of a class, of a category and of rows."""
    path = tmp_path_factory.mktemp("hostile") / "a.parquet"
    rows = np.arange(80)
    values = np.random.default_rng(0).standard_normal((80, 10)) + 4 * np.eye(10)[rows % 10]
    frame = pd.DataFrame(values, columns=NAMES)
    frame["where"] = np.array([*NAMES, "elsewhere"])[rows % 11]
    frame["kind"] = np.array(NAMES)[rows % 10]
    frame["row"] = [f"{NAMES[row % 10]} {row}" for row in rows]
    # Parquet keeps names as they are.
    frame.to_parquet(path)
    return path


def check_shown(result):
    for line in (result.stdout + result.stderr).split("\n"):
        assert line.isprintable(), ascii(line)
        assert not line.startswith(FAKE)


def test_controls_in_names_are_shown_escaped(shell, table):
    model = table.with_name("a.imkpl")
    fitted = shell("fit", table, *FIT, "--id", "row", "--stability", 2, "--model", model)
    checked = shell("check", table, "--target", "kind")
    assert fitted.exit_code == 0, fitted.stderr
    rows = [word for name in NAMES for word in ("--row", f"{name} {NAMES.index(name)}")]
    explained = shell("explain", model, table, "--id", "row", *rows)
    described = shell("inspect", model, "--records")
    predicted = shell("predict", model, table, "--id", "row", "--target", "kind")
    for result in (fitted, checked, explained, described, predicted):
        check_shown(result)
        assert "Traceback" not in result.stderr
        assert all(escaped in result.stdout for escaped in ESCAPED)
    check_shown(shell("card", model))
    answer = shell("predict", model, table, "--id", "row", "--json").stdout
    assert answer.replace("\n", "").isprintable()
    assert FAKE in json.loads(answer)["rows"][0]["id"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_controls_in_errors_and_notes_are_shown_escaped(shell, name, table, tmp_path):
    for typed in (
        ("check", tmp_path / name),
        ("check", table, "--target", f"{name}s"),
        ("fit", table, *FIT, "--require", f"{name}?", "--debug"),
    ):
        result = shell(*typed)
        assert result.exit_code == 1
        check_shown(result)
        assert result.stderr.split("\n")[-2].startswith("imkpl: ")


def test_controls_in_progress_are_shown_escaped(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with command.progress_bar("fitting"):
        for name in NAMES:
            announce(name, name)
    assert not any(name in terminal.getvalue() for name in NAMES)
    assert all(escaped in terminal.getvalue() for escaped in ESCAPED)


def test_folds_are_announced_one_by_one(shell, folder):
    seen = []
    with listening(seen.append):
        shell("fit", folder / "wine.csv", *FIT[2:], "--target", "cultivar", "--repeats", 1)
    folds = [(one.done, one.total) for one in seen if one.source == "folds"]
    assert folds == [(fold, 5) for fold in range(5)]


def test_the_choice_of_the_number_of_prototypes_is_announced():
    X, y = load_wine(return_X_y=True)
    seen = []
    with listening(seen.append):
        IMKPL().fit(X[::3], y[::3])
    steps = [(one.done, one.total) for one in seen if one.source == "prototypes"]
    done, total = zip(*steps, strict=True)
    assert len(set(total)) == 1
    assert done[:3] == (0, 0, 1)
    assert list(done) == sorted(done)
    assert done[-1] == total[-1]
