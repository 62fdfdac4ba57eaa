"""``imkpl fit``: from a data file to a model, its accuracy and a page; ``imkpl demo`` likewise."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from imkpl._archive import write_file, write_files
from imkpl._json import to_json
from imkpl.cli.check import echo_findings
from imkpl.cli.command import (
    DataArgument,
    ForceOption,
    JsonOption,
    KeyOption,
    TrainingFile,
    option,
)
from imkpl.cli.measure import (
    beats_baseline,
    count_known,
    describe_accuracy,
    drop_rare,
    find_units,
    hold_out,
    measure_folds,
    say_accuracy,
    say_rows,
    split_folds,
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
from imkpl.cli.records import choose_key, find_origin
from imkpl.cli.use import (
    as_samples,
    count_prototypes,
    describe_wishes,
    explain_rows,
    list_features,
    read_like,
)
from imkpl.readers import DataFile, InputError, ReadOptions, read_training_file
from imkpl.readers.check import find_baseline
from imkpl.readers.data_file import list_names

FIT_EXAMPLES = """
imkpl fit data.csv --target class --report page.html
imkpl fit data.csv --target class --id patient --model m.imkpl
imkpl fit genes.parquet --target subtype --max-kernels 20 --model m.imkpl
imkpl fit train.ts --test test.ts --model m.imkpl
imkpl fit data.csv --target class --path --json
imkpl fit data.csv --target class --stability 10 --report page.html
imkpl fit data.csv --target class --id patient --pseudonymise --key secret.key --model m.imkpl
imkpl fit data.csv --target class --exclude ward --eligible consent --cost-of-wishes
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
    sparsity: Annotated[
        int | None,
        option(
            "--sparsity",
            "Initial prototypes per class, and maximum rows per prototype. Usual: 10.",
            min=1,
        ),
    ] = None
    max_kernels: Annotated[
        int | None, option("--max-kernels", "Maximum number of features.", min=1)
    ] = None
    path: Annotated[bool, option("--path", "Find the smallest good model by cross-validation.")] = (
        False
    )
    require: Annotated[
        list[str] | None, option("--require", "The model must use this column; may be repeated.")
    ] = None
    exclude: Annotated[
        list[str] | None,
        option("--exclude", "The model must not use this column; may be repeated."),
    ] = None
    together: Annotated[
        list[str] | None,
        option(
            "--together",
            "Use columns such as systolic,diastolic together or not at all; may be repeated.",
        ),
    ] = None
    cost_of_wishes: Annotated[
        bool,
        option(
            "--cost-of-wishes",
            "Measure in five folds what the wishes about columns and rows cost.",
        ),
    ] = False
    allow_missing: Annotated[
        bool, option("--allow-missing", "Prepare for missing cells, even if there are none here.")
    ] = False
    stability: Annotated[
        int | None,
        option(
            "--stability",
            "Fit again so many times to parts of the rows, and say what is chosen again.",
            min=2,
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        option(
            "--checkpoint", "Save every round in this folder; the same command resumes from there."
        ),
    ] = None

    @property
    def needs_memory(self) -> bool:
        """Whether all rows must be in memory."""
        more = self.path, self.repeats, self.cost_of_wishes, self.allow_missing, self.stability
        return any(more)

    @property
    def features(self) -> dict[str, Any]:
        """The wishes about features, as parameters of an estimator."""
        groups = [[name.strip() for name in one.split(",")] for one in self.together or ()]
        wishes = {"require": self.require, "exclude": self.exclude, "groups": groups}
        return {name: list(wish) for name, wish in wishes.items() if wish}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the rows it was fitted to and measured on."""

    model: Any
    train: DataFile
    test: DataFile | None  # held-out rows
    seconds: float  # time of the fit
    provenance: dict[str, Any] = field(default_factory=dict)  # where the rows come from
    stability: Any = None  # what refits choose again, if asked for
    folds: dict[str, Any] | None = None  # accuracy in folds of all rows
    cost: Any = None  # what the wishes cost, if asked for


def fit(
    data: DataArgument,
    options: TrainingFile,
    *,
    model: Annotated[Path | None, option("--model", "Write the model here.")] = None,
    report: Annotated[Path | None, option("--report", "Write a page (.html) here.")] = None,
    test: Annotated[Path | None, option("--test", "Measure on this file instead.")] = None,
    settings: Settings,
    pseudonymise: Annotated[
        bool, option("--pseudonymise", "Replace the names of --id by keyed digests, in all files.")
    ] = False,
    key: KeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn from a file: prototypes, features, and how well they tell classes apart.

    Some rows are held out to measure the model that is written; it is not fitted again to all
    rows. Of a small table, the accuracy is also measured in repeated folds. Notes say what was
    guessed about the file. Existing files are not replaced without --force.
    """
    check_outputs([model, report], [data, test, key], force=force)
    check_report("--report", report)
    _check_wishes(options, settings)
    secret = choose_key(key, options, is_wanted=pseudonymise)
    fitted = _fit_file(data, test, options, settings, secret)
    if settings.cost_of_wishes:
        fitted = _measure_cost(fitted, settings.seed)
    if settings.stability is not None:
        fitted = _measure_stability(fitted, settings.stability)
    answer = _describe_fit(fitted)
    measured = {name: answer[name] for name in ("held_out", "folds", "cost_of_wishes")}
    fitted.model.provenance_ = to_json({**fitted.provenance, **measured})
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


def _check_wishes(options: ReadOptions, settings: Settings) -> None:
    """Raise before a long fit if what is asked about wishes cannot be answered."""
    has_rows = any((options.eligible, options.pin, options.ban))
    if settings.stability is not None and has_rows:
        raise InputError(
            "--stability fits without wishes about rows. Leave it out, or --eligible, --pin and "
            "--ban."
        )
    if settings.cost_of_wishes and not (has_rows or settings.features):
        raise InputError(
            "--cost-of-wishes measures wishes, but there are none. Add --require, --exclude, "
            "--together, --eligible, --pin or --ban, or leave it out."
        )


def _fit_file(
    data: Path, test: Path | None, options: ReadOptions, settings: Settings, key: bytes | None
) -> Fitted:
    """Read, hold out, fit and measure; notes are printed."""
    in_parts = test is None and key is None and not settings.needs_memory
    whole = read_training_file(data, options, in_parts=in_parts)
    if key is not None:
        whole = whole.pseudonymise(key)
    echo_findings(whole)
    if settings.drop_rare:
        whole, rare = drop_rare(whole)
        if rare:
            echo_note(f"Classes with fewer than three rows left out: {list_names(rare)}.")
    if test is None:
        if whole.split is not None and settings.test_size:
            echo_note("The file says which rows to learn from and which to measure on.")
        train, held_out, places = _split_rows(whole, settings)
    else:
        train, places = whole, []
        held_out = read_like(train, test, replace(options, target=train.target))
        if key is not None:
            held_out = held_out.pseudonymise(key)
        for text in held_out.notes:
            echo_note(text)
        n_known = count_known(train, held_out)
        if n_known:
            rows = f"{n_known} of {len(held_out)} rows to measure on"
            echo_note(f"{rows} are equal to rows that were learned from.")
    provenance = {
        **find_origin(),
        "file": data.name,
        "fingerprint": whole.fingerprint(key or b""),
        "rows": len(whole),
        "held_out_rows": places,
        "measured_on": None if test is None else test.name,
        "target": whole.target,
        "is_pseudonymised": key is not None,
        "drops_rare": settings.drop_rare,
        "reading": asdict(options),
    }
    fitted = replace(_fit_model(train, held_out, settings), provenance=provenance)
    if fitted.test is None:
        echo_note("No rows were held out, so the accuracy on new rows is not known.")
    if held_out is None or test is not None or whole.split is not None:
        return fitted
    build = partial(_build_model, settings=replace(settings, checkpoint=None))
    folds, reason = measure_folds(build, whole, seed=settings.seed, repeats=settings.repeats)
    if reason:
        echo_note(reason)
    return replace(fitted, folds=folds)


def _split_rows(data: DataFile, settings: Settings) -> tuple[DataFile, DataFile | None, list[int]]:
    """Training and held-out rows, and the places of the latter."""
    if settings.test_size == 0:
        return data, None, []
    if data.is_tall:
        share = min(settings.test_size, MAX_HELD_OUT / len(data))
        chances = np.random.default_rng(settings.seed).random(len(data))
        rows = np.flatnonzero(chances < share)
        train = data.take(np.flatnonzero(chances >= share))
        return train, data.take(rows).in_memory(), rows.tolist()
    if data.split is not None:
        train, test = data.split
        if np.any(data.wishes.get("pin", np.zeros(len(data)))[test]):
            raise InputError(
                "A row is pinned, but the file says to measure on it, expected one to learn from. "
                "Take it out of --pin, or use --test-size 0."
            )
        return data.take(train), data.take(test), np.asarray(test).tolist()
    is_test = hold_out(data, settings.test_size, settings.seed)
    if not is_test.any():
        raise InputError(
            "No rows can be held out: those of every class are equal or belong to one group. Add "
            "rows, leave out --group, or use --test-size 0."
        )
    test = np.flatnonzero(is_test)
    return data.take(np.flatnonzero(~is_test)), data.take(test), test.tolist()


def _fit_model(train: DataFile, test: DataFile | None, settings: Settings) -> Fitted:
    model = _build_model(train, test, settings)
    start = time.perf_counter()
    with progress_bar("fitting"):
        model.fit(train.samples, train.y, **train.wishes)
    seconds = time.perf_counter() - start
    # Row numbers are those of the file, not of the training rows.
    model.support_ids_ = train.ids[model.support_]
    # The folder belongs to this machine and to this fit.
    return Fitted(model.set_params(checkpoint=None), train, test, seconds)


def _measure_stability(fitted: Fitted, n_repeats: int) -> Fitted:
    from imkpl import stability

    model, train = fitted.model, fitted.train
    with progress_bar("fitting again"):
        found = stability(
            model, train.samples, train.y, n_repeats=n_repeats, random_state=model.random_state
        )
    # The same fit, with the names of rows in the file.
    return replace(fitted, stability=replace(found, reference=model))


def _measure_cost(fitted: Fitted, seed: int) -> Fitted:
    """What the wishes cost, in the folds in which the accuracy is measured."""
    from imkpl import cost_of_wishes

    model, train = fitted.model, fitted.train
    with progress_bar("measuring wishes"):
        found = cost_of_wishes(
            model, as_samples(model, train), train.y, **train.wishes, cv=split_folds(train, seed)
        )
    return replace(fitted, cost=found)


def _build_model(train: DataFile, test: DataFile | None, settings: Settings) -> Any:
    """The estimator for these data, not fitted."""
    from imkpl import IMKPL, IMKPLCV, TimeSeriesIMKPL

    common: dict[str, Any] = {
        "random_state": settings.seed,
        "checkpoint": settings.checkpoint,
        "class_weight": "balanced" if settings.balanced else None,
        **settings.features,
    }
    if settings.path:
        if settings.sparsity is not None or settings.max_kernels is not None:
            raise InputError(
                "--path chooses the size by cross-validation, so --sparsity and --max-kernels have "
                "no effect. Leave them out, or leave out --path."
            )
        return IMKPLCV(_choose_kernels(train, test, settings), **common)
    if settings.sparsity is not None:
        common["sparsity"] = settings.sparsity
    common["max_kernels"] = settings.max_kernels
    if train.is_series:
        return TimeSeriesIMKPL(**common)
    return IMKPL(_choose_kernels(train, test, settings), **common)


def _choose_kernels(train: DataFile, test: DataFile | None, settings: Settings) -> str:
    """Those for the training rows, which must read the missing cells of other rows as well."""
    if train.is_series:
        return "auto"
    has_missing = test is not None and bool(test.samples.isna().to_numpy().any())
    return "per_column" if has_missing or settings.allow_missing else "auto"


def _name_kernels(model: Any) -> str:
    """What "auto" took."""
    from imkpl.kernels.custom import BANK_NAMES

    kind = type(model._predictor.bank)
    return next((name for name, bank in BANK_NAMES.items() if bank is kind), model.kernels)


def _build_page(fitted: Fitted, path: Path, title: str) -> bytes:
    """A page about the held-out rows, or about the training rows if there are none."""
    from imkpl.report import summarize
    from imkpl.report.page import report_bytes

    model = fitted.model
    shown = fitted.train if fitted.test is None else fitted.test
    train = None if fitted.train.is_tall else (as_samples(model, fitted.train), fitted.train.y)
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
    model, train, test, cost = fitted.model, fitted.train, fitted.test, fitted.cost
    predicted = None if test is None else model.predict(as_samples(model, test))
    prototypes, usual = count_prototypes(model), model._predictor.bank._default_sparsity
    measured = None
    if test is not None:
        guess = find_baseline(train.y)[0]
        measured = describe_accuracy(predicted == test.y, test.y, find_units(test), guess)
    best = fitted.folds or measured
    is_balanced = model.class_weight is not None
    classes = []
    for label in model.classes_:
        one: dict[str, Any] = {
            "class": label,
            "training_rows": int((train.y == label).sum()),
            "prototypes": prototypes[str(label)],
        }
        if test is not None and predicted is not None:
            own = test.y == label
            one["held_out_rows"] = int(own.sum())
            one["right"] = int((predicted[own] == label).sum())
        classes.append(one)
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
            "kernels": _name_kernels(model),
            "sparsity": getattr(model, "sparsity_", model.sparsity or usual),
            "max_kernels": getattr(model, "max_kernels_", model.max_kernels),
            "seed": model.random_state,
        },
        "wishes": describe_wishes(model),
        "cost_of_wishes": cost and {**cost.to_dict(), "text": str(cost)},
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
    rows = [(f"{one['weight']:.1%}", f"{one['evidence']:.0%}", one["name"]) for one in features]
    echo_table(("weight", "evidence", kind if channels else word), rows[:MAX_SHOWN])
    if len(rows) > MAX_SHOWN:
        echo(f"... and {len(rows) - MAX_SHOWN} more (see --json)")
    echo()
    head = ["class", f"{row} learned from", "prototypes"]
    keys = ["class", "training_rows", "prototypes"]
    if n_test:
        head, keys = [*head, f"other {row}", "right"], [*keys, "held_out_rows", "right"]
    cells = [[str(one["class"]), *(one[key] for key in keys[1:])] for one in answer["classes"]]
    if folds is not None:
        head.append("right in folds")
        cells = [[*line, f"{folds['recall'][line[0]]:.0%}"] for line in cells]
    echo_table(head, cells)
    echo(f"\nA prototype is made of {answer['samples_per_prototype']:.1f} {row} on average.")
    for found in (fitted.cost, fitted.stability):
        if found is not None:
            echo(f"\n{found}")
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
    train, test, _ = _split_rows(data, settings)
    fitted = _fit_model(train, test, settings)
    page = None
    if find_spec("jinja2") is None:
        echo_note("No page is written: that needs jinja2, pip install 'imkpl[cli]'.")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / "report.html"
        write_file(page, _build_page(fitted, page, title="Breast cancer"))
    shown = train if test is None else test
    answer = _describe_fit(fitted)
    answer.update(command="demo", report=None if page is None else str(page))
    if as_json:
        echo_json(answer)
        return
    echo("Breast cancer: is a tumour malignant or benign, by its cell nuclei?")
    _echo_fit({**answer, "report": None}, fitted)
    echo("\nWhy? The first of the patients that the model has not seen:\n")
    echo(str(explain_rows(fitted.model, shown.take(np.array([0])))))
    if page is not None:
        echo(f"\nAll patients, prototypes and features: open {page} in a browser.")
