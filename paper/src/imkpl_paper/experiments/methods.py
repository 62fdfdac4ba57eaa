"""The methods by name: ours, the paper's baselines, and further peers."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from imkpl_paper.experiments import peers
from imkpl_paper.experiments.fingerprint import versions_fingerprint
from imkpl_paper.experiments.studies import Study
from imkpl_paper.experiments.tuning import GRID

Make = Callable[[Study, Mapping[str, Any], int], Any]
Group = Literal["ours", "baseline", "peer"]
EVERYTHING = frozenset({"ip", "dr", "kernels", "per_class"})
SELECTING = frozenset({"kernels"})
BOTH = frozenset({"vectors", "series"})
VECTORS, SERIES = frozenset({"vectors"}), frozenset({"series"})


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Parameters
    ----------
    name : str
        As in the paper's tables.
    make : function (study, settings, seed) -> estimator
        The estimator, not yet fitted.
    group : {"ours", "baseline", "peer"}
        Whose it is.
    kinds : frozenset of {"vectors", "series"}
        What it reads.
    measures : frozenset of {"ip", "dr", "kernels", "per_class"}
        What can be said of it, beside accuracy and time.
    requires : tuple of str
        Modules that have to be installed.
    package : str
        What to install for them.
    grid : dict of str to tuple
        Settings that are found by cross-validation in the training part, with their candidates.
    """

    name: str
    make: Make
    group: Group = "peer"
    kinds: frozenset[str] = VECTORS
    measures: frozenset[str] = frozenset()
    requires: tuple[str, ...] = ()
    package: str = ""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def missing(self) -> str:
        """Why it cannot be run."""
        for module in self.requires:
            if not _is_installed(module):
                how = f" Install it with pip install {self.package}." if self.package else ""
                return f"{self.name} needs {module}, which is not installed.{how}"
        return ""

    @property
    def fingerprint(self) -> str:
        """Changes when its rows have to be measured again."""
        return versions_fingerprint(self.group, self.requires)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _make_imkpl(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
    from imkpl import IMKPL, TimeSeriesIMKPL

    kind = TimeSeriesIMKPL if study.kind == "series" else IMKPL
    chosen = {"sparsity": study.sparsity, "max_kernels": study.max_kernels, **settings}
    return kind(study.kernels, random_state=seed, n_jobs=1, **chosen)


def _make_iskpl(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
    from imkpl import ISKPL

    chosen = {"sparsity": study.sparsity, **settings}
    return ISKPL(study.kernels, random_state=seed, n_jobs=1, **chosen)


def _baseline(name: str, count: str = "") -> Make:
    """A baseline with T0 prototypes per class, by the parameter that counts them."""

    def make(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
        chosen = {count: study.sparsity} if count else {}
        kind = getattr(importlib.import_module("imkpl_paper.baselines"), name)
        return kind(study.kernels, random_state=seed, n_jobs=1, **chosen, **settings)

    return make


def _peer(kind: type[peers.BasePeer]) -> Make:
    def make(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
        return kind(study.kernels, n_per_class=study.sparsity, random_state=seed, **settings)

    return make


_BASELINES = ("imkpl_paper.baselines",)
_ALL = (
    Method("IMKPL", _make_imkpl, "ours", BOTH, EVERYTHING),
    Method("IMKPL tuned", _make_imkpl, "ours", BOTH, EVERYTHING, grid=GRID),
    Method("ISKPL", _make_iskpl, "ours", BOTH, EVERYTHING - SELECTING),
    Method("MKLDPL", _baseline("MKLDPL", "n_per_class"), "baseline", BOTH, EVERYTHING, _BASELINES),
    Method("DKMLD", _baseline("DKMLD", "n_levels"), "baseline", BOTH, EVERYTHING, _BASELINES),
    Method("MIDL", _baseline("MIDL", "n_per_class"), "baseline", BOTH, EVERYTHING, _BASELINES),
    Method(
        "AKGLVQ",
        _baseline("AKGLVQ"),
        "baseline",
        BOTH,
        frozenset({"ip", "per_class"}),
        _BASELINES,
        # How many samples a prototype is cut to decides its accuracy more than anything else.
        grid={"sparsity": (20, 50, None)},
    ),
    Method(
        "PS",
        _baseline("PrototypeSelection"),
        "baseline",
        BOTH,
        frozenset({"ip", "per_class"}),
        _BASELINES,
    ),
    Method("1-NN", _peer(peers.NearestNeighbor)),
    Method("SVM, average kernel", _peer(peers.AverageKernelSVM), kinds=BOTH),
    Method("sparse logistic regression", _peer(peers.SparseLogistic), measures=SELECTING),
    Method("GMLVQ", _peer(peers.MatrixLVQ), requires=("sklvq",), package="sklvq"),
    Method(
        "ProtoDash",
        _peer(peers.ProtoDash),
        requires=("aix360", "cvxpy", "osqp", "xport"),
        # aix360 imports xport for a file format; the newest does not build, this one is a wheel.
        package="aix360 cvxpy osqp xport==2.0.2",
    ),
    Method(
        "EasyMKL", _peer(peers.EasyMKL), kinds=BOTH, requires=("MKLpy", "torch"), package="MKLpy"
    ),
    Method("EBM", _peer(peers.BoostingMachine), requires=("interpret",), package="interpret-core"),
    Method(
        "1-NN DTW",
        _peer(peers.NearestNeighborDTW),
        kinds=SERIES,
        requires=("aeon",),
        package="'imkpl[series]'",
    ),
    Method(
        "ROCKET", _peer(peers.Rocket), kinds=SERIES, requires=("aeon",), package="'imkpl[series]'"
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
PAPER = ("IMKPL", "ISKPL", "MKLDPL", "DKMLD", "MIDL", "AKGLVQ", "PS")
PEERS = tuple(method.name for method in _ALL if method.group == "peer")
