"""The classes that a model file may name. A file reaches no other class, and no function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl.estimators import (
    IMKPL,
    IMKPLCV,
    ISKPL,
    IMKPLSelector,
    MultiLabelIMKPL,
    TimeSeriesIMKPL,
)
from imkpl.kernels import (
    Averaged,
    Gaussian,
    GlobalAlignment,
    KernelStack,
    NamedKernel,
    Normalized,
    PerColumn,
    PerFeatureGaussian,
    Precomputed,
    VarianceNormalized,
)
from imkpl.kernels.channels import ChannelKernels
from imkpl.kernels.column_codes import ColumnKernels
from imkpl.kernels.per_feature import FeatureKernels
from imkpl.model.predictor import Encoder, Predictor, Readout
from imkpl.series import SeriesSet
from imkpl.tables import Column, Table


def _by_name(*classes: type) -> Mapping[str, type[Any]]:
    return {one.__name__: one for one in classes}


ESTIMATORS = _by_name(
    IMKPL,
    IMKPLCV,
    ISKPL,
    IMKPLSelector,
    MultiLabelIMKPL,
    TimeSeriesIMKPL,
)

# Frozen data classes, written field by field. A new kernel or bank is a new line here.
PARTS = _by_name(
    Averaged,
    ChannelKernels,
    Column,
    ColumnKernels,
    Encoder,
    FeatureKernels,
    Gaussian,
    GlobalAlignment,
    KernelStack,
    NamedKernel,
    Normalized,
    PerColumn,
    PerFeatureGaussian,
    Precomputed,
    Predictor,
    Readout,
    SeriesSet,
    Table,
    VarianceNormalized,
)

# Types of single values of NumPy, each of which is exactly a Python value with its type beside it.
SCALARS = _by_name(
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.str_,
)

# What `dtype` of a bank may be besides a name.
NUMBER_TYPES = _by_name(float, np.float32, np.float64)


def trusted_types() -> list[str]:
    """The names of the types in a fitted model that skops does not trust by itself.

    Returns
    -------
    list of str
        For ``skops.io.load(path, trusted=trusted_types())``: the estimators and kernels of this
        library, what they are made of, SciPy's sparse array and NumPy's type of types. None of
        them runs code that comes from a file.

    Examples
    --------
    >>> "imkpl.kernels.gaussian.Gaussian" in trusted_types()
    True
    """
    classes = (*ESTIMATORS.values(), *PARTS.values(), sp.csr_array, np.dtype)
    return sorted(f"{one.__module__}.{one.__qualname__}" for one in classes)
