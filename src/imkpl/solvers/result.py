"""What a solver returns: where it stopped, and why."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray


class Status(IntEnum):
    """Why a solver stopped; every member carries its sentence in ``message``.

    Members compare equal to their integer code, so that an array of codes can be compared
    with a member.

    Examples
    --------
    >>> Status.SPARSITY.message
    'the budget of non-zero entries is used up'
    >>> Status(1) == Status.STATIONARY == 1
    True
    """

    message: str

    def __new__(cls, code: int, message: str) -> "Status":
        """Make a member from its code and its sentence."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.message = message
        return member

    SPARSITY = 0, "the budget of non-zero entries is used up"
    STATIONARY = 1, "no feasible direction lowers the objective beyond round-off"
    SMALL_DECREASE = 2, "the last step lowered the objective by too little to go on"
    RESIDUAL = 3, "the residual is as small as was asked for"
    DEPENDENT = 4, "only columns that depend linearly on the active ones could still help"
    MAX_STEPS = 5, "the largest number of steps was taken"


@dataclass(frozen=True)
class SolverResult:
    """The solution of one problem.

    Parameters
    ----------
    x : array of shape (n,)
        The solution, dense.
    active : int array
        Where ``x`` is positive: in order of entry for a pursuit, ascending otherwise.
    value : float
        The objective at ``x``.
    n_steps : int
        How many steps were accepted.
    status : Status
        Why the solver stopped.
    """

    x: FloatArray
    active: IntArray
    value: float
    n_steps: int
    status: Status


@dataclass(frozen=True)
class BatchResult:
    """The solutions of many problems that share one matrix.

    Parameters
    ----------
    x : CSR array of shape (n_problems, n)
        One solution per row, with ascending column indices.
    value : array of shape (n_problems,)
        The objective of each problem at its solution.
    n_steps : int array of shape (n_problems,)
        How many steps each problem took.
    status : int8 array of shape (n_problems,)
        Codes of :class:`Status`: ``status == Status.SPARSITY`` is a mask.
    """

    x: sp.csr_array
    value: FloatArray
    n_steps: IntArray
    status: IntArray

    @property
    def active(self) -> list[IntArray]:
        """Where each solution is positive: one ascending index array per problem."""
        return list(np.split(self.x.indices, self.x.indptr[1:-1])) if self.x.shape[0] else []
