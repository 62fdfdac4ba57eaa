"""The methods that the paper compares with, as estimators on the same kernels.

The docstrings tell how close each one is to what was published: `PrototypeSelection` is an
implementation, `AKGLVQ` and `DKMLD` are based on the papers, `MIDL` and `MKLDPL` are
reconstructions from published descriptions. All are multi-class, take the kernels that
:class:`imkpl.IMKPL` takes, and see them through sums of kernels and inner products with matrices.
"""

from imkpl_paper.baselines._akglvq import AKGLVQ
from imkpl_paper.baselines._dkmld import DKMLD
from imkpl_paper.baselines._midl import MIDL
from imkpl_paper.baselines._mkldpl import MKLDPL
from imkpl_paper.baselines._prototype_selection import PrototypeSelection

__all__ = ["AKGLVQ", "DKMLD", "MIDL", "MKLDPL", "PrototypeSelection"]
