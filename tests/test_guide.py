"""The code on the pages of the guide and in the notebooks runs; the gallery runs in `make docs`."""

import ast
import json
import pathlib
import re

import pytest

HOME = pathlib.Path(__file__).resolve().parents[1]
GUIDE = HOME / "docs" / "guide"
BLOCKS = {
    page.stem: re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    for page in sorted(GUIDE.glob("*.md"))
}


@pytest.mark.parametrize("page", [name for name, blocks in BLOCKS.items() if blocks])
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCKS[page]:
        exec(compile(block, f"{page}.md", "exec"), names)
    assert names


def test_mlflow_gets_a_pipeline_whose_types_are_to_be_trusted(tmp_path, monkeypatch):
    pytest.importorskip("skops")
    names: dict = {}
    exec(BLOCKS["mlflow"][0], names)
    homes = {name.partition(".")[0] for name in names["trusted_types"]}
    assert homes == {"imkpl", "scipy"}
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```py\n(.*?)```", (GUIDE / "mlflow.md").read_text(), re.DOTALL)[0], names)
    model, same, X = names["model"], names["same"], names["X"]
    assert (same.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize("name", ["first_model", "your_own_table"])
def test_a_notebook_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    cells = json.loads((HOME / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    names: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            exec(compile("".join(cell["source"]), name, "exec"), names)
    assert list(tmp_path.glob("*.html"))


def test_examples_of_the_gallery_have_titles_and_pictures():
    examples = sorted((HOME / "examples").glob("plot_*.py"))
    assert len(examples) >= 12
    for path in examples:
        tree = ast.parse(path.read_text())
        title, line = (ast.get_docstring(tree) or "").splitlines()[:2]
        assert line == "=" * len(title), path.name
        assert "plt.show()" in path.read_text(), path.name
