"""A run of a table with methods that only sleep, for tests that kill it."""

import os
import time
from functools import partial

from joblib.externals.loky import get_reusable_executor

from imkpl_paper.experiments.methods import METHODS
from imkpl_paper.experiments.page import as_markdown, make_section
from imkpl_paper.experiments.plan import Item, Size, make_plan
from imkpl_paper.experiments.run import RowStore, current_rows, find_missing, run_cells
from imkpl_paper.experiments.views import Found

SIZE = Size(datasets=("wine", "digits"), methods=("1-NN", "ISKPL"), n_splits=5)
ITEM = Item("table-3", "A table", SIZE, SIZE, ("accuracy",), "measures")


def sleep_instead(cell, limit=None, *, folder):
    """What a cell gives depends on nothing but the cell; every fifth one fails."""
    with (folder / "log.txt").open("a") as log:
        log.write(f"{cell.key}\n")
    time.sleep(0.05)
    row = {
        "key": cell.key,
        "task": cell.task,
        "dataset": cell.dataset,
        "method": cell.method,
        "split": cell.split,
        "settings": {},
        "fingerprint": METHODS[cell.method].fingerprint,
        "cell_seconds": 0.05,
    }
    if cell.split == 3:
        return row | {"status": "failed", "reason": "ValueError: the fourth split"}
    return row | {"status": "done", "accuracy": 90.0 + cell.split + len(cell.dataset)}


def make_table(folder, n_jobs):
    store = RowStore(folder / "rows.jsonl")
    plan = make_plan(ITEM, quick=False)
    missing = find_missing(plan.cells, store)
    run_cells(missing, store, n_jobs=n_jobs, measure=partial(sleep_instead, folder=folder))
    found = Found(plan, current_rows(store.read()))
    (folder / "page.md").write_text(as_markdown([make_section(found)], ()))


def make_table_in_a_group(folder, n_jobs):
    """In a process group of its own, so that it can be killed with the processes it starts."""
    os.setsid()
    make_table(folder, n_jobs)
    if n_jobs > 1:
        # Waiting workers would keep the process for minutes.
        get_reusable_executor().shutdown(wait=True)
