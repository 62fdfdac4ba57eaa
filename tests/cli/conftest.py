"""Small files, models of them, and a way to type commands."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from imkpl.cli import build_app


class Shell:
    """Runs commands as if they were typed; folds are measured only where --repeats asks for it."""

    def __init__(self):
        self.runner = CliRunner()

    def typed(self, *arguments):
        return self.runner.invoke(build_app(), [str(one) for one in arguments])

    def __call__(self, *arguments):
        if arguments[:1] == ("fit",) and not {"--repeats", "--help"} & set(arguments):
            arguments = (*arguments, "--repeats", 0)
        return self.typed(*arguments)

    def ask(self, *arguments):
        """The answer to a command with --json, which must be all that it prints."""
        result = self(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    def fails(self, *arguments):
        """The one sentence of a command whose input is at fault."""
        result = self(*arguments)
        assert result.exit_code == 1, (result.exit_code, result.stdout, result.stderr)
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        complaints = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
        assert len(complaints) == 1
        return complaints[0].removeprefix("imkpl: ")


@pytest.fixture(scope="session")
def shell():
    return Shell()


@pytest.fixture(scope="session")
def wine():
    """Sixty wines with names and cultivars as text."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    rows = np.concatenate([np.flatnonzero(y == label)[:20] for label in range(3)])
    frame = X.iloc[rows, :6].reset_index(drop=True)
    frame.insert(0, "wine", [f"w{row}" for row in rows])
    frame["cultivar"] = np.array(["Barolo", "Grignolino", "Barbera"])[y.iloc[rows]]
    return frame


@pytest.fixture(scope="session")
def folder(tmp_path_factory, wine, shell):
    """A folder with wine.csv and two models of it, a.imkpl and b.imkpl."""
    folder = tmp_path_factory.mktemp("files")
    wine.to_csv(folder / "wine.csv", index=False)
    for name, more in (("a", []), ("b", ["--max-kernels", 3])):
        command = ["fit", folder / "wine.csv", "--target", "cultivar", "--sparsity", 3]
        command += ["--prototypes", 6, *more]
        result = shell(*command, "--model", folder / f"{name}.imkpl")
        assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def data(folder, tmp_path):
    """A copy of the table, to be spoilt."""
    copy = tmp_path / "data.csv"
    copy.write_text((folder / "wine.csv").read_text())
    return copy
