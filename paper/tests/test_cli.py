"""The command imkpl-paper, with nothing measured."""

import json

import pytest
from typer.testing import CliRunner

from imkpl_paper.cli import app
from imkpl_paper.experiments import Outcome


def type_in(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What the command passes on."""
    found = []

    def take(names, **settings):
        found.append((names, settings))
        if names == ["interrupted"]:
            raise KeyboardInterrupt
        n_cells = 0 if names == ["without data"] else 12
        return Outcome(tmp_path / "index.html", n_cells, 5, int(settings["limit"] is not None))

    monkeypatch.setattr("imkpl_paper.experiments.reproduce", take)
    return found


def test_options_are_passed_on(calls, tmp_path):
    arguments = ("table-3", "table-4", "--quick", "--jobs", 2, "--folder", tmp_path, "--json")
    result = type_in(*arguments, "--dataset", "wine", "--dataset", "digits")
    assert json.loads(result.stdout)["n_cells"] == 12
    names, settings = calls[0]
    assert names == ["table-3", "table-4"]
    assert settings["quick"]
    assert settings["n_jobs"] == 2
    assert settings["datasets"] == ["wine", "digits"]
    assert settings["measure"]
    assert not settings["retry_failed"]


def test_the_answer_names_the_page_and_counts_failures(calls, tmp_path):
    result = type_in("all")
    assert f"5 of 12 cells measured. The page is {tmp_path / 'index.html'}" in result.stdout
    assert calls[0][1]["datasets"] is None
    failed = type_in("all", "--limit", 1)
    assert failed.exit_code == 1
    assert "1 cells failed; the page has the reasons." in failed.stderr


def test_without_data_nothing_is_measured_and_that_is_an_error(calls):
    result = type_in("without data")
    assert result.exit_code == 1
    assert "There is nothing to measure: no data set of these tables" in result.stderr


def test_an_interrupt_has_its_own_exit_code(calls):
    result = type_in("interrupted")
    assert result.exit_code == 130


def test_an_unknown_name_is_answered_with_the_nearest():
    result = type_in("tabel-3")
    assert result.exit_code == 1
    assert "There is no table or figure 'tabel-3'. Did you mean 'table-3'?" in result.stderr
    assert "Traceback" not in result.stderr
