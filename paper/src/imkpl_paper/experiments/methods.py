"""The methods by name: ours, the paper's baselines, and further peers."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import imkpl
import imkpl_paper
from imkpl import IMKPL, ISKPL
from imkpl_paper.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection
from imkpl_paper.experiments import peers
from imkpl_paper.experiments.published import published_settings
from imkpl_paper.experiments.studies import Study

Make = Callable[[Study, Mapping[str, Any], int], Any]
Group = Literal["ours", "baseline", "peer"]
EVERYTHING = frozenset({"ip", "dr", "kernels", "per_class"})
SELECTING = frozenset({"kernels"})
WITHOUT_CODES = frozenset({"ip", "per_class"})
BOTH = frozenset({"vectors", "series"})
VECTORS, SERIES = frozenset({"vectors"}), frozenset({"series"})
# Parts of imkpl that show, store or describe models, and change no number.
SILENT = frozenset(
    {
        "_archive",
        "_json",
        "_progress",
        "cli",
        "explanations",
        "files",
        "plots",
        "readers",
        "report",
    }
)
# The modules here that decide on a number; for peers, their adapters too.
MEASURING = ("codes.py", "methods.py", "protocol.py", "studies.py")
# Module -> distribution, where the names differ.
DISTRIBUTIONS = {"interpret": "interpret-core"}


@dataclass(frozen=True)
class Method:
    """A method of the comparison."""

    name: str  # as in the paper's tables
    make: Make  # makes an estimator from a study, settings and a seed
    group: Group = "peer"
    kinds: frozenset[str] = VECTORS  # what it reads
    measures: frozenset[str] = frozenset()  # beside accuracy and time
    requires: tuple[str, ...] = ()  # modules that have to be installed
    package: str = ""  # what to install for them
    # Settings that are found by cross-validation in the training part, with candidates besides the
    # value that the search starts from; each is searched with the best values of those before it.
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
        return source_fingerprint(self.group, self.requires)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@cache
def source_fingerprint(group: Group, requires: tuple[str, ...]) -> str:
    """A digest of what the rows of a method depend on.

    Of imkpl and this package the source counts, without comments and docstrings: all parts for our
    methods, with the baselines for these, and kernels, series and adapters for peers. Of other
    packages the version counts.
    """
    digest = hashlib.sha256()
    for package in (imkpl, imkpl_paper):
        (folder,) = package.__path__
        for path in sorted(pathlib.Path(folder).rglob("*.py")):
            parts = (package.__name__, *path.relative_to(folder).parts)
            if _counts(parts, group):
                source = _without_docstrings(path.read_text(encoding="utf-8"))
                digest.update(f"{'/'.join(parts)}\n{source}\n".encode())
    for module in requires:
        try:
            version = importlib.metadata.version(DISTRIBUTIONS.get(module, module))
        except importlib.metadata.PackageNotFoundError:
            version = "unknown"
        digest.update(version.encode())
    return digest.hexdigest()[:12]


def _counts(parts: tuple[str, ...], group: Group) -> bool:
    """Whether a file decides on the numbers of a group of methods."""
    package, home = parts[0], parts[1].removesuffix(".py")
    if package == "imkpl":
        return home in ("kernels", "series") if group == "peer" else home not in SILENT
    if home == "experiments":
        return parts[-1] in MEASURING or (group == "peer" and parts[-1] == "peers.py")
    return home in ("datasets", "skeletons") or (home == "baselines" and group == "baseline")


@cache
def _without_docstrings(source: str) -> str:
    """The syntax tree in words."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)


def _make_default(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
    return IMKPL(study.kernels, random_state=seed, n_jobs=1, **settings)


def _counts_of_paper(study: Study) -> dict[str, Any]:
    return {
        "sparsity": study.sparsity,
        "n_prototypes": study.n_prototypes,
        "max_kernels": study.max_kernels,
    }


def _settings_of_paper(study: Study) -> dict[str, Any]:
    """Table 1's, where it has the data set."""
    name = (study.stands_for or study.name).partition("/")[0]
    return {**published_settings(name), "sparsity": study.sparsity}


def _as_published(change: Callable[[Study], dict[str, Any]]) -> Make:
    """The method as the paper prints it, with Table 1's settings where it has them, and changes."""

    def make(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
        chosen = {**_settings_of_paper(study), **change(study), **settings}
        return IMKPL.as_published(study.kernels, random_state=seed, n_jobs=1, **chosen)

    return make


def _large_margin(study: Study) -> dict[str, Any]:
    return {"weight_rule": "large_margin", "separation": 10.0, "n_neighbors": 5}


# From the paper's method to ours: each step keeps those before it. None is the library's default.
STEPS: dict[str, dict[str, Any]] = {
    "IMKPL, as printed": {},
    "+ weights by margins": {"weight_rule": "margin", "n_neighbors": 4, "separation": 100.0},
    "+ weights of the other terms": {"discrimination": 0.5, "interpretability": 1.2},
    "+ short codes while learning": {"learning_code_sparsity": 1, "code_sparsity": 20},
    "+ votes of own cases": {"decision": "votes", "contrast": False},
    "+ contrasts": {"contrast": None},
    "+ sizes by folds": {"n_prototypes": None, "sparsity": None},
    "+ own number of kernels": {"max_kernels": None},
}


def _up_to(step: str) -> Callable[[Study], dict[str, Any]]:
    """All changes to the printed method up to a step, with the paper's counts after the first."""
    first, *names = list(STEPS)[: list(STEPS).index(step) + 1]

    def change(study: Study) -> dict[str, Any]:
        counts = _counts_of_paper(study) if names else {}
        return counts | {k: v for name in (first, *names) for k, v in STEPS[name].items()}

    return change


def _make_iskpl(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
    """The paper's method without weights, as printed."""
    chosen = {**_settings_of_paper(study), **settings}
    chosen.pop("separation", None)
    return ISKPL.as_published(study.kernels, random_state=seed, n_jobs=1, **chosen)


def _baseline(kind: type, count: str = "", **start: Any) -> Make:
    """A baseline with T0 prototypes per class, by the parameter that counts them."""

    def make(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
        per_class = {count: study.n_per_class or study.sparsity} if count else {}
        chosen = {**per_class, **start, **settings}
        return kind(study.kernels, random_state=seed, n_jobs=1, **chosen)

    return make


def _peer(kind: type[peers.BasePeer]) -> Make:
    def make(study: Study, settings: Mapping[str, Any], seed: int) -> Any:
        return kind(study.kernels, n_per_class=study.sparsity, random_state=seed, **settings)

    return make


_ALL = (
    Method("IMKPL", _make_default, "ours", BOTH, EVERYTHING),
    Method("ISKPL", _make_iskpl, "ours", BOTH, EVERYTHING - SELECTING),
    Method(
        "MKLDPL",
        _baseline(MKLDPL, "n_per_class", ridge=0.3),
        "baseline",
        BOTH,
        EVERYTHING,
        grid={"ridge": (0.03,)},
    ),
    Method(
        "DKMLD",
        _baseline(DKMLD, "n_levels"),
        "baseline",
        BOTH,
        EVERYTHING,
        grid={"reg": (0.1, 1.0)},
    ),
    Method(
        "MIDL",
        _baseline(MIDL, "n_per_class", ridge=0.3),
        "baseline",
        BOTH,
        EVERYTHING,
        grid={"ridge": (0.03,)},
    ),
    Method(
        "AKGLVQ",
        _baseline(AKGLVQ),
        "baseline",
        BOTH,
        WITHOUT_CODES,
        grid={"sparsity": (10, 50), "n_per_class": (3,)},
    ),
    # It searches for its radius itself, by cross-validation as well.
    Method("PS", _baseline(PrototypeSelection), "baseline", BOTH, WITHOUT_CODES),
    *(Method(name, _as_published(_up_to(name)), "ours", BOTH, EVERYTHING) for name in STEPS),
    Method(
        "IMKPL, large margin",
        _as_published(_large_margin),
        "ours",
        BOTH,
        EVERYTHING,
        grid={"separation": (100.0, 1000.0)},
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
        package="aeon",
    ),
    Method("ROCKET", _peer(peers.Rocket), kinds=SERIES, requires=("aeon",), package="aeon"),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
# The paper's method as printed, and in our reading of its weights.
PRINTED = ("IMKPL, as printed", "IMKPL, large margin")
BASELINES = ("MKLDPL", "DKMLD", "MIDL", "AKGLVQ", "PS")
PAPER = (*PRINTED, "IMKPL", "ISKPL", *BASELINES)
PEERS = tuple(method.name for method in _ALL if method.group == "peer")
