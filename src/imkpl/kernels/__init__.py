"""Kernels, and banks of kernels that are operators.

Multiple-kernel learning combines many base kernels K_l between the same samples. The obvious data
structure, an array of n_kernels x n_samples x n_samples, is never built here: for a data set of
20 000 features it would need hundreds of gigabytes. Learning needs the base kernels in two ways
only, and a **bank** offers just these:

* ``combine(a)``: coefficients to a matrix, ``sum_l a_l K_l(X, Y)``. The prototypes and the codes
  see the base kernels only through this one n_samples x n_samples matrix.
* ``contract(M)``: a matrix to coefficients, ``<K_l(X, Y), M>`` for every l. The objective is linear
  in the combined kernel when prototypes and codes are fixed, so this is all that learning the
  weights needs.

One is the adjoint of the other, ``<combine(a), M> = a . contract(M)``, and every bank is tested for
that identity. Where M lives on few pairs of samples, ``pairs`` evaluates the kernels there alone.

Banks and kernels are frozen: they hold parameters, never data. ``adapt(X)`` returns a new bank
whose data-dependent parameters, such as bandwidths, were learned from the training part.
``select(indices)`` returns the bank of some of the kernels, and wrappers (`Normalized`,
`VarianceNormalized`) rescale the kernels of any other bank, or average them in groups (`Averaged`).
`PerColumn` reads tables with categories and missing cells, `PerWord` counts of words.
"""

from imkpl.kernels.alignment import ExpectedAlignment, GlobalAlignment, expected_alignment
from imkpl.kernels.base import BaseKernel, BaseKernelBank
from imkpl.kernels.columns import ArrayColumns, ParquetColumns, SparseColumns
from imkpl.kernels.custom import (
    FunctionKernel,
    Gaussian,
    KernelStack,
    NamedKernel,
    resolve_bank,
)
from imkpl.kernels.normalize import Averaged, Normalized, VarianceNormalized
from imkpl.kernels.per_feature import PerFeatureGaussian
from imkpl.kernels.precomputed import Precomputed, normalize_stack
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
    "NamedKernel",
    "Normalized",
    "ParquetColumns",
    "PerColumn",
    "PerFeatureGaussian",
    "PerWord",
    "Precomputed",
    "SparseColumns",
    "VarianceNormalized",
    "expected_alignment",
    "normalize_stack",
    "resolve_bank",
]
