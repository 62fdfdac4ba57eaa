"""What a model file says about its origin and about the records inside it."""

import pytest

import imkpl
from imkpl import IMKPL


@pytest.fixture(scope="module")
def named(shell, folder):
    """A model with the names of rows."""
    command = ("fit", folder / "wine.csv", "--target", "cultivar", "--id", "wine")
    result = shell(*command, "--prototypes", 6, "--model", folder / "named.imkpl")
    assert result.exit_code == 0, result.stderr
    return folder / "named.imkpl"


def test_inspect_lists_the_records_with_their_values_in_the_file(shell, named, wine):
    found = shell.ask("inspect", named, "--records")
    assert found["kind"] == "IMKPL"
    assert found["n_records"] == len(found["records"]) > 0
    assert sum(one["records"] for one in found["classes"]) == found["n_records"]
    table = wine.set_index("wine")
    kept = {one["name"] for one in found["features"]}
    for record in found["records"]:
        row = table.loc[record["id"]]
        assert record["class"] == row["cultivar"]
        assert record["values"] == {name: row[name] for name in kept}
        assert record["prototypes"] or record["contrasts"]


def test_inspect_says_where_a_model_comes_from(shell, folder):
    origin = shell.ask("inspect", folder / "a.imkpl")["provenance"]
    assert (origin["target"], origin["rows"], origin["file"]) == ("cultivar", 60, "wine.csv")
    assert origin["held_out"]["rows"] == len(origin["held_out_rows"]) == 12
    assert origin["versions"]["imkpl"] == imkpl.__version__
    text = shell("inspect", folder / "a.imkpl", "--records").stdout
    for part in (
        origin["fingerprint"],
        origin["date"],
        "This model on 12 other rows",
        "training rows are in",
    ):
        assert part in text


def test_a_model_saved_from_python_can_be_inspected(shell, folder, wine, tmp_path):
    path = tmp_path / "m.imkpl"
    imkpl.save(IMKPL(n_prototypes=6).fit(wine.iloc[:, 1:7], wine["cultivar"]), path)
    assert shell.ask("inspect", path)["provenance"] is None
    assert "not written by imkpl fit" in shell("inspect", path).stdout
    imkpl.save(IMKPL(), path)
    assert "is not fitted" in shell.fails("inspect", path)


def test_names_are_stored_only_if_asked_for(named, folder, wine):
    names = set(wine["wine"])
    assert set(imkpl.load(named).support_ids_) <= names
    assert not names & set(map(str, imkpl.load(folder / "a.imkpl").support_ids_))
    content = (folder / "a.imkpl").read_bytes()
    assert not any(f'"{name}"'.encode() in content for name in names)
