"""What a model file says about its origin and about the records inside it."""

import zipfile

import pytest

import imkpl
from imkpl import IMKPL


@pytest.fixture(scope="module")
def named(shell, folder):
    """A model with the names of rows, and its twin with pseudonyms of them."""
    base = ["fit", folder / "wine.csv", "--target", "cultivar", "--sparsity", 3, "--id", "wine"]
    for name, more in (("named", []), ("hidden", ["--pseudonymise", "--key", folder / "k.key"])):
        result = shell(*base, *more, "--model", folder / f"{name}.imkpl")
        assert result.exit_code == 0, result.stderr
    return folder


def read_members(path):
    """All that a model file holds, one after the other."""
    with zipfile.ZipFile(path) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())


def test_inspect_lists_the_records_with_their_values_in_the_file(shell, named, wine):
    found = shell.ask("inspect", named / "named.imkpl", "--records")
    assert found["kind"] == "IMKPL"
    assert found["n_records"] == len(found["records"]) > 0
    assert sum(one["records"] for one in found["classes"]) == found["n_records"]
    table = wine.set_index("wine")
    kept = {one["name"] for one in found["features"]}
    for record in found["records"]:
        row = table.loc[record["id"]]
        assert record["class"] == row["cultivar"]
        assert record["values"] == {name: row[name] for name in kept}
        assert record["prototypes"]


def test_inspect_says_where_a_model_comes_from(shell, folder):
    origin = shell.ask("inspect", folder / "a.imkpl")["provenance"]
    assert (origin["target"], origin["rows"], origin["file"]) == ("cultivar", 60, "wine.csv")
    assert origin["held_out"]["rows"] == len(origin["held_out_rows"]) == 12
    assert origin["versions"]["imkpl"] == imkpl.__version__
    text = shell("inspect", folder / "a.imkpl", "--records").stdout
    for part in (origin["fingerprint"], origin["date"], "On held-out rows", "training rows are in"):
        assert part in text


def test_a_model_saved_from_python_can_be_inspected(shell, folder, wine, tmp_path):
    path = tmp_path / "m.imkpl"
    X = wine.iloc[:, 1:7]
    for model in (IMKPL(sparsity=2), imkpl.IMKPLSelector(IMKPL(sparsity=2))):
        imkpl.save(model.fit(X, wine["cultivar"]), path)
        assert shell.ask("inspect", path)["provenance"] is None
    assert "not written by imkpl fit" in shell("inspect", path).stdout
    imkpl.save(IMKPL(), path)
    assert "is not fitted" in shell.fails("inspect", path)


def test_names_are_stored_only_if_asked_for(named, folder, wine):
    names = [name.encode() for name in wine["wine"]]
    assert any(name in read_members(named / "named.imkpl") for name in names)
    for file in ("a", "hidden"):
        content = read_members(folder / f"{file}.imkpl")
        assert not any(b'"' + name + b'"' in content for name in names)


def test_pseudonyms_are_those_of_the_key(shell, named, wine, tmp_path):
    hidden = imkpl.load(named / "hidden.imkpl").support_ids_.tolist()
    base = ["fit", named / "wine.csv", "--target", "cultivar", "--sparsity", 3, "--id", "wine"]
    base += ["--pseudonymise", "--model", tmp_path / "m.imkpl", "--report", tmp_path / "page.json"]
    shell(*base, "--key", named / "k.key")
    assert imkpl.load(tmp_path / "m.imkpl").support_ids_.tolist() == hidden
    page = (tmp_path / "page.json").read_text()
    assert hidden[0] in page
    assert not any(f'"{name}"' in page for name in wine["wine"])
    shell(*base, "--force")
    assert not set(imkpl.load(tmp_path / "m.imkpl").support_ids_.tolist()) & set(hidden)
    assert (named / "k.key").stat().st_mode & 0o077 == 0


def test_a_key_without_names_is_an_error(shell, folder, tmp_path):
    base = ["fit", folder / "wine.csv", "--target", "cultivar"]
    assert "Add --pseudonymise" in shell.fails(*base, "--key", tmp_path / "k")
    assert "rows are numbered" in shell.fails(*base, "--pseudonymise")
    (tmp_path / "k").write_text("short")
    wrong = [*base, "--id", "wine", "--pseudonymise", "--key", tmp_path / "k"]
    assert "5 bytes, expected at least 16" in shell.fails(*wrong)
