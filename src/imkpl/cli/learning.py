"""Fit a model to a file and measure it on rows that it has not seen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from imkpl.cli.show import progress
from imkpl.readers import DataFile, InputError

# Two rows of a class to learn from, for a prototype has neighbours, and one to measure on.
FEWEST = 3


@dataclass(frozen=True)
class Settings:
    """What a user chose about a fit.

    Parameters
    ----------
    test_size : float
        The share of rows to hold out.
    seed : int
        Of the draw of these rows, and of the model.
    sparsity : int, optional
        At most so many rows in a prototype.
    max_kernels : int, optional
        At most so many features.
    uses_path : bool
        Whether the size is chosen by cross-validation.
    allows_missing : bool
        Whether the model reads missing cells although it was fitted to complete rows.
    checkpoint : Path, optional
        The folder in which the fit keeps how far it has come.
    """

    test_size: float = 0.2
    seed: int = 0
    sparsity: int | None = None
    max_kernels: int | None = None
    uses_path: bool = False
    allows_missing: bool = False
    checkpoint: Path | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the rows it was learned from and measured on.

    Parameters
    ----------
    model : estimator
        Fitted to `train`.
    train : DataFile
        Rows to learn from.
    test : DataFile or None
        Held-out rows.
    seconds : float
        How long the fit took.
    """

    model: Any
    train: DataFile
    test: DataFile | None
    seconds: float


def split_rows(data: DataFile, settings: Settings) -> tuple[DataFile, DataFile | None]:
    """Rows to learn from and rows to measure on, with the same share of every class."""
    if settings.test_size == 0:
        return data, None
    if data.split is not None:
        train, test = data.split
        return data.take(train), data.take(test)
    classes, counts = np.unique(data.y, return_counts=True)
    if counts.min() < FEWEST:
        rare = int(np.argmin(counts))
        n_rows = "one row" if counts[rare] == 1 else f"{counts[rare]} rows"
        raise InputError(
            f"Class {str(classes[rare])!r} has {n_rows}, expected at least three: two to learn "
            "from and one to measure on. Add rows of that class, leave it out, or use "
            "--test-size 0."
        )
    rng = np.random.default_rng(settings.seed)
    is_test = np.zeros(len(data), dtype=bool)
    for label, n_rows in zip(classes, counts, strict=True):
        n_test = int(np.clip(round(n_rows * settings.test_size), 1, n_rows - FEWEST + 1))
        is_test[rng.permutation(np.flatnonzero(data.y == label))[:n_test]] = True
    return data.take(np.flatnonzero(~is_test)), data.take(np.flatnonzero(is_test))


def fit_model(train: DataFile, test: DataFile | None, settings: Settings) -> Fitted:
    """Fit the model that suits the data."""
    model = build_model(train, test, settings).set_params(verbose=1)
    start = time.perf_counter()
    with progress("fitting"):
        model.fit(train.samples, train.y)
    seconds = time.perf_counter() - start
    # Where rows are numbered, those of the file are meant, not those of the part that was taken.
    model.support_ids_ = train.ids[model.support_]
    # The folder is that of this machine, and of this fit.
    return Fitted(model.set_params(verbose=0, checkpoint=None), train, test, seconds)


def build_model(train: DataFile, test: DataFile | None, settings: Settings) -> Any:
    """The estimator for these data, not fitted."""
    from imkpl import IMKPL, IMKPLCV, TimeSeriesIMKPL

    common: dict[str, Any] = {"random_state": settings.seed, "checkpoint": settings.checkpoint}
    if settings.uses_path:
        if settings.sparsity is not None or settings.max_kernels is not None:
            raise InputError(
                "--path chooses the size by cross-validation, so --sparsity and --max-kernels have "
                "no say. Leave them out, or leave out --path."
            )
        kernels = "global_alignment" if train.is_series else choose_kernels(train, test, settings)
        return IMKPLCV(kernels, **common)
    if settings.sparsity is not None:
        common["sparsity"] = settings.sparsity
    common["max_kernels"] = settings.max_kernels
    if train.is_series:
        return TimeSeriesIMKPL(**common)
    return IMKPL(choose_kernels(train, test, settings), **common)


def choose_kernels(train: DataFile, test: DataFile | None, settings: Settings) -> str:
    """Which kernels a table needs."""
    frames = [part.samples for part in (train, test) if part is not None]
    has_text = any(dtype.kind not in "iuf" for dtype in frames[0].dtypes)
    has_missing = any(bool(frame.isna().to_numpy().any()) for frame in frames)
    needs_table = has_text or has_missing or settings.allows_missing
    return "per_column" if needs_table else "per_feature_gaussian"
