"""Solvers for plain matrices and vectors: sparse pursuit and problems on the simplex."""

from imkpl.solvers.nqp import BatchResult, SolverResult, Status, solve_nqp, solve_nqp_batch
from imkpl.solvers.simplex import minimize_on_simplex, minimize_ridge_on_simplex

__all__ = [
    "BatchResult",
    "SolverResult",
    "Status",
    "minimize_on_simplex",
    "minimize_ridge_on_simplex",
    "solve_nqp",
    "solve_nqp_batch",
]
