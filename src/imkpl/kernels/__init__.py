"""Kernels, and banks of kernels that are operators.

Multiple-kernel learning combines many base kernels K_l between the same samples. An array of
n_kernels x n_samples x n_samples is never built. Learning needs the base kernels in two ways only:

* ``combine(a)``: coefficients to a matrix, ``sum_l a_l K_l``, through which alone the prototypes
  and the codes see the base kernels;
* ``contract(M)``: a matrix to coefficients, ``<K_l, M>`` for every l, which is all that learning
  the weights needs. It is the adjoint: ``<combine(a), M> = a . contract(M)``.

A **bank** is what users write, such as `PerFeatureGaussian`. It holds parameters, never data.
``bank.on(X)`` learns from the training part what depends on it, such as bandwidths, and gives
`Kernels`: the base kernels between these samples. All of them are frozen, and
``tests/contracts/bank.py`` has the laws of all kernels.
"""

from imkpl.kernels.alignment import ExpectedAlignment, GlobalAlignment
from imkpl.kernels.base import BaseKernel, BaseKernelBank, Kernels
from imkpl.kernels.custom import (
    FunctionKernel,
    Gaussian,
    KernelStack,
    NamedKernel,
    Precomputed,
    resolve_bank,
)
from imkpl.kernels.normalize import Averaged
from imkpl.kernels.per_feature import PerFeatureGaussian
from imkpl.kernels.sources import ArrayColumns, ParquetColumns
from imkpl.kernels.table import PerColumn, PerWord

__all__ = [
    "ArrayColumns",
    "Averaged",
    "BaseKernel",
    "BaseKernelBank",
    "ExpectedAlignment",
    "FunctionKernel",
    "Gaussian",
    "GlobalAlignment",
    "KernelStack",
    "Kernels",
    "NamedKernel",
    "ParquetColumns",
    "PerColumn",
    "PerFeatureGaussian",
    "PerWord",
    "Precomputed",
    "resolve_bank",
]
