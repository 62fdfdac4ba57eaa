"""What a model file says about its origin and about the records inside it."""

import zipfile

import numpy as np
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


def test_forget_gives_the_model_of_the_other_rows(shell, named, wine, tmp_path):
    """Held-out rows stay held out, and nothing of the record is left in the file."""
    old = imkpl.load(named / "hidden.imkpl")
    origin, out = old.provenance_, tmp_path / "new.imkpl"
    train = np.setdiff1d(np.arange(60), origin["held_out_rows"])
    place = int(train[old.support_[0]])
    name = wine["wine"][place]
    command = ["forget", named / "hidden.imkpl", named / "wine.csv", "--id", name, "--model", out]
    command += ["--key", named / "k.key"]
    found = shell.ask(*command)
    assert found["training"]["inside"] == [old.support_ids_[0]]
    rest = np.setdiff1d(train, [place])
    X, y = wine.iloc[:, 1:7], wine["cultivar"].to_numpy()
    fresh = IMKPL(sparsity=3, random_state=0).fit(X.iloc[rest], y[rest])
    new = imkpl.load(out)
    np.testing.assert_array_equal(new.predict_proba(X), fresh.predict_proba(X))
    np.testing.assert_array_equal(new.support_, fresh.support_)
    content, others = read_members(out), set(X.drop(place).to_numpy().ravel())
    unique = [value for value in X.loc[place] if value not in others]
    assert unique
    for part in (name, old.support_ids_[0], *(np.float64(value) for value in unique)):
        assert (part.encode() if isinstance(part, str) else part.tobytes()) not in content
    assert new.provenance_["held_out"]["rows"] == 12
    assert "Inside the old model" in shell(*command, "--force").stdout
    # The next record is forgotten from the file without this one.
    wine.drop(place).to_csv(tmp_path / "rest.csv", index=False)
    again = ["forget", out, tmp_path / "rest.csv", "--key", named / "k.key"]
    other = wine["wine"][int(rest[0])]
    shell.ask(*again, "--id", other, "--model", tmp_path / "newer.imkpl")
    command[1:3] = out, named / "wine.csv"
    command[command.index(out, 2)] = tmp_path / "third.imkpl"
    assert "without records that were forgotten before" in shell.fails(*command)


def test_a_row_that_was_held_out_changes_no_model(shell, folder, tmp_path):
    old, out = imkpl.load(folder / "a.imkpl"), tmp_path / "new.imkpl"
    row = old.provenance_["held_out_rows"][0] + 1
    command = ["forget", folder / "a.imkpl", folder / "wine.csv", "--id", row, "--model", out]
    found = shell.ask(*command)
    assert (found["n_held_out"], found["training"], found["held_out"]["rows"]) == (1, None, 11)
    np.testing.assert_array_equal(imkpl.load(out).support_ids_, old.support_ids_)
    assert "never learned from" in shell(*command, "--force").stdout


def test_forget_needs_to_know_what_a_model_was_fitted_to(shell, named, wine, tmp_path):
    path, rest = tmp_path / "m.imkpl", ["--id", "1", "--model", tmp_path / "n.imkpl"]
    imkpl.save(IMKPL(sparsity=2).fit(wine.iloc[:, 1:7], wine["cultivar"]), path)
    assert "Use imkpl.forget or imkpl.release from Python" in shell.fails(
        "forget", path, named / "wine.csv", *rest
    )
    hidden = ["forget", named / "hidden.imkpl", named / "wine.csv", *rest]
    assert "Add --key FILE" in shell.fails(*hidden)
    plain = ["forget", named / "named.imkpl", named / "wine.csv", *rest]
    assert "Leave out --key" in shell.fails(*plain, "--key", named / "k.key")
    assert "There is no record '1'" in shell.fails(*plain)


def test_release_writes_a_model_of_means(shell, named, tmp_path):
    out = tmp_path / "public.imkpl"
    command = ["release", named / "hidden.imkpl", named / "wine.csv", "--k", 4, "--model", out]
    command += ["--key", named / "k.key"]
    found = shell.ask(*command)
    assert (found["k"], len(found["accuracy"])) == (4, 2)
    text = shell("inspect", out, "--records").stdout
    measured = f"{found['accuracy'][1]:.1%} now"
    for part in ("rounded means of 4 training records each", "mean 1 of 4 records", measured):
        assert part in text
    card = shell("card", out).stdout
    assert measured in card
    assert "Means of 4 records each instead of records" in card
    assert "training rows are inside" not in text
    assert "no differential privacy" in shell(*command, "--force").stdout
    command[1], command[6] = out, tmp_path / "again.imkpl"
    assert "does not say what it was fitted to" in shell.fails(*command)
