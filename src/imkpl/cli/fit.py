"""Commands that look at data: ``check``, ``fit`` and ``demo``, a fit to embedded data."""

import io
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl._json import to_json
from imkpl._writing import write_files
from imkpl.cli import models, sites
from imkpl.cli.command import (
    INPUT_ERROR,
    REPORT_ENDINGS,
    Answer,
    DataArgument,
    TrainingFile,
    Written,
    echo,
    echo_note,
    echo_table,
    option,
    progress_bar,
    setting,
)
from imkpl.cli.review import Review, echo_review, read_review
from imkpl.readers import InputError, ReadOptions, read_training_file
from imkpl.readers.check import describe_columns
from imkpl.readers.formats import count, parse_file
from imkpl.readers.read import DataFile
from imkpl.readers.shifts import describe_distributions, find_gaps, find_shifts

CHECK_EXAMPLES = """
imkpl check data.csv --target class
imkpl check m.imkpl new.csv
imkpl check visits.csv --target diagnosis --group patient --missing -999 --categories ward
"""
FIT_EXAMPLES = """
imkpl fit data.csv --target class --report page.html
imkpl fit data.csv --target class --id patient --exclude ward --model m.imkpl
imkpl fit log.csv --target activity --series trial --time t --model m.imkpl
imkpl fit visits.csv --target class --group patient --site clinic --time visit --after 2024
imkpl fit genes.parquet --target subtype --max-kernels 20 --stability 10 --report page.html
"""
PATH_EXAMPLES = """
imkpl path data.csv --target class --have CD3,CD19 --sizes 5,10,20 --report panel.html
imkpl path data.csv --target class --price prices.csv --plot sizes.png
"""
DEMO_EXAMPLES = "imkpl demo --folder somewhere"
# Columns and features on a screen; --json has all of them.
MAX_COLUMNS, MAX_FEATURES = 40, 20


def check(
    data: DataArgument,
    new: Annotated[
        Path | None,
        typer.Argument(help="A file for the model that is named before it.", show_default=False),
    ] = None,
    *,
    options: TrainingFile,
) -> Answer:
    """Say how a file is read and what to correct in it, before a fit, or before a model reads it.

    Of a file for a model, it finds columns that are missing, other units, unknown categories, and
    values that are spread otherwise than in training. Nothing is written. The exit code is 0 if
    there is nothing to do, 1 if there are findings or if the file cannot be read. imkpl fit takes
    the same options.
    """
    if new is not None:
        return _check_new(data, new, options)
    with progress_bar("reading"):
        read = read_training_file(data, options)
    base = models.find_rule(read)
    answer: dict[str, Any] = {
        "file": data,
        "notes": read.notes,
        "rows": len(read),
        "columns": describe_columns(read),
        "findings": [asdict(one) for one in read.findings],
        "baseline": base,
    }
    has_task = any(one.needs_action for one in read.findings)
    return Answer(answer, _echo_check, INPUT_ERROR if has_task else 0)


def _check_new(model: Path, data: Path, options: ReadOptions) -> Answer:
    """What is unlike the training in a file for a model."""
    estimator = models.load_model(model)
    weights, known = models.weigh_columns(estimator)
    rows = models.read_for_model(estimator, data, replace(options, not_measured=tuple(weights)))
    samples = estimator.read_new(models.as_samples(estimator, rows))
    missing = estimator.predictor_.find_missing(samples)
    findings = [
        *find_gaps(rows, weights, missing, estimator.max_missing),
        *find_shifts(rows, known),
    ]
    answer = {"model": model, "file": data, "notes": rows.notes, "rows": len(rows)}
    answer["findings"] = [asdict(one) for one in findings]
    return Answer(answer, _echo_findings_of_new, INPUT_ERROR if findings else 0)


def _echo_findings_of_new(answer: dict[str, Any]) -> None:
    for one in answer["findings"]:
        echo(f"* {one['text']}", f"  {one['advice']}")
    found = (
        f"{count(len(answer['findings']), 'finding')}." if answer["findings"] else "As training."
    )
    echo(f"{answer['rows']} rows compared with the training of {answer['model']}: {found}")


def _echo_check(answer: dict[str, Any]) -> None:
    echo_note(*answer["notes"])
    head = ("column", "read as", "values", "missing", "to change it")
    rows = [
        (one["name"], one["role"], one["values"], one["n_missing"] or "", one["change"])
        for one in answer["columns"]
    ]
    echo_table(head, rows, MAX_COLUMNS)
    for title, is_task in (("To do", True), ("Good to know", False)):
        findings = [one for one in answer["findings"] if one["needs_action"] == is_task]
        if findings:
            echo("", f"{title}:")
        for one in findings:
            echo(f"* {one['text']}", *([f"  {one['advice']}"] if one["advice"] else []))
    n_tasks = sum(one["needs_action"] for one in answer["findings"])
    base = answer["baseline"]
    if "mean_error" in base:
        rule = f"the mean, {base['value']:.4g}, is off by {base['mean_error']:.4g} on average."
    else:
        rule = f"{base['accuracy']:.1%} ({base['rows']} of {answer['rows']} rows are "
        rule += f"{str(base['class'])!r})."
    echo(
        "",
        f"Baseline to beat: {rule}",
        f"{count(n_tasks, 'finding')} to act on." if n_tasks else "Nothing to do.",
    )


def _echo_findings(data: DataFile) -> None:
    """Print, before a fit, how columns are read and what the check finds."""
    echo_note(*data.notes)
    if not data.is_table:
        return
    n_text = sum(kind.kind not in "iuf" for kind in data.samples.dtypes)
    parts = [count(data.samples.shape[1] - n_text, "column") + " of numbers"]
    parts += [f"{n_text} of categories"] * (n_text > 0)
    parts += [f"{len(data.dropped)} left out"] * bool(data.dropped)
    echo_note(f"{', '.join(parts)} (listed by imkpl check).")
    echo_note(*(f"{one.text} {one.advice}".strip() for one in data.findings))


@dataclass(frozen=True)
class Settings(models.Choice):
    """What a user can choose about a fit; every field is an option."""

    test_size: float = setting(
        0.2, "Share of rows held out to measure on; 0: none.", min=0.0, max=0.9
    )
    repeats: int | None = setting(
        None,
        "Repetitions of five folds to measure in; as many as are quick by default, 0: none.",
        min=0,
    )
    balanced: bool = setting(False, "Errors in rare classes count as much as in frequent ones.")
    seed: int = setting(0, "Seed of the held-out rows.", min=0, max=2**32 - 1)
    prototypes: int | None = setting(
        None, "Number of prototypes; by default, folds choose it.", min=1
    )
    sparsity: int | None = setting(None, "Maximum rows per prototype. Usual: 10.", min=1)
    max_kernels: int | None = setting(None, "Maximum number of features.", min=1)
    require: tuple[str, ...] = setting((), "The model must use this column; may be repeated.")
    exclude: tuple[str, ...] = setting((), "The model must not use this column; may be repeated.")
    stability: int | None = setting(
        None, "Refit on this number of subsamples, and report what is chosen again.", min=2
    )


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, whose `provenance_` says how well it does, with its rows."""

    model: Any
    train: DataFile
    shown: DataFile  # held-out rows, or those of training if there are none
    seconds: float  # time of the fit
    stability: Any = None  # what refits choose again, if asked for


def fit(
    data: DataArgument,
    options: TrainingFile,
    *,
    model: Annotated[Path | None, option("--model", "Write the model here."), Written()] = None,
    report: Annotated[
        Path | None, option("--report", "Write a page (.html) here."), Written(REPORT_ENDINGS)
    ] = None,
    review: Annotated[
        Path | None, option("--review", "Obey what an expert marked on a page: its review.json.")
    ] = None,
    settings: Settings,
) -> Answer:
    """Learn from a file: prototypes, features, and how well they tell classes apart.

    Some rows are held out to measure the model that is written; it is not fitted again to all
    rows. Of a small table, the accuracy is also measured in repeated folds. Notes say what was
    guessed about the file. Existing files are not replaced without --force.
    """
    if settings.stability is not None and options.eligible is not None:
        raise InputError(
            "--stability fits without constraints on rows, but --eligible is one. Leave out one of "
            "the two."
        )
    asked = None if review is None else read_review(review)
    if asked is not None and settings.stability is not None and asked.find("not eligible"):
        raise InputError(
            f"--stability fits without constraints on rows, but {asked.file} marks some as not a "
            "good example. Leave out one of the two."
        )
    whole = read_training_file(data, options)
    _echo_findings(whole)
    fitted = _learn(whole, settings, data.name, options, asked)
    contents: dict[str | os.PathLike[str], bytes] = {}
    if model is not None:
        from imkpl.files import model_bytes

        contents[model] = model_bytes(fitted.model)
    if report is not None:
        contents[report] = _build_page(fitted, report, title=data.stem)
    answer = {**_describe_fit(fitted), "file": data, "model": model, "report": report}
    # Together and last: whatever stops the command before leaves both files as they were.
    write_files(contents)
    return Answer(answer, partial(_echo_fit, fitted=fitted))


def _learn(
    whole: DataFile,
    settings: Settings,
    file: str,
    options: ReadOptions,
    review: Review | None = None,
) -> Fitted:
    """Hold rows out, fit and measure; notes are printed."""
    from imkpl import stability
    from imkpl.report.subject import find_versions

    seed, is_test = settings.seed, np.zeros(len(whole), dtype=bool)
    if whole.later is not None:
        is_test = whole.later
    elif settings.test_size > 0:
        is_test = models.hold_out(whole, settings.test_size, seed)
    if whole.is_value and (settings.balanced or whole.sites is not None or review is not None):
        raise InputError(
            "--balanced, --site and --review are for classes, and the target holds values."
        )
    choice, asked = settings.read([] if whole.is_value else np.unique(whole.y)), None
    if review is not None:
        review.check(whole, settings.require)
        plain = partial(_build_model, settings=settings, choice=choice)
        asked = review.ask(plain, whole.take(~is_test), whole.take(is_test), seed)
        whole = review.restrict(whole, review.find("not eligible"))
        settings = replace(settings, exclude=(*settings.exclude, *review.find("exclude")))
    train, test = whole.take(~is_test), whole.take(is_test)
    start = time.perf_counter()
    with progress_bar("fitting"):
        model = models.fit_rows(_build_model(test, settings=settings, choice=choice), train)
    seconds = time.perf_counter() - start
    held_out = folds = found = by_site = right = None
    # Folds are of rows that may be learned from: of all, unless time says otherwise.
    known, build = whole, partial(_build_model, settings=settings, choice=choice)
    if whole.later is not None:
        known = train
    if not len(test):
        echo_note("No rows were held out, so the accuracy on new rows is not known.")
    else:
        held_out, is_right = models.measure_model(model, train, test)
        if known is whole and not whole.is_value:
            right = np.full(len(whole), np.nan)
            right[is_test] = is_right
        repeats = settings.repeats
        try:
            folds = models.measure_folds(build, known, seed=seed, repeats=repeats)
            right = right if folds is None else folds.pop("right")
        except ValueError as error:
            # A fold may have one row of a class, or none that may be shown.
            echo_note(f"The accuracy is not measured in folds: {error}")
    if whole.sites is not None:
        by_site = sites.measure(build, known, model, train, right)
    after = {"column": whole.time_column, "value": options.after}
    origin = {
        # Without the time, so that equal fits give equal files.
        "date": datetime.now(UTC).date().isoformat(),
        "versions": find_versions(),
        "file": file,
        "fingerprint": whole.fingerprint(),
        "rows": len(whole),
        "held_out_rows": np.flatnonzero(is_test),
        "target": whole.target,
        "reading": {**asdict(options), "months": whole.months},
        "held_out": held_out,
        "folds": folds,
        "sites": by_site,
        "review": asked,
        "after": None if whole.later is None else after,
        "distributions": None
        if not train.is_table
        else describe_distributions(train.samples[models.list_live(model)]),
    }
    model.provenance_ = to_json(origin)
    if settings.stability is not None:
        # With the names of rows in the file.
        X, y, n_repeats = train.samples, train.y, settings.stability
        X = X.set_axis(train.ids) if train.is_table else X
        with progress_bar("fitting again"):
            found = stability(
                model, X, y, groups=train.groups, n_repeats=n_repeats, random_state=seed
            )
    return Fitted(model, train, test if len(test) else train, seconds, found)


def _build_model(
    test: DataFile, excluded: tuple[str, ...] = (), *, settings: Settings, choice: dict[str, Any]
) -> Any:
    """The estimator for these data, not fitted."""
    from imkpl import IMKPL, IMKPLRegressor

    # The kernels for training rows must read the missing cells of other rows as well.
    has_gaps = test.is_table and bool(test.samples.isna().to_numpy().any())
    kind: Any = IMKPL
    if test.is_value:
        choice = {name: one for name, one in choice.items() if name == "max_missing"}
        kind = IMKPLRegressor
    else:
        names = {str(name): name for name in np.unique(test.y).tolist()}
        ordered = [names.get(name, name) for name in test.class_order] or None
        weight = "balanced" if settings.balanced else None
        choice = {**choice, "class_weight": weight, "ordered": ordered}
    return kind(
        "per_column" if has_gaps else "auto",
        n_prototypes=settings.prototypes,
        sparsity=settings.sparsity,
        max_kernels=settings.max_kernels,
        **choice,
        require=list(settings.require) or None,
        exclude=[*settings.exclude, *excluded] or None,
        random_state=settings.seed,
    )


def _build_page(fitted: Fitted, path: Path, title: str) -> bytes:
    """A page about the held-out rows, or about the training rows if there are none."""
    from imkpl.report import summarize
    from imkpl.report.page import report_bytes

    found = summarize(
        fitted.model,
        fitted.shown.samples,
        fitted.shown.y,
        train=(fitted.train.samples, fitted.train.y),
        stability=fitted.stability,
        folds=fitted.model.provenance_["folds"],
        groups=models.find_units(fitted.shown),
        sites=fitted.model.provenance_["sites"],
        later=models.say_later(fitted.model),
        title=title,
    )
    return report_bytes(found, path)


def _describe_fit(fitted: Fitted) -> dict[str, Any]:
    return {
        **models.describe_model(fitted.model),
        "notes": fitted.train.notes,
        "dropped": fitted.train.dropped,
        "stability": None if fitted.stability is None else fitted.stability.to_dict(),
        "seconds": fitted.seconds,
    }


def _echo_fit(answer: dict[str, Any], fitted: Fitted) -> None:
    echo(f"Learned from {answer['n_training_rows']} rows in {answer['seconds']:.1f} s.")
    models.echo_model(answer, MAX_FEATURES)
    sites.echo_sites(answer["provenance"]["sites"])
    echo_review(answer["provenance"]["review"])
    if fitted.stability is not None:
        echo("", *str(fitted.stability).split("\n"))
    for key in ("model", "report"):
        if answer.get(key):
            echo("", f"{key.capitalize()} written to {answer[key]}.")


def path(
    data: DataArgument,
    options: TrainingFile,
    *,
    have: Annotated[
        str | None, option("--have", "Columns that are measured anyway: a,b,c.")
    ] = None,
    sizes: Annotated[
        str | None, option("--sizes", "Numbers of features to try, with those: 5,10,20.")
    ] = None,
    price: Annotated[
        Path | None, option("--price", "A file of two columns: names, and what each costs.")
    ] = None,
    report: Annotated[
        Path | None, option("--report", "Write a page (.html) here."), Written((".html",))
    ] = None,
    plot: Annotated[
        Path | None,
        option("--plot", "Draw accuracy by size here."),
        Written((".png", ".svg", ".pdf")),
    ] = None,
    model: Annotated[
        Path | None, option("--model", "Write the model of the chosen size here."), Written()
    ] = None,
    settings: Settings,
) -> Answer:
    """How few features are enough, which come in next, and what a missing one costs.

    Models of each size are measured in folds. With --have, every model has these columns, and the
    others are added to them.
    """
    import imkpl

    read = read_training_file(data, options)
    _echo_findings(read)
    prices = None if price is None else _read_prices(price)
    numbers = None if sizes is None else _split_numbers("--sizes", sizes)
    with progress_bar("measuring"):
        found = imkpl.path(
            _build_model(read, settings=settings, choice=settings.read(np.unique(read.y))),
            read.samples,
            read.y,
            numbers,
            groups=read.groups,
            have=[] if have is None else have.split(","),
            prices=prices,
        )
    contents: dict[str | os.PathLike[str], bytes] = {}
    if model is not None:
        from imkpl.files import model_bytes

        contents[model] = model_bytes(found.model)
    if report is not None:
        from imkpl.report.page import render_path

        contents[report] = render_path(found.to_dict(), data.stem).encode()
    if plot is not None:
        from imkpl.plots import PathDisplay

        drawn = io.BytesIO()
        PathDisplay(found).plot().figure_.savefig(drawn, format=plot.suffix[1:], dpi=200)
        contents[plot] = drawn.getvalue()
    write_files(contents)
    answer = {"file": data, "model": model, "report": report, "plot": plot, **found.to_dict()}
    return Answer(answer, lambda _: _echo_path(found, contents))


def _echo_path(found: Any, written: Iterable[Any]) -> None:
    echo(*str(found).split("\n"), "")
    head = ["feature", "from", "evidence", "most alike", "how much"]
    rows = [
        [one["feature"], one["size"], f"{one['evidence']:.0%}", one["like"] or "", one["alike"]]
        for one in found.panel
    ]
    if found.prices is not None:
        head.append("price")
        rows = [[*row, one["price"]] for row, one in zip(rows, found.panel, strict=True)]
    echo_table(head, [[*row[:4], f"{row[4]:.2f}", *row[5:]] for row in rows], MAX_FEATURES)
    for name in written:
        echo("", f"Written: {name}.")


def _split_numbers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"{name} {text}: expected whole numbers, such as {name} 5,10,20."
        ) from None


def _read_prices(file: Path) -> dict[str, float]:
    """What columns cost, from a table of names and numbers."""
    table = parse_file(file, ReadOptions()).table
    if table.shape[1] != 2 or table.iloc[:, 1].dtype.kind not in "iuf":
        raise InputError(f"{file.name} is no list of prices, expected two columns: name and price.")
    return dict(zip(table.iloc[:, 0].astype(str), table.iloc[:, 1].astype(float), strict=True))


def demo(
    folder: Annotated[Path, option("--folder", "The page is written here, as report.html.")] = Path(
        "demo"
    ),
) -> Answer:
    """Fit a model to data of 569 patients with a tumour, and show what it learned.

    The data (Wisconsin breast cancer, 30 measurements of cell nuclei) come with scikit-learn. The
    page of an earlier demo is replaced.
    """
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    ids = np.arange(1, len(found.data) + 1)
    samples = found.data.set_axis(ids, axis=0)
    data = DataFile(samples, found.target_names[found.target], ids, target="diagnosis")
    echo_note("The first run compiles for a while; later runs start at once.")
    settings = Settings(sparsity=5, max_kernels=10, repeats=0)
    fitted = _learn(data, settings, "load_breast_cancer", ReadOptions())
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    write_files({page: _build_page(fitted, page, title="Breast cancer")})

    def say(answer: dict[str, Any]) -> None:
        echo("Breast cancer: is a tumour malignant or benign, by its cell nuclei?")
        _echo_fit({**answer, "report": None}, fitted)
        echo("", "Why? The first of the patients that the model has not seen:", "")
        echo(*str(models.explain_rows(fitted.model, fitted.shown.take([0]))).split("\n"))
        echo("", f"All patients, prototypes and features: open {page} in a browser.")

    return Answer({**_describe_fit(fitted), "report": page}, say)
