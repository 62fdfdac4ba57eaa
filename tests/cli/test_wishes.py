"""Wishes of an expert, as options of ``imkpl fit``: obeyed, or refused in a sentence."""

import numpy as np
import pytest

import imkpl

FIT = ("--target", "cultivar", "--sparsity", 3, "--seed", 1)


@pytest.fixture(autouse=True, scope="module")
def few_folds():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("imkpl.cli.measure.N_FOLDS", 2)
        yield


@pytest.fixture(scope="module")
def steered(shell, wine, tmp_path_factory):
    """A table with columns of wishes, and a model that was fitted with them."""
    folder = tmp_path_factory.mktemp("steered")
    rows = np.arange(len(wine))
    frame = wine.assign(
        consent=np.where(rows % 2 == 0, "yes", "No"),
        textbook=np.where(rows == 4, "1", ""),
        odd=rows == 6,
    )
    frame.to_csv(folder / "wine.csv", index=False)
    more = ("--require", "ash", "--exclude", "alcohol", "--together", "malic_acid, magnesium")
    rows = ("--eligible", "consent", "--pin", "textbook", "--ban", "odd")
    command = ("fit", folder / "wine.csv", *FIT, *more, *rows, "--cost-of-wishes")
    return folder, shell.ask(*command, "--model", folder / "m.imkpl"), frame


def test_wishes_on_the_command_line_are_obeyed(steered):
    folder, answer, frame = steered
    model = imkpl.load(folder / "m.imkpl")
    weights = dict(zip(model.kernel_names_, model.kernel_weights_, strict=True))
    assert weights["ash"] > 0 == weights["alcohol"]
    assert (weights["malic_acid"] > 0) == (weights["magnesium"] > 0)
    assert not {"consent", "textbook", "odd"} & set(weights)
    # Rows are numbered from 1, and pinned ones are never held out.
    numbers = model.support_ids_.astype(int)
    assert (frame["consent"].iloc[numbers - 1] == "yes").all()
    places = np.argmax(model.prototypes_.toarray(), axis=1)
    centres = dict(zip(model.support_.tolist(), numbers.tolist(), strict=True))
    assert 5 in [centres[place] for place in places]
    assert 7 not in [centres[place] for place in places]
    assert answer["wishes"]["exclude"] == ["alcohol"]
    assert (answer["wishes"]["pin"], answer["wishes"]["ban"]) == (1, 1)


def test_the_cost_of_wishes_is_kept_in_the_file(shell, steered):
    folder, answer, _ = steered
    cost = answer["cost_of_wishes"]
    assert len(cost["with_wishes"]) == len(cost["without_wishes"]) == 2
    found = shell.ask("inspect", folder / "m.imkpl")
    assert found["provenance"]["cost_of_wishes"] == cost
    assert found["wishes"] == answer["wishes"]
    text = shell("inspect", folder / "m.imkpl").stdout
    assert "exclude: alcohol" in text
    assert cost["text"] in text


def test_a_record_is_forgotten_under_the_same_wishes(shell, steered, tmp_path):
    folder, _, _ = steered
    shell.ask(
        *("forget", folder / "m.imkpl", folder / "wine.csv", "--id", 1),
        *("--model", tmp_path / "n.imkpl"),
    )
    old, new = imkpl.load(folder / "m.imkpl"), imkpl.load(tmp_path / "n.imkpl")
    assert new.sample_wishes_["pin"].sum() == old.sample_wishes_["pin"].sum() == 1
    assert "cost" not in shell("inspect", tmp_path / "n.imkpl").stdout


REFUSED = [
    (("--require", "ash", "--exclude", "ash"), "is required and excluded"),
    (("--require", "asch"), "Did you mean 'ash'"),
    (("--together", "ash,wine"), "lists 'wine'"),
    (("--eligible", "konsent"), "no column 'konsent' (--eligible)"),
    (("--eligible", "ash"), "(--eligible) has '2.43' in row 1, expected yes or no"),
    (("--pin", "odd", "--ban", "odd"), "is both --pin and --ban"),
    (("--eligible", "cultivar"), "is both --target and --eligible"),
    (("--pin", "textbook", "--drop", "textbook"), "is to be dropped"),
    (("--eligible", "textbook"), "has no eligible sample"),
    (("--cost-of-wishes",), "there are none"),
    (("--eligible", "consent", "--stability", 2), "fits without wishes about rows"),
]


@pytest.mark.parametrize(("options", "sentence"), REFUSED)
def test_wishes_that_cannot_be_are_refused(options, sentence, shell, steered):
    assert sentence in shell.fails("fit", steered[0] / "wine.csv", *FIT, *options)


def test_accuracy_in_folds_is_measured_with_the_wishes_or_a_note_says_why_not(shell, steered):
    base = ("fit", steered[0] / "wine.csv", *FIT, "--repeats", 1)
    assert shell.ask(*base, "--eligible", "consent")["folds"]["repeats"] == 1
    frame = steered[2].assign(few=np.isin(np.arange(60), [0, 20, 40]))
    path = steered[0] / "few.csv"
    frame.to_csv(path, index=False)
    result = shell("fit", path, *FIT, "--repeats", 1, "--eligible", "few")
    assert result.exit_code == 0
    assert "not measured in folds: Class" in result.stderr
