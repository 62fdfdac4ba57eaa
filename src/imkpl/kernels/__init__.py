"""Kernels, and banks of kernels that are operators.

Multiple-kernel learning combines many base kernels K_l between the same samples. The obvious data
structure, an array of n_kernels x n_samples x n_samples, is never built here: for a data set of
20 000 features it would need hundreds of gigabytes. Learning needs the base kernels in two ways
only, and `Kernels` offer just these:

* ``combine(a)``: coefficients to a matrix, ``sum_l a_l K_l``. The prototypes and the codes see the
  base kernels only through this one n_samples x n_samples matrix.
* ``contract(M)``: a matrix to coefficients, ``<K_l, M>`` for every l. The objective is linear in
  the combined kernel when prototypes and codes are fixed, so this is all that learning the weights
  needs.

One is the adjoint of the other, ``<combine(a), M> = a . contract(M)``, and all kernels are tested
for that identity. Where M lives on few pairs of samples, ``pairs`` evaluates the kernels there
alone.

A **bank** is what users write, such as `PerFeatureGaussian`, `PerColumn` for tables with categories
and missing cells, `PerWord` for counts of words, `GlobalAlignment` for time series, `KernelStack`
for functions of one's own and `Precomputed` for matrices. It holds parameters, never data.
``bank.on(X)`` learns from the training part what depends on it, such as bandwidths, and gives
`Kernels`: the base kernels between these samples. ``kernels.select(indices)`` are some of the
kernels, ``kernels.take(rows)`` those among some of the samples, ``kernels.cross(new)`` those
between new samples and these. `Averaged` takes means of them in groups. All of them are frozen, and
``tests/contracts/bank.py`` has the laws of all kernels.
"""

from imkpl.kernels.align import ExpectedAlignment, expected_alignment
from imkpl.kernels.alignment import GlobalAlignment
from imkpl.kernels.base import BaseKernel, BaseKernelBank, Kernels
from imkpl.kernels.custom import (
    FunctionKernel,
    Gaussian,
    KernelStack,
    NamedKernel,
    Precomputed,
    normalize_stack,
    resolve_bank,
)
from imkpl.kernels.normalize import Averaged
from imkpl.kernels.per_feature import PerFeatureGaussian
from imkpl.kernels.sources import ArrayColumns, ParquetColumns
from imkpl.kernels.table import PerColumn
from imkpl.kernels.words import PerWord

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
    "expected_alignment",
    "normalize_stack",
    "resolve_bank",
]
