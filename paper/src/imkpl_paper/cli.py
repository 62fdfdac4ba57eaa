"""``imkpl-paper reproduce``: the paper's tables and figures, measured again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="The study around imkpl: the paper's tables and figures, measured again.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def set_up() -> None:
    """Keep ``reproduce`` a command of its own."""


@app.command()
def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            help="table-1 to table-5, figure-synthetic, -embedding, -sensitivity, -convergence, "
            "or all.",
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
    corrected: Annotated[
        bool, typer.Option("--corrected", help="Bold by the test of Nadeau and Bengio.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Measure tables and figures of the paper again, and write them on one page.

    Every measurement is kept as it is made: a run can be stopped at any moment, and the same
    command continues it.

    \b
    Examples:
      imkpl-paper reproduce all --quick
      imkpl-paper reproduce table-3 table-4 --jobs 4
      imkpl-paper reproduce table-2 table-3 --dataset TOX_171
      imkpl-paper reproduce figure-sensitivity --folder results/paper
    """  # noqa: D301
    # Importing takes seconds, which --help need not wait for.
    from imkpl_paper import experiments

    try:
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
            correction="nadeau-bengio" if corrected else "none",
        )
    except KeyboardInterrupt:
        typer.echo("imkpl-paper: Interrupted. What was measured is kept.", err=True)
        raise typer.Exit(130) from None
    except (ValueError, OSError) as error:
        if debug:
            raise
        typer.echo(f"imkpl-paper: {error}", err=True)
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps({**outcome._asdict(), "page": str(outcome.page)}))
    else:
        typer.echo(
            f"{outcome.n_measured} of {outcome.n_cells} cells measured. The page is {outcome.page}"
        )
    if outcome.n_failed:
        typer.echo(
            f"imkpl-paper: {outcome.n_failed} cells failed; the page has the reasons.", err=True
        )
        raise typer.Exit(1)


def main() -> None:
    """Run the command line and leave with its exit code."""
    app(prog_name="imkpl-paper")
