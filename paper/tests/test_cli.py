import pytest

from imkpl_paper.experiments.reproduction import Outcome


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What the command hands over, with nothing measured."""
    found = []

    def take(names, **settings):
        found.append((names, settings))
        return Outcome(tmp_path / "index.html", 12, 5, int(settings["limit"] is not None))

    monkeypatch.setattr("imkpl_paper.experiments.reproduce", take)
    return found


def test_reproduce_hands_over_what_was_typed(shell, calls, tmp_path):
    command = ("reproduce", "table-3", "table-4", "--quick", "--jobs", 2, "--folder", tmp_path)
    answer = shell.ask(*command, "--dataset", "wine", "--dataset", "digits", "--corrected")
    assert answer["n_cells"] == 12
    names, settings = calls[0]
    assert names == ["table-3", "table-4"]
    assert settings["quick"]
    assert settings["n_jobs"] == 2
    assert settings["datasets"] == ["wine", "digits"]
    assert settings["correction"] == "nadeau-bengio"
    assert settings["measure"]
    assert not settings["retry_failed"]


def test_reproduce_says_where_the_page_is_and_that_cells_failed(shell, calls, tmp_path):
    shown = shell("reproduce", "all").stdout
    assert f"5 of 12 cells measured. The page is {tmp_path / 'index.html'}" in shown
    assert calls[0][1]["datasets"] is None
    failed = shell("reproduce", "all", "--limit", 1)
    assert failed.exit_code == 1
    assert "1 cells failed; the page has the reasons." in failed.stderr


def test_reproduce_answers_an_unknown_name_with_the_nearest(shell):
    assert "Did you mean 'table-3'?" in shell.fails("reproduce", "tabel-3")
