"""``imkpl-paper reproduce``: the paper's tables and figures, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from imkpl.cli.command import (
    INPUT_ERROR,
    JsonOption,
    add_command,
    create_app,
    echo,
    echo_error,
    echo_json,
    echo_note,
)

EXAMPLES = """
imkpl-paper reproduce all --quick
imkpl-paper reproduce table-3 table-4 --jobs 4
imkpl-paper reproduce table-2 table-3 --dataset TOX_171
imkpl-paper reproduce figure-sensitivity --folder results/paper
"""


def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            help="overview, table-1 to table-5, table-growth, -codes, -ablation, -rounds, "
            "figure-synthetic, -embedding, -sensitivity, -convergence, or all.",
            show_default=False,
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small data, less than a minute each.")
    ] = False,
    folder: Annotated[Path, typer.Option("--folder", help="Where rows and the page go.")] = Path(
        "results/reproduction"
    ),
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            help="Number of cells at a time; one per processor by default.",
            show_default=False,
        ),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option("--splits", help="Number of splits.", show_default=False),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset", help="Use only this data set; can be repeated.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option("--limit", help="Time limit of a cell in seconds.", show_default=False),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed cells again.")
    ] = False,
    any_version: Annotated[
        bool, typer.Option("--any-version", help="Use rows of other versions of the source.")
    ] = False,
    page_only: Annotated[bool, typer.Option("--page-only", help="Only write the page.")] = False,
    document: Annotated[
        Path | None,
        typer.Option(
            "--document", help="A Markdown document that gets the tables too.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure tables and figures of the paper again, and write them on one page.

    Every measurement is kept as it is made: a run can be stopped at any moment, and the same
    command continues it.
    """
    # Importing takes seconds, which --help need not wait for.
    from imkpl_paper import experiments

    outcome = experiments.reproduce(
        names,
        quick=quick,
        folder=folder,
        n_jobs=jobs,
        n_splits=splits,
        datasets=dataset or None,
        limit=limit,
        retry_failed=retry_failed,
        any_version=any_version,
        measure=not page_only,
        document=document,
    )
    if as_json:
        echo_json({**outcome._asdict(), "page": str(outcome.page)})
    else:
        echo(
            f"{outcome.n_measured} of {outcome.n_cells} cells measured. The page is {outcome.page}"
        )
    if outcome.n_cells == 0:
        echo_error(
            "There is nothing to measure: no data set of these tables and figures is available. "
            "The page says where to get them; name their folder in IMKPL_DATA, or try --quick."
        )
        raise typer.Exit(INPUT_ERROR)
    if outcome.n_failed:
        echo_note(f"{outcome.n_failed} cells failed; the page has the reasons.")
        raise typer.Exit(INPUT_ERROR)


app = create_app("The study around imkpl: the paper's tables and figures, measured again.")


@app.callback()
def set_up() -> None:
    """Keep ``reproduce`` a command of its own."""


add_command(app, reproduce, EXAMPLES)


def main() -> None:
    """Run the command line and leave with its exit code."""
    app(prog_name="imkpl-paper")
