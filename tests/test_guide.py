"""The code on the pages of the guide runs."""

import pathlib
import re

import pytest

GUIDE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "guide"
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
