"""From names of tables and figures to a page."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from joblib import cpu_count

from imkpl_paper._imkpl import Progress, listening, write_line
from imkpl_paper.experiments.items import ITEMS
from imkpl_paper.experiments.page import introduce, make_section, write_document, write_page
from imkpl_paper.experiments.plan import make_plan, unique_cells
from imkpl_paper.experiments.run import RowStore, current_rows, find_missing, run_cells
from imkpl_paper.experiments.views import Found

ALL = "all"
FOLDER = "results/reproduction"


class Outcome(NamedTuple):
    """What a run has done.

    Parameters
    ----------
    page : path
        The HTML page; page.md and the figures are beside it.
    n_cells : int
        Cells of the items that were asked for.
    n_measured : int
        Those that were measured in this run.
    n_failed : int
        Those of them that failed.
    """

    page: pathlib.Path
    n_cells: int
    n_measured: int
    n_failed: int


def available() -> list[str]:
    """Names of the tables and figures.

    Returns
    -------
    list of str
        In the order of the page.

    Examples
    --------
    >>> available()[:2]
    ['overview', 'table-1']
    """
    return list(ITEMS)


def reproduce(
    names: str | Iterable[str] = ALL,
    *,
    quick: bool = False,
    folder: Any = FOLDER,
    n_jobs: int | None = None,
    n_splits: int | None = None,
    datasets: Sequence[str] | None = None,
    limit: float | None = None,
    retry_failed: bool = False,
    any_version: bool = False,
    measure: bool = True,
    document: Any = None,
) -> Outcome:
    """Measure the paper's tables and figures, and write them on one page.

    Rows are stored one by one, and only what is missing is measured: a run can be stopped at any
    moment and started again. Rows are measured again when the source of the method has changed.

    Parameters
    ----------
    names : str or iterable of str
        Names from `available()`, or "all".
    quick : bool
        Small data and few splits, less than a minute for each item.
    folder : path
        Where rows and the page go; quick rows and the quick page to a folder inside.
    n_jobs : int or None
        Number of cells measured at a time, each on one thread; one per processor by default.
    n_splits : int or None
        Number of splits; that of the declaration by default.
    datasets : sequence of str or None
        Use only these of the data sets of the items.
    limit : float or None
        Time limit of a cell in seconds; a cell that takes longer counts as failed.
    retry_failed : bool
        Whether to try failed cells again.
    any_version : bool
        Whether to use rows of other versions of the source.
    measure : bool
        Whether to measure what is missing, or only to write the page.
    document : path, optional
        A Markdown document into which the tables are written too, below its mark.

    Returns
    -------
    Outcome
        The page, and how many cells were measured.
    """
    items = [ITEMS[name] for name in check_names(names)]
    for count_name, count in (("n_jobs", n_jobs), ("n_splits", n_splits)):
        if count is not None and count < 1:
            raise ValueError(
                f"{count_name} is {count}, expected a whole number of at least 1. Leave it out for "
                "the default."
            )
    known = list(dict.fromkeys(name for item in items for name in item.size(quick).datasets))
    for name in datasets or ():
        if name not in known:
            raise ValueError(
                f"There is no data set {name!r} in these tables and figures."
                f"{_suggest(name, known)} Choose from {', '.join(known)}."
            )
    plans = [make_plan(item, quick=quick, n_splits=n_splits, datasets=datasets) for item in items]
    place = pathlib.Path(folder) / "quick" if quick else pathlib.Path(folder)
    store = RowStore(place / "rows.jsonl")
    cells = unique_cells(plans)
    missing = []
    if measure:
        missing = find_missing(cells, store, retry_failed=retry_failed, any_version=any_version)
    try:
        with listening(_write_own):
            n_failed = run_cells(missing, store, n_jobs=n_jobs or cpu_count(), limit=limit)
    finally:
        # A run that is interrupted leaves a page of what is there.
        rows = current_rows(store.read(), any_version=any_version)
        sections = [make_section(Found(plan, rows)) for plan in plans]
        introduction = introduce(quick=quick)
        page = write_page(sections, introduction, place)
        if document is not None:
            write_document(sections, introduction, pathlib.Path(document))
    return Outcome(page, len(cells), len(missing), n_failed)


def check_names(names: str | Iterable[str]) -> list[str]:
    """Names of items, each once, in the order of the page."""
    wanted = [names] if isinstance(names, str) else list(names)
    if not wanted:
        raise ValueError(
            f"No table or figure is named, expected some of {', '.join(ITEMS)}, or {ALL}."
        )
    for name in wanted:
        if name != ALL and name not in ITEMS:
            raise ValueError(
                f"There is no table or figure {name!r}.{_suggest(name, [*ITEMS, ALL])} Choose from "
                f"{', '.join(ITEMS)}, or {ALL} for all of them."
            )
    return [name for name in ITEMS if ALL in wanted or name in wanted]


def _suggest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(str(name), known, n=1, cutoff=0.4)
    return f" Did you mean {near[0]!r}?" if near else ""


def _write_own(progress: Progress) -> None:
    # Fits announce their rounds too.
    if progress.source == "reproduce":
        write_line(progress)
