"""From names of tables and figures to a page."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from imkpl_paper.experiments.compare import Correction
from imkpl_paper.experiments.items import ITEMS
from imkpl_paper.experiments.page import introduce, make_section, write_document, write_page
from imkpl_paper.experiments.plan import Plan, make_plan, unique_cells
from imkpl_paper.experiments.progress import show_progress
from imkpl_paper.experiments.run import default_jobs, find_missing, fingerprints, run_cells
from imkpl_paper.experiments.store import RowStore, current_rows
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
    ['table-1', 'table-2']
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
    correction: Correction = "none",
    document: Any = None,
) -> Outcome:
    """Measure the paper's tables and figures, and write them on one page.

    Rows are stored one by one, and only what is missing is measured: a run can be stopped at any
    moment and started again. Rows are measured anew when the source of the method has changed.

    Parameters
    ----------
    names : str or iterable of str
        Of `available()`, or "all".
    quick : bool
        Small data and few splits, less than a minute for each item.
    folder : path
        Where rows and the page go; quick rows and the quick page to a folder inside.
    n_jobs : int or None
        Cells at a time, each on one thread; as many as there are processors by default.
    n_splits : int or None
        Splits in the place of the declared number.
    datasets : sequence of str or None
        Of the data sets of the items only these.
    limit : float or None
        Seconds after which a cell is given up and counts as failed.
    retry_failed : bool
        Whether failures are tried again.
    any_version : bool
        Whether rows of another version of the source count.
    measure : bool
        Whether to measure what is missing; otherwise the page is made of what is there.
    correction : {"none", "nadeau-bengio"}
        Of the paired test that decides what is bold; the paper's plain test by default.
    document : path, optional
        A Markdown document that gets the tables too, below what was written there by hand.

    Returns
    -------
    Outcome
        The page, and how many cells were measured.
    """
    items = [ITEMS[name] for name in check_names(names)]
    _check_counts(n_jobs=n_jobs, n_splits=n_splits)
    _check_datasets(datasets, [name for item in items for name in item.size(quick).datasets])
    plans = [make_plan(item, quick=quick, n_splits=n_splits, datasets=datasets) for item in items]
    place = pathlib.Path(folder) / "quick" if quick else pathlib.Path(folder)
    store = RowStore(place / "rows.jsonl")
    cells = unique_cells(plans)
    missing = []
    if measure:
        missing = find_missing(cells, store, retry_failed=retry_failed, any_version=any_version)
    try:
        with show_progress() as show:
            n_failed = run_cells(
                missing, store, n_jobs=n_jobs or default_jobs(), limit=limit, show=show
            )
    finally:
        # A run that is interrupted leaves a page of what is there.
        page = _write(plans, store, place, quick, any_version, correction, document)
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
            near = get_close_matches(str(name), [*ITEMS, ALL], n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"There is no table or figure {name!r}.{hint} Known are {', '.join(ITEMS)}, "
                f"and {ALL} for all of them."
            )
    return [name for name in ITEMS if ALL in wanted or name in wanted]


def _check_counts(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ValueError(
                f"{name} is {count}, expected a whole number of at least 1. Leave it out for the "
                "default."
            )


def _check_datasets(wanted: Sequence[str] | None, known: Sequence[str]) -> None:
    for name in wanted or ():
        if name not in known:
            near = get_close_matches(str(name), known, n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"There is no data set {name!r} in these tables and figures.{hint} They have "
                f"{', '.join(dict.fromkeys(known))}."
            )


def _write(
    plans: list[Plan],
    store: RowStore,
    place: pathlib.Path,
    quick: bool,
    any_version: bool,
    correction: Correction,
    document: Any,
) -> pathlib.Path:
    rows = current_rows(store.read(), fingerprints(), any_version=any_version)
    sections = [make_section(Found(plan, rows, correction)) for plan in plans]
    introduction = introduce(quick=quick, correction=correction)
    if document is not None:
        write_document(sections, introduction, pathlib.Path(document))
    return write_page(sections, introduction, place)
