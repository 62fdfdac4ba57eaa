"""``python -m imkpl.experiments table-3 --quick``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from imkpl.experiments.reproduction import ALL, FOLDER, available, reproduce


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure tables and figures, and say where the page is.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int
        0 if all went well, 1 if cells failed, 2 for wrong arguments, 130 when interrupted.
    """
    parser = argparse.ArgumentParser(
        prog="python -m imkpl.experiments",
        description="Measure the paper's tables and figures again.",
        epilog=f"Known are {', '.join(available())}, and {ALL}.",
    )
    parser.add_argument("names", nargs="+", metavar="name")
    parser.add_argument("--quick", action="store_true", help="small data, under a minute each")
    parser.add_argument("--folder", default=FOLDER, help="where rows and the page go")
    parser.add_argument("--jobs", type=int, help="cells at a time, by default one per processor")
    parser.add_argument("--splits", type=int, help="in the place of the declared number")
    parser.add_argument("--dataset", action="append", help="only this one; can be repeated")
    parser.add_argument("--limit", type=float, help="give a cell up after so many seconds")
    parser.add_argument("--retry-failed", action="store_true", help="try failures again")
    parser.add_argument("--any-version", action="store_true", help="keep rows of older source")
    parser.add_argument("--page-only", action="store_true", help="measure nothing")
    parser.add_argument("--document", help="a Markdown document that gets the tables too")
    parser.add_argument("--corrected", action="store_true", help="corrected test (Nadeau, Bengio)")
    given = parser.parse_args(arguments)
    try:
        outcome = reproduce(
            given.names,
            quick=given.quick,
            folder=given.folder,
            n_jobs=given.jobs,
            n_splits=given.splits,
            datasets=given.dataset,
            limit=given.limit,
            retry_failed=given.retry_failed,
            any_version=given.any_version,
            measure=not given.page_only,
            document=given.document,
            correction="nadeau-bengio" if given.corrected else "none",
        )
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(
            "Stopped. What was finished is kept; the same command goes on from there.\n"
        )
        return 130
    failed = f", {outcome.n_failed} failed" if outcome.n_failed else ""
    sys.stdout.write(
        f"{outcome.n_measured} of {outcome.n_cells} cells measured{failed}. See {outcome.page}\n"
    )
    return 1 if outcome.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
