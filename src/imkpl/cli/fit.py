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
from imkpl._writing import write_files
from imkpl.cli import measure, models
from imkpl.cli.check import echo_findings
from imkpl.cli.command import Answer, DataArgument, TrainingFile, Written, option, setting
from imkpl.cli.output import REPORT_ENDINGS, echo, echo_note, echo_table, progress_bar
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
# Roughly what a fit takes, to say it before a long one starts. Of more rows than many, landmarks
# are drawn.
SECONDS_PER_ROW, SECONDS_PER_COLUMN = 0.002, 0.001
MANY_ROWS, NOTABLE = 5000, 10.0
# Features on a screen; the model and --json have all of them.
MAX_SHOWN = 20


@dataclass(frozen=True)
class Settings:
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
    drop_rare: bool = setting(False, "Leave out classes of fewer than three rows.")
    seed: int = setting(0, "Seed of the held-out rows.", min=0, max=2**32 - 1)
    prototypes: int | None = setting(
        None, "Number of prototypes; by default, folds choose it.", min=1
    )
    sparsity: int | None = setting(None, "Maximum rows per prototype. Usual: 10.", min=1)
    max_kernels: int | None = setting(None, "Maximum number of features.", min=1)
    require: tuple[str, ...] = setting((), "The model must use this column; may be repeated.")
    exclude: tuple[str, ...] = setting((), "The model must not use this column; may be repeated.")
    allow_missing: bool = setting(False, "Prepare for missing cells, even if there are none here.")
    stability: int | None = setting(
        None, "Refit on so many subsamples, and say what is chosen again.", min=2
    )


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
    model: Annotated[Path | None, option("--model", "Write the model here."), Written()] = None,
    report: Annotated[
        Path | None, option("--report", "Write a page (.html) here."), Written(REPORT_ENDINGS)
    ] = None,
    test: Annotated[Path | None, option("--test", "Measure on this file instead.")] = None,
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
    answer |= {"file": data, "model": model, "report": report}
    return Answer(answer, partial(_echo_fit, fitted=fitted))


def _fit_file(data: Path, test: Path | None, options: ReadOptions, settings: Settings) -> Fitted:
    """Read, hold out, fit and measure; notes are printed."""
    needs_memory = test is not None or settings.repeats or settings.allow_missing
    whole = read_training_file(data, options, in_parts=not (needs_memory or settings.stability))
    echo_findings(whole)
    if settings.drop_rare:
        whole, rare = measure.drop_rare(whole)
        if rare:
            echo_note(f"Classes with fewer than three rows left out: {list_names(rare)}.")
    train, held_out, is_test = whole, None, np.zeros(len(whole), dtype=bool)
    if test is not None:
        held_out = models.read_like(train, test, replace(options, target=train.target))
        n_known = int(np.isin(held_out.hash_rows(), train.hash_rows()).sum())
        text = f"{n_known} of {len(held_out)} rows to measure on are equal to rows that were "
        for note in (*held_out.notes, *([f"{text}learned from."] if n_known else [])):
            echo_note(note)
    elif settings.test_size > 0:
        is_test = measure.hold_out(whole, settings.test_size, settings.seed)
        train, held_out = whole.take(~is_test), whole.take(is_test).in_memory()
    fitted = _fit_model(train, held_out, settings)
    from imkpl.report.subject import find_versions

    fitted.model.provenance_ = {
        # Without the time, so that equal fits give equal files.
        "date": datetime.now(UTC).date().isoformat(),
        "versions": find_versions(),
        "file": data.name,
        "fingerprint": whole.fingerprint(),
        "rows": len(whole),
        "held_out_rows": np.flatnonzero(is_test).tolist(),
        "measured_on": None if test is None else test.name,
        "target": whole.target,
        "drops_rare": settings.drop_rare,
        "reading": asdict(options),
    }
    if held_out is None:
        echo_note("No rows were held out, so the accuracy on new rows is not known.")
    elif test is None:
        build = partial(_build_model, settings=settings)
        folds, reason = measure.measure_folds(
            build, whole, seed=settings.seed, repeats=settings.repeats, seconds=fitted.seconds
        )
        fitted = replace(fitted, folds=folds)
        if reason:
            echo_note(reason)
    if settings.stability is None:
        return fitted
    from imkpl import stability

    model, n_repeats = fitted.model, settings.stability
    with progress_bar("fitting again"):
        found = stability(
            model, train.samples, train.y, n_repeats=n_repeats, random_state=settings.seed
        )
    # The same fit, with the names of rows in the file.
    return replace(fitted, stability=replace(found, reference=model))


def _fit_model(train: DataFile, test: DataFile | None, settings: Settings) -> Fitted:
    start = time.perf_counter()
    if not (train.is_series or train.is_on_disk):
        n_rows, n_columns = train.samples.shape
        expected = SECONDS_PER_ROW * min(n_rows, MANY_ROWS) + SECONDS_PER_COLUMN * n_columns
        if expected > NOTABLE:
            what = f"{n_rows} rows with {n_columns} columns"
            echo_note(f"Fitting to {what} takes about {expected:.0f} s on a usual computer.")
    with progress_bar("fitting"):
        model = measure.fit_rows(_build_model(train, test, settings), train)
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
        require=list(settings.require) or None,
        exclude=list(settings.exclude) or None,
        random_state=settings.seed,
    )


def _build_page(fitted: Fitted, path: Path, title: str) -> bytes:
    """A page about the held-out rows, or about the training rows if there are none."""
    from imkpl.report import summarize
    from imkpl.report.page import report_bytes

    model, train = fitted.model, fitted.train
    shown = train if fitted.test is None else fitted.test
    found = summarize(
        model,
        models.as_samples(model, shown),
        shown.y,
        train=None if train.is_on_disk else (models.as_samples(model, train), train.y),
        stability=fitted.stability,
        folds=fitted.folds,
        title=title,
    )
    return report_bytes(found, path)


def _describe_fit(fitted: Fitted) -> dict[str, Any]:
    model, train, test = fitted.model, fitted.train, fitted.test
    prototypes, is_balanced = models.count_prototypes(model), model.class_weight is not None
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
        is_right = model.predict(models.as_samples(model, test)) == test.y
        measured = measure.describe_accuracy(is_right, test, find_baseline(train.y)[0])
        for one in classes:
            own = test.y == one["class"]
            one.update(held_out_rows=int(own.sum()), right=int(is_right[own].sum()))
    best = fitted.folds or measured
    return {
        "target": train.target,
        "kind": "time series" if train.is_series else "table",
        "notes": train.notes,
        "dropped": train.dropped,
        "training_rows": len(train),
        "held_out_rows": 0 if test is None else len(test),
        "accuracy": None if measured is None else measured["accuracy"],
        "held_out": measured,
        "folds": fitted.folds,
        "balanced": is_balanced,
        "beats_baseline": best and measure.beats_baseline(best, is_balanced=is_balanced),
        "classes": classes,
        "n_features": int(model.n_features_in_),
        "n_features_kept": int((model.feature_importances_ > 0).sum()),
        "features": models.list_features(model),
        "expected_false_features": float(model.expected_false_kernels_),
        "n_prototypes": int(model.prototypes_.shape[0]),
        "samples_per_prototype": model.prototypes_.nnz / model.prototypes_.shape[0],
        "settings": {
            "estimator": type(model).__name__,
            "kernels": models.name_kernels(model),
            "sparsity": model.sparsity or model._predictor.kernels.default_sparsity,
            "max_kernels": model.max_kernels,
            "seed": model.random_state,
        },
        "constraints": models.describe_constraints(model),
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
        times = f"{folds['repeats']} x " if folds["repeats"] > 1 else ""
        where = f"In {times}{folds['folds']} folds of {measure.say_rows(folds, row)}: "
        echo(*measure.say_accuracy(folds, where, is_balanced=is_balanced))
    if n_test:
        n_right = sum(one["right"] for one in answer["classes"])
        other = measure.say_rows(answer["held_out"], f"other {row}")
        said = f"{answer['accuracy']:.1%} ({n_right} of {n_test})"
        echo(f"Accuracy of this model on {other}: {said}.")
        if folds is None:
            echo(*measure.say_accuracy(answer["held_out"], is_balanced=is_balanced))
    features, channels = answer["features"], fitted.model.describe_channels()
    echo(f"{what} kept: {answer['n_features_kept']} of {answer['n_features']}.")
    if channels:
        echo(channels)
    is_each = len(features) == answer["n_features_kept"] and not channels
    word = what.lower()[:-1]
    kind = word if is_each else "kernel"
    echo(write_chance(len(features), answer["expected_false_features"], kind), "")
    models.echo_features(features, kind if channels else word, MAX_SHOWN)
    echo()
    columns = {"class": "class", "training_rows": f"{row} learned from", "prototypes": "prototypes"}
    columns |= {"held_out_rows": f"other {row}", "right": "right"} if n_test else {}
    cells = [[str(one["class"]), *map(one.get, list(columns)[1:])] for one in answer["classes"]]
    if folds is not None:
        columns["folds"] = "right in folds"
        cells = [[*line, f"{folds['recall'][line[0]]:.0%}"] for line in cells]
    echo_table(list(columns.values()), cells)
    echo("", f"A prototype is made of {answer['samples_per_prototype']:.1f} {row} on average.")
    if fitted.stability is not None:
        echo("", *str(fitted.stability).split("\n"))
    for key in ("model", "report"):
        if answer.get(key):
            echo("", f"{key.capitalize()} written to {answer[key]}.")


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
    settings = Settings(sparsity=5, max_kernels=10)
    echo_note("The first run compiles for a while; later runs start at once.")
    is_test = measure.hold_out(data, settings.test_size, settings.seed)
    test = data.take(is_test)
    fitted = _fit_model(data.take(~is_test), test, settings)
    page = None
    if find_spec("jinja2") is None:
        echo_note("No page is written: that needs jinja2, pip install 'imkpl[cli]'.")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / "report.html"
        write_files({page: _build_page(fitted, page, title="Breast cancer")})

    def say(answer: dict[str, Any]) -> None:
        echo("Breast cancer: is a tumour malignant or benign, by its cell nuclei?")
        _echo_fit({**answer, "report": None}, fitted)
        echo("", "Why? The first of the patients that the model has not seen:", "")
        echo(*str(models.explain_rows(fitted.model, test.take([0]))).split("\n"))
        if page is not None:
            echo("", f"All patients, prototypes and features: open {page} in a browser.")

    return Answer({**_describe_fit(fitted), "report": page}, say)
