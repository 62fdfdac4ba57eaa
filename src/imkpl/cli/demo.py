"""``imkpl demo``: fit on embedded data, say what was learned, and write a page.

``make demo`` and ``python -m imkpl.cli.demo`` run it too.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl.cli.answering import Command
from imkpl.cli.applying import explain_rows
from imkpl.cli.fit import describe_fit, say_fit, write_page
from imkpl.cli.learning import Fitted, Settings, fit_model, split_rows
from imkpl.cli.options import DebugOption, JsonOption
from imkpl.cli.show import note, say, say_json
from imkpl.readers import DataFile

EXAMPLES = """
imkpl demo
imkpl demo --folder somewhere
"""


def _demo(
    folder: Annotated[
        Path, typer.Option("--folder", help="The page is written here, as report.html.")
    ] = Path("demo"),
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Learn from most of 569 patients with a tumour, and say what was learned.

    The data (Wisconsin breast cancer, 30 measurements of cell nuclei) come with scikit-learn. The
    page of an earlier demo is replaced.
    """
    data = embedded_data()
    settings = Settings(sparsity=5, max_kernels=10)
    note("The first run compiles for a while; later ones start at once.")
    fitted = fit_model(*split_rows(data, settings), settings)
    page = _write_page(fitted, folder)
    scores = _score(fitted)
    answer = {**describe_fit(fitted), **scores, "command": "demo"}
    answer["report"] = None if page is None else str(page)
    if as_json:
        say_json(answer)
        return
    say("Breast cancer: is a tumour malignant or benign, by its cell nuclei?")
    say_fit({**answer, "report": None})
    say(f"\nInterpretability (IP): {scores['interpretability']:.0f} of 100")
    say(f"Discrimination (DR):   {scores['discrimination']:.0f} of 100\n")
    say("Why? The first of the patients that the model has not seen:\n")
    say(str(explain_rows(fitted.model, _test_part(fitted).take(np.array([0])))))
    if page is not None:
        say(f"\nAll patients, prototypes and features: open {page} in a browser.")


def embedded_data() -> DataFile:
    """The breast cancer data of scikit-learn as if read from a file."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    ids = np.arange(1, len(found.data) + 1)
    return DataFile(
        samples=found.data.set_axis(ids, axis=0),
        y=found.target_names[found.target],
        ids=ids,
        target="diagnosis",
    )


def _test_part(fitted: Fitted) -> DataFile:
    return fitted.test if fitted.test is not None else fitted.train


def _score(fitted: Fitted) -> dict[str, Any]:
    from imkpl.estimators import discrimination_scorer, interpretability_scorer

    test = _test_part(fitted)
    return {
        "interpretability": float(interpretability_scorer(fitted.model)),
        "discrimination": float(discrimination_scorer(fitted.model, test.samples, test.y)),
    }


def _write_page(fitted: Fitted, folder: Path) -> Path | None:
    if find_spec("imkpl.report") is None or find_spec("jinja2") is None:
        note("No page is written: that needs jinja2, pip install 'imkpl[report]'.")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    write_page(fitted, page, title="Breast cancer")
    return page


demo = Command("demo", _demo, EXAMPLES)

if __name__ == "__main__":
    from imkpl.cli import main

    main(["demo"])
