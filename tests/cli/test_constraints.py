"""Constraints of an expert, as options of ``imkpl fit``: obeyed, or refused in a sentence."""

import numpy as np
import pytest

import imkpl

FIT = ("--target", "cultivar", "--prototypes", 6, "--seed", 1)


@pytest.fixture(scope="module")
def table(wine, tmp_path_factory):
    """A table with columns of yes and no."""
    rows = np.arange(len(wine))
    frame = wine.assign(
        consent=np.where(rows % 2 == 0, "yes", "No"),
        textbook=np.where(rows == 4, "1", ""),
        few=np.isin(rows, [0, 20, 40]),
    )
    path = tmp_path_factory.mktemp("constraints") / "wine.csv"
    frame.to_csv(path, index=False)
    return path


def test_constraints_are_obeyed_and_kept_in_the_file(shell, table, tmp_path):
    path = tmp_path / "m.imkpl"
    more = ("--require", "ash", "--exclude", "alcohol", "--eligible", "consent", "--drop", "few")
    answer = shell.ask("fit", table, *FIT, *more, "--model", path)
    model = imkpl.load(path)
    weights = dict(zip(model.kernel_names_, model.kernel_weights_, strict=True))
    assert weights["ash"] > 0 == weights["alcohol"]
    assert "consent" not in weights
    # Rows are numbered from 1, and every second one is eligible.
    assert set(model.support_ids_.astype(int) % 2) == {1}
    assert answer["constraints"]["exclude"] == ["alcohol"]
    assert 20 < answer["constraints"]["eligible"] < 30
    assert shell.ask("inspect", path)["constraints"] == answer["constraints"]
    assert "Constraints: require: ash; exclude: alcohol; " in shell("inspect", path).stdout


REFUSED = [
    (("--require", "ash", "--exclude", "ash"), "is required and excluded"),
    (("--require", "asch"), "Did you mean 'ash'"),
    (("--eligible", "konsent"), "no column 'konsent' (--eligible)"),
    (("--eligible", "ash"), "(--eligible) has '2.43' in row 1, expected yes or no"),
    (("--eligible", "cultivar"), "is both --target and --eligible"),
    (("--eligible", "textbook", "--drop", "textbook"), "is both --eligible and --drop"),
    (("--eligible", "textbook"), "has no eligible sample"),
    (("--eligible", "consent", "--stability", 2), "fits without constraints on rows"),
]


@pytest.mark.parametrize(("options", "sentence"), REFUSED)
def test_constraints_that_cannot_be_are_refused(options, sentence, shell, table):
    assert sentence in shell.fails("fit", table, *FIT, *options)


def test_accuracy_in_folds_is_measured_under_constraints_or_a_note_says_why_not(shell, table):
    base = ("fit", table, *FIT, "--repeats", 1, "--eligible")
    assert shell.ask(*base, "consent")["provenance"]["folds"]["repeats"] == 1
    result = shell(*base, "few")
    assert result.exit_code == 0
    assert "not measured in folds: Class" in result.stderr
