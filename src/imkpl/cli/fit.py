"""``imkpl fit``: from a data file to a model, its accuracy and a page; ``imkpl demo`` likewise."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from imkpl._json import to_json
from imkpl._writing import write_file, write_files
from imkpl.cli.check import echo_findings
from imkpl.cli.command import DataArgument, ForceOption, JsonOption, TrainingFile, option
from imkpl.cli.measure import (
    beats_baseline,
    count_known,
    describe_accuracy,
    drop_rare,
    find_units,
    fit_rows,
    hold_out,
    measure_folds,
    say_accuracy,
    say_rows,
)
from imkpl.cli.model import (
    as_samples,
    count_prototypes,
    describe_constraints,
    explain_rows,
    find_sparsity,
    list_features,
    name_kernels,
    read_like,
    show_features,
)
from imkpl.cli.output import (
    check_outputs,
    check_report,
    echo,
    echo_json,
    echo_note,
    echo_table,
    progress_bar,
)
from imkpl.readers import InputError, ReadOptions, read_training_file
from imkpl.readers.check import find_baseline
from imkpl.readers.data_file import DataFile, list_names

FIT_EXAMPLES = """
imkpl fit data.csv --target class --report page.html
imkpl fit data.csv --target class --id patient --model m.imkpl
imkpl fit genes.parquet --target subtype --max-kernels 20 --model m.imkpl
imkpl fit train.ts --test test.ts --model m.imkpl
imkpl fit data.csv --target class --stability 10 --report page.html
imkpl fit data.csv --target class --exclude ward --eligible consent --model m.imkpl
"""
DEMO_EXAMPLES = """
imkpl demo
imkpl demo --folder somewhere
"""
# Features on a screen; the model and --json have all of them.
MAX_SHOWN = 20
# Of a file that is read a block at a time, about so many rows are held out at most.
MAX_HELD_OUT = 100_000


@dataclass(frozen=True)
class Settings:
    """What a user can choose about a fit; every field is an option."""

    test_size: Annotated[
        float,
        option("--test-size", "Share of rows held out to measure on; 0: none.", min=0.0, max=0.9),
    ] = 0.2
    repeats: Annotated[
        int | None,
        option(
            "--repeats",
            "Repetitions of five folds to measure in; as many as are quick by default, 0: none.",
            min=0,
        ),
    ] = None
    balanced: Annotated[
        bool, option("--balanced", "Errors in rare classes count as much as in frequent ones.")
    ] = False
    drop_rare: Annotated[
        bool, option("--drop-rare", "Leave out classes of fewer than three rows.")
    ] = False
    seed: Annotated[int, option("--seed", "Seed of the held-out rows.", min=0, max=2**32 - 1)] = 0
    prototypes: Annotated[
        int | None,
        option("--prototypes", "Number of prototypes; by default, folds choose it.", min=1),
    ] = None
    sparsity: Annotated[
        int | None, option("--sparsity", "Maximum rows per prototype. Usual: 10.", min=1)
    ] = None
    max_kernels: Annotated[
        int | None, option("--max-kernels", "Maximum number of features.", min=1)
    ] = None
    require: Annotated[
        list[str] | None, option("--require", "The model must use this column; may be repeated.")
    ] = None
    exclude: Annotated[
        list[str] | None,
        option("--exclude", "The model must not use this column; may be repeated."),
    ] = None
    allow_missing: Annotated[
        bool, option("--allow-missing", "Prepare for missing cells, even if there are none here.")
    ] = False
    stability: Annotated[
        int | None,
        option("--stability", "Refit on so many subsamples, and say what is chosen again.", min=2),
    ] = None

    @property
    def needs_memory(self) -> bool:
        """Whether all rows must be in memory."""
        return any((self.repeats, self.allow_missing, self.stability))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the rows it was fitted to and measured on."""

    model: Any
    train: DataFile
    test: DataFile | None  # held-out rows
    seconds: float  # time of the fit
    folds: dict[str, Any] | None = None  # accuracy in folds of all rows
    stability: Any = None  # what refits choose again, if asked for


def fit(
    data: DataArgument,
    options: TrainingFile,
    *,
    model: Annotated[Path | None, option("--model", "Write the model here.")] = None,
    report: Annotated[Path | None, option("--report", "Write a page (.html) here.")] = None,
    test: Annotated[Path | None, option("--test", "Measure on this file instead.")] = None,
    settings: Settings,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn from a file: prototypes, features, and how well they tell classes apart.

    Some rows are held out to measure the model that is written; it is not fitted again to all
    rows. Of a small table, the accuracy is also measured in repeated folds. Notes say what was
    guessed about the file. Existing files are not replaced without --force.
    """
    check_outputs([model, report], [data, test], force=force)
    check_report("--report", report)
    if settings.stability is not None and options.eligible is not None:
        raise InputError(
            "--stability fits without constraints on rows, but --eligible is one. Leave out one of "
            "the two."
        )
    fitted = _fit_file(data, test, options, settings)
    answer = _describe_fit(fitted)
    measured = {name: answer[name] for name in ("held_out", "folds")}
    fitted.model.provenance_ = to_json({**fitted.model.provenance_, **measured})
    contents: dict[str | os.PathLike[str], bytes] = {}
    if model is not None:
        from imkpl.files.store import model_bytes

        contents[model] = model_bytes(fitted.model)
    if report is not None:
        contents[report] = _build_page(fitted, report, title=data.stem)
    # Together and last: whatever stops the command before leaves both files as they were.
    write_files(contents)
    answer.update(
        file=str(data),
        model=None if model is None else str(model),
        report=None if report is None else str(report),
    )
    if as_json:
        echo_json(answer)
    else:
        _echo_fit(answer, fitted)


def _fit_file(data: Path, test: Path | None, options: ReadOptions, settings: Settings) -> Fitted:
    """Read, hold out, fit and measure; notes are printed."""
    whole = read_training_file(data, options, in_parts=test is None and not settings.needs_memory)
    echo_findings(whole)
    if settings.drop_rare:
        whole, rare = drop_rare(whole)
        if rare:
            echo_note(f"Classes with fewer than three rows left out: {list_names(rare)}.")
    train, held_out = whole, None
    rows = np.empty(0, dtype=int)
    if test is not None:
        held_out = read_like(train, test, replace(options, target=train.target))
        n_known = count_known(train, held_out)
        text = f"{n_known} of {len(held_out)} rows to measure on are equal to rows that were "
        for note in (*held_out.notes, *([f"{text}learned from."] if n_known else [])):
            echo_note(note)
    elif settings.test_size > 0:
        rows = _choose_held_out(whole, settings)
        train = whole.take(np.setdiff1d(np.arange(len(whole)), rows))
        held_out = whole.take(rows).in_memory()
    fitted = _fit_model(train, held_out, settings)
    from imkpl.report.subject import find_versions

    fitted.model.provenance_ = {
        # Without the time, so that equal fits give equal files.
        "date": datetime.now(UTC).date().isoformat(),
        "versions": find_versions(),
        "file": data.name,
        "fingerprint": whole.fingerprint(),
        "rows": len(whole),
        "held_out_rows": rows.tolist(),
        "measured_on": None if test is None else test.name,
        "target": whole.target,
        "drops_rare": settings.drop_rare,
        "reading": asdict(options),
    }
    if held_out is None:
        echo_note("No rows were held out, so the accuracy on new rows is not known.")
    elif test is None:
        build = partial(_build_model, settings=settings)
        folds, reason = measure_folds(build, whole, seed=settings.seed, repeats=settings.repeats)
        fitted = replace(fitted, folds=folds)
        if reason:
            echo_note(reason)
    return fitted if settings.stability is None else _measure_stability(fitted, settings.stability)


def _choose_held_out(data: DataFile, settings: Settings) -> Any:
    """The places of the rows to measure on."""
    if data.is_on_disk:
        share = min(settings.test_size, MAX_HELD_OUT / len(data))
        return np.flatnonzero(np.random.default_rng(settings.seed).random(len(data)) < share)
    rows = np.flatnonzero(hold_out(data, settings.test_size, settings.seed))
    if rows.size == 0:
        raise InputError(
            "No rows can be held out: those of every class are equal or belong to one group. Add "
            "rows, leave out --group, or use --test-size 0."
        )
    return rows


def _fit_model(train: DataFile, test: DataFile | None, settings: Settings) -> Fitted:
    start = time.perf_counter()
    with progress_bar("fitting"):
        model = fit_rows(_build_model(train, test, settings), train)
    # Row numbers are those of the file, not of the training rows.
    model.support_ids_ = train.ids[model.support_]
    return Fitted(model, train, test, time.perf_counter() - start)


def _build_model(train: DataFile, test: DataFile | None, settings: Settings) -> Any:
    """The estimator for these data, not fitted."""
    from imkpl import IMKPL

    # The kernels for training rows must read the missing cells of other rows as well.
    is_table = not train.is_series
    has_gaps = test is not None and is_table and bool(test.samples.isna().to_numpy().any())
    return IMKPL(
        "per_column" if is_table and (has_gaps or settings.allow_missing) else "auto",
        n_prototypes=settings.prototypes,
        sparsity=settings.sparsity,
        max_kernels=settings.max_kernels,
        class_weight="balanced" if settings.balanced else None,
        require=list(settings.require or ()) or None,
        exclude=list(settings.exclude or ()) or None,
        random_state=settings.seed,
    )


def _measure_stability(fitted: Fitted, n_repeats: int) -> Fitted:
    from imkpl import stability

    model, train = fitted.model, fitted.train
    with progress_bar("fitting again"):
        found = stability(
            model, train.samples, train.y, n_repeats=n_repeats, random_state=model.random_state
        )
    # The same fit, with the names of rows in the file.
    return replace(fitted, stability=replace(found, reference=model))


def _build_page(fitted: Fitted, path: Path, title: str) -> bytes:
    """A page about the held-out rows, or about the training rows if there are none."""
    from imkpl.report import summarize
    from imkpl.report.page import report_bytes

    model = fitted.model
    shown = fitted.train if fitted.test is None else fitted.test
    train = None if fitted.train.is_on_disk else (as_samples(model, fitted.train), fitted.train.y)
    found = summarize(
        model,
        as_samples(model, shown),
        shown.y,
        train=train,
        stability=fitted.stability,
        folds=fitted.folds,
        title=title,
    )
    return report_bytes(found, path)


def _describe_fit(fitted: Fitted) -> dict[str, Any]:
    model, train, test = fitted.model, fitted.train, fitted.test
    prototypes, is_balanced = count_prototypes(model), model.class_weight is not None
    classes: list[dict[str, Any]] = [
        {
            "class": label,
            "training_rows": int((train.y == label).sum()),
            "prototypes": prototypes[str(label)],
        }
        for label in model.classes_
    ]
    measured = None
    if test is not None:
        is_right = model.predict(as_samples(model, test)) == test.y
        measured = describe_accuracy(is_right, test.y, find_units(test), find_baseline(train.y)[0])
        for one in classes:
            own = test.y == one["class"]
            one.update(held_out_rows=int(own.sum()), right=int(is_right[own].sum()))
    best = fitted.folds or measured
    return {
        "command": "fit",
        "target": train.target,
        "kind": "time series" if train.is_series else "table",
        "notes": list(train.notes),
        "dropped": dict(train.dropped),
        "training_rows": len(train),
        "held_out_rows": 0 if test is None else len(test),
        "accuracy": None if measured is None else measured["accuracy"],
        "held_out": measured,
        "folds": fitted.folds,
        "balanced": is_balanced,
        "beats_baseline": best and beats_baseline(best, is_balanced=is_balanced),
        "classes": classes,
        "n_features": int(model.n_features_in_),
        "n_features_kept": int((model.feature_importances_ > 0).sum()),
        "features": list_features(model),
        "expected_false_features": float(model.expected_false_kernels_),
        "n_prototypes": int(model.prototypes_.shape[0]),
        "samples_per_prototype": model.prototypes_.nnz / model.prototypes_.shape[0],
        "settings": {
            "estimator": type(model).__name__,
            "kernels": name_kernels(model),
            "sparsity": find_sparsity(model),
            "max_kernels": model.max_kernels,
            "seed": model.random_state,
        },
        "constraints": describe_constraints(model),
        "stability": None if fitted.stability is None else fitted.stability.to_dict(),
        "n_iter": int(model.n_iter_),
        "seconds": fitted.seconds,
    }


def _echo_fit(answer: dict[str, Any], fitted: Fitted) -> None:
    from imkpl.explanations.explanation import write_chance

    n_train, n_test = answer["training_rows"], answer["held_out_rows"]
    what, row = ("Channels", "series") if answer["kind"] == "time series" else ("Features", "rows")
    echo(f"Learned from {n_train} {row} in {answer['seconds']:.1f} s.")
    folds, is_balanced = answer["folds"], answer["balanced"]
    if folds is not None:
        said = say_accuracy(folds, is_balanced=is_balanced)
        times = f"{folds['repeats']} x " if folds["repeats"] > 1 else ""
        echo(f"In {times}{folds['folds']} folds of {say_rows(folds, row)}: {said}")
    if n_test:
        n_right = sum(one["right"] for one in answer["classes"])
        said = f"{answer['accuracy']:.1%} ({n_right} of {n_test})"
        other = say_rows(answer["held_out"], f"other {row}")
        echo(f"Accuracy of this model on {other}: {said}.")
        if folds is None:
            said = say_accuracy(answer["held_out"], is_balanced=is_balanced)
            echo(f"{said[0].upper()}{said[1:]}")
    word, features = what.lower()[:-1], answer["features"]
    echo(f"{what} kept: {answer['n_features_kept']} of {answer['n_features']}.")
    channels = fitted.model._describe_channels()
    if channels:
        echo(channels)
    is_each = len(features) == answer["n_features_kept"] and not channels
    kind = word if is_each else "kernel"
    echo(f"{write_chance(len(features), answer['expected_false_features'], kind)}\n")
    head = ("weight", "evidence", kind if channels else word)
    echo_table(head, show_features(features[:MAX_SHOWN]))
    if len(features) > MAX_SHOWN:
        echo(f"... and {len(features) - MAX_SHOWN} more (see --json)")
    echo()
    columns = {"training_rows": f"{row} learned from", "prototypes": "prototypes"}
    if n_test:
        columns.update(held_out_rows=f"other {row}", right="right")
    cells = [[str(one["class"]), *(one[key] for key in columns)] for one in answer["classes"]]
    if folds is not None:
        columns["folds"] = "right in folds"
        cells = [[*line, f"{folds['recall'][line[0]]:.0%}"] for line in cells]
    echo_table(("class", *columns.values()), cells)
    echo(f"\nA prototype is made of {answer['samples_per_prototype']:.1f} {row} on average.")
    if fitted.stability is not None:
        echo(f"\n{fitted.stability}")
    for key, name in (("model", "Model"), ("report", "Report")):
        if answer.get(key):
            echo(f"\n{name} written to {answer[key]}.")


def demo(
    folder: Annotated[Path, option("--folder", "The page is written here, as report.html.")] = Path(
        "demo"
    ),
    as_json: JsonOption = False,
) -> None:
    """Fit a model to data of 569 patients with a tumour, and show what it learned.

    The data (Wisconsin breast cancer, 30 measurements of cell nuclei) come with scikit-learn. The
    page of an earlier demo is replaced.
    """
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    ids = np.arange(1, len(found.data) + 1)
    samples = found.data.set_axis(ids, axis=0)
    data = DataFile(samples, found.target_names[found.target], ids, target="diagnosis")
    settings = Settings(sparsity=5, max_kernels=10)
    echo_note("The first run compiles for a while; later runs start at once.")
    is_test = hold_out(data, settings.test_size, settings.seed)
    test = data.take(np.flatnonzero(is_test))
    fitted = _fit_model(data.take(np.flatnonzero(~is_test)), test, settings)
    page = None
    if find_spec("jinja2") is None:
        echo_note("No page is written: that needs jinja2, pip install 'imkpl[cli]'.")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / "report.html"
        write_file(page, _build_page(fitted, page, title="Breast cancer"))
    answer = _describe_fit(fitted)
    answer.update(command="demo", report=None if page is None else str(page))
    if as_json:
        echo_json(answer)
        return
    echo("Breast cancer: is a tumour malignant or benign, by its cell nuclei?")
    _echo_fit({**answer, "report": None}, fitted)
    echo("\nWhy? The first of the patients that the model has not seen:\n")
    echo(str(explain_rows(fitted.model, test.take(np.array([0])))))
    if page is not None:
        echo(f"\nAll patients, prototypes and features: open {page} in a browser.")
