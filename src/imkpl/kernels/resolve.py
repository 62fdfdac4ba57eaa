"""What a user may write for `kernels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from imkpl.kernels.alignment import GlobalAlignment
from imkpl.kernels.base import BaseKernelBank
from imkpl.kernels.custom import PAIRWISE_NAMES
from imkpl.kernels.kernel import BaseKernel
from imkpl.kernels.per_column import PerColumn
from imkpl.kernels.per_feature import PerFeatureGaussian
from imkpl.kernels.precomputed import Precomputed
from imkpl.kernels.stack import KernelStack

BANK_NAMES: Mapping[str, Callable[[], BaseKernelBank]] = {
    "per_feature_gaussian": PerFeatureGaussian,
    "per_column": PerColumn,
    "precomputed": Precomputed,
    "global_alignment": GlobalAlignment,
}


def resolve_bank(kernels: Any) -> BaseKernelBank:
    """The kernel bank that a user's choice stands for.

    Parameters
    ----------
    kernels : str, BaseKernelBank, BaseKernel, callable, or list of kernels, callables and names
        "per_feature_gaussian", "per_column" for tables with categories or missing cells,
        "global_alignment" for time series, "precomputed", the name of one of scikit-learn's
        pairwise kernels, a bank, or one or several kernels.

    Returns
    -------
    BaseKernelBank
        A bank, not adapted yet.

    Examples
    --------
    >>> resolve_bank("precomputed")
    Precomputed(kernels=None)
    >>> resolve_bank(["linear", "rbf"]).kernel_names()
    ['linear', 'rbf']
    """
    match kernels:
        case BaseKernelBank():
            return kernels
        case str() if kernels in BANK_NAMES:
            return BANK_NAMES[kernels]()
        case str() if kernels in PAIRWISE_NAMES:
            return KernelStack((kernels,))
        case list() | tuple():
            return KernelStack(tuple(kernels))
        case BaseKernel():
            return KernelStack((kernels,))
        case _ if callable(kernels):
            return KernelStack((kernels,))
    names = ", ".join(repr(name) for name in (*BANK_NAMES, *PAIRWISE_NAMES))
    raise ValueError(
        f"kernels={kernels!r} is not known. Expected one of the names {names}; a bank or a kernel "
        "from imkpl.kernels; a function of (X, Y) that returns a matrix; or a list of kernels, "
        "names and functions."
    )
