"""A search as arrays, and back: the problem that is solved, where it stands, and how it got there.

Kernels are not kept. They are large, and what they are computed from is small: they are computed
again by the same calls, with the same result to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._checkpoint import Checkpoint, CheckpointError, Keeper
from imkpl.kernels import VarianceNormalized
from imkpl.model.objective import ObjectiveParts
from imkpl.model.problem import Problem, State
from imkpl.model.separation import BaseSeparation, LinearSeparation, MarginSeparation

LANDMARKS, START, ROUND = "landmarks", "start", "round"
Search = tuple[Problem, State, list[ObjectiveParts]]
Kept = Mapping[str, np.ndarray[Any, Any]]


def keep_start(checkpoint: Keeper, problem: Problem, state: State) -> None:
    """Keep the problem with the kernels that were chosen, and the state before the first round."""
    if isinstance(checkpoint, Checkpoint):
        checkpoint.keep(START, {**_list_problem(problem), **_list_state(state)})


def keep_round(checkpoint: Keeper, state: State, history: Sequence[ObjectiveParts]) -> None:
    """Keep where a search stands after a round."""
    if isinstance(checkpoint, Checkpoint):
        terms = np.array([astuple(parts) for parts in history])
        checkpoint.keep(ROUND, {"history": terms, **_list_state(state)})


def recall_landmarks(checkpoint: Keeper, n_samples: int) -> tuple[IntArray, FloatArray] | None:
    """Landmarks that were kept."""
    kept = checkpoint.recall(LANDMARKS)
    if kept is None:
        return None
    try:
        _check_indices(kept["indices"], n_samples)
        return kept["indices"], _check_floats(kept["weights"], kept["indices"].shape)
    except (KeyError, ValueError) as error:
        raise _misfit(checkpoint, LANDMARKS, error) from error


def recall_search(checkpoint: Keeper, whole: Problem, max_iter: int) -> Search | None:
    """A search that was kept, after its last round."""
    start, last = checkpoint.recall(START), checkpoint.recall(ROUND)
    if start is None:
        return None
    stage = START
    try:
        problem = _read_problem(start, whole)
        if last is not None:
            stage = ROUND
            history = _read_history(last["history"])
            if len(history) <= max_iter:
                return problem, _read_state(last, problem), history
            stage = START
        return problem, _read_state(start, problem), []
    except MemoryError:
        raise
    # A file with a checksum that fits can still have been made to fail in any step.
    except Exception as error:
        raise _misfit(checkpoint, stage, error) from error


def _misfit(checkpoint: Keeper, stage: str, error: Exception) -> CheckpointError:
    text = f"its content does not fit the data ({type(error).__name__}: {error})"
    return checkpoint.refuse(stage, text)


def _list_problem(problem: Problem) -> dict[str, Any]:
    kept = {
        "kernel_indices": problem.kernel_indices,
        "separation": float(problem.separation),
        "is_single": problem.dtype == np.float32,
        **_list_loss(problem.separation_loss),
    }
    if isinstance(problem.bank, VarianceNormalized):
        kept["scales"] = problem.bank.scales
    return kept


def _read_problem(kept: Kept, whole: Problem) -> Problem:
    chosen, bank = kept["kernel_indices"], whole.bank
    _check_indices(chosen, bank.n_kernels)
    bank = bank.select(chosen)
    if "scales" in kept:
        bank = VarianceNormalized(bank, scales=_check_floats(kept["scales"], (chosen.size,)))
    is_single = bool(kept["is_single"])
    problem = replace(
        whole,
        bank=bank.in_single_precision() if is_single else bank,
        kernel_indices=chosen,
        separation=float(kept["separation"]),
        dtype=np.float32 if is_single else np.float64,
    )
    ridge = float(kept["ridge"])
    if "slopes" in kept:
        slopes = _check_floats(kept["slopes"], (chosen.size,))
        return replace(problem, separation_loss=LinearSeparation(slopes, ridge))
    margins = kept["margins"]
    _check_floats(margins.astype(np.float64), (len(margins), chosen.size))
    weights = _check_floats(kept["pair_weights"], (len(margins),))
    loss = MarginSeparation(margins, weights, float(kept["target"]), ridge)
    return replace(problem, separation_loss=loss)


def _list_loss(loss: BaseSeparation) -> dict[str, Any]:
    if isinstance(loss, LinearSeparation):
        return {"slopes": loss.slopes, "ridge": float(loss.ridge)}
    if not isinstance(loss, MarginSeparation):
        raise TypeError(f"A {type(loss).__name__} cannot be kept in a checkpoint.")
    return {
        "margins": loss.margins,
        "pair_weights": loss.pair_weights,
        "target": float(loss.target),
        "ridge": float(loss.ridge),
    }


def _list_state(state: State) -> dict[str, Any]:
    return {
        "weights": state.weights,
        **_list_rows("prototypes", state.prototypes),
        **_list_rows("codes", state.codes),
    }


def _read_state(kept: Kept, problem: Problem) -> State:
    n_samples, n_kernels = problem.labels.size, problem.kernel_indices.size
    n_prototypes = kept["prototypes_indptr"].size - 1
    weights = _check_floats(kept["weights"], (n_kernels,))
    return State(
        prototypes=_read_rows("prototypes", kept, (n_prototypes, n_samples)),
        codes=_read_rows("codes", kept, (n_samples, n_prototypes)),
        weights=weights,
        kernel=problem.combine(weights),
    )


def _read_history(terms: Any) -> list[ObjectiveParts]:
    _check_floats(terms, (len(terms), len(fields(ObjectiveParts))))
    return [ObjectiveParts(*row) for row in terms.tolist()]


def _list_rows(name: str, rows: sp.csr_array) -> dict[str, Any]:
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    return {f"{name}_{part}": values for part, values in parts.items()}


def _read_rows(name: str, kept: Kept, shape: tuple[int, int]) -> sp.csr_array:
    data, indices, indptr = (kept[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    _check_floats(data, data.shape)
    rows = sp.csr_array((data, indices, indptr), shape=shape)
    # The constructor chooses a type for indices; the one that was kept stays.
    rows.indices, rows.indptr = indices, indptr
    # Compiled loops trust the indices, so every one of them is checked.
    rows.check_format(full_check=True)
    return rows


def _check_floats(values: Any, shape: tuple[int, ...]) -> FloatArray:
    if values.dtype != np.float64 or values.shape != shape or not np.isfinite(values).all():
        raise ValueError(
            f"an array of {values.dtype} and shape {values.shape}, expected finite numbers and "
            f"shape {shape}"
        )
    return np.asarray(values)


def _check_indices(values: IntArray, size: int) -> None:
    is_list = values.ndim == 1 and values.size > 0 and values.dtype == np.intp
    if not is_list or values.min() < 0 or values.max() >= size:
        raise ValueError(f"an array of {values.dtype}, expected numbers from 0 to {size - 1}")
