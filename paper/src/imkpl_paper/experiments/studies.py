"""The data sets of the experiments: how each is read, and with which settings it is learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
import sklearn.datasets
from sklearn.model_selection import train_test_split

from imkpl.kernels import Averaged, GlobalAlignment
from imkpl.series import read_series
from imkpl_paper import datasets
from imkpl_paper._imkpl import IntArray
from imkpl_paper.skeletons import SkeletonLieGroup, SkeletonNormalizer
from imkpl_paper.skeletons.bones import KINECT_BONES, KINECT_JOINTS

Kind = Literal["vectors", "series"]
QUICK_SAMPLES = 300


class Samples(NamedTuple):
    """Samples and their class labels."""

    X: Any
    y: Any


@dataclass(frozen=True)
class Study:
    """A data set as it is used in the experiments."""

    name: str  # the paper's where the paper has it
    read: Callable[[], Samples]  # raises FileNotFoundError if the data are not available
    kind: Kind = "vectors"
    sparsity: int = 10  # T0, the paper's where it has the data set
    max_kernels: int | None = None  # the paper's count where that is known
    n_prototypes: int | None = None  # the paper's, T0 times the number of classes
    n_per_class: int | None = None  # prototypes per class of the dictionary methods; None for T0
    kernels: Any = "per_feature_gaussian"
    # Draws the samples of a split anew, if they are made and not read.
    draw: Callable[[int], Samples] | None = None
    # Reads a table of all labels of the samples, if a prediction is right that is one of them.
    labels: Callable[[], Any] | None = None
    stand_in: str = ""  # the study that takes its place if the data are not available
    stands_for: str = ""  # the paper's data set that this one takes the place of
    note: str = ""

    def shrink(self, share: float) -> Study:
        """For a part of the samples: as many prototypes in proportion."""
        count = self.n_prototypes
        return replace(
            self,
            n_prototypes=None if count is None else round(share * count),
            n_per_class=max(1, round(share * self.sparsity)),
        )


def _stored(name: str) -> Callable[[], Samples]:
    def read() -> Samples:
        data = datasets.load(name, download=False)
        return Samples(data.X, data.y)

    return read


def _embedded(name: str) -> Callable[[], Samples]:
    def read() -> Samples:
        data = getattr(sklearn.datasets, f"load_{name}")()
        return Samples(data.data, np.asarray(data.target_names).astype(str)[data.target])

    return read


def _some_of(read_all: Callable[[], Samples], n_samples: int) -> Callable[[], Samples]:
    """So many samples of a data set, of every class in proportion."""

    def read() -> Samples:
        X, y = read_all()
        X, _, y, _ = train_test_split(X, y, train_size=n_samples, stratify=y, random_state=0)
        return Samples(X, y)

    return read


def _make_synthetic(n_per_class: int) -> Callable[[int], Samples]:
    def draw(split: int) -> Samples:
        X, y = datasets.make_paper_series(n_per_class, random_state=split)
        return Samples(read_series(X), y)

    return draw


def _read_rcv1() -> Samples:
    topics = _read_topics()
    most_common = np.argmax(np.where(topics, topics.sum(axis=0), 0), axis=1)
    return Samples(datasets.load("rcv1", download=False).X, most_common)


def _read_topics() -> Any:
    return datasets.load("rcv1", download=False).y > 0


# The names in the file that are not the paper's.
ACTIONS = {
    "clapHands": "clap",
    "pickUp": "pick up",
    "sitDown": "sit down",
    "standUp": "stand up",
    "waveHands": "wave",
}


def _read_utkinect() -> Samples:
    data = datasets.load("UTKinect", download=False)
    y = np.array([ACTIONS.get(name, name) for name in data.y.tolist()])
    # Every series is treated on its own: nothing is learned from test samples.
    return Samples(SkeletonNormalizer().fit_transform(data.X), y)


def _read_motions() -> Samples:
    """Motions between bones, with the size of every series of its own."""
    X = datasets.load("UTKinect", download=False).X
    return Samples(SkeletonLieGroup(scale="first").fit_transform(X), _read_utkinect().y)


# The six curves of every pair of bones; the first of them is always zero.
N_PAIRS = len(KINECT_BONES) * (len(KINECT_BONES) - 1)
PAIRS = {f"pair {i}": range(6 * i + 1, 6 * i + 6) for i in range(N_PAIRS)}

# The joints of the Kinect's skeleton but the centre of the hips, three coordinates each.
JOINTS = {joint: range(3 * i, 3 * i + 3) for i, joint in enumerate(KINECT_JOINTS[1:])}

_ALL = (
    Study(
        "CLL_SUB",
        _stored("CLL_SUB_111"),
        sparsity=15,
        max_kernels=204,
        n_prototypes=45,
        stand_in="MLL_Leukemia3",
    ),
    Study("TOX_171", _stored("TOX_171"), sparsity=18, max_kernels=72, n_prototypes=72),
    Study("Isolet", _stored("Isolet"), sparsity=20, max_kernels=141, n_prototypes=520),
    Study(
        "rcv1",
        _read_rcv1,
        sparsity=15,
        max_kernels=220,
        n_prototypes=1515,
        labels=_read_topics,
        note=(
            "A document is learned as one of its most common topic, and a prediction is right if "
            "it is one of the document's topics (2.9 of 101 on average); the paper does not say "
            "how it makes classes of topics. Terms are yes or no, the paper has word embeddings."
        ),
    ),
    Study(
        "UTKinect",
        _read_utkinect,
        kind="series",
        sparsity=5,
        max_kernels=14,
        n_prototypes=50,
        kernels=Averaged(GlobalAlignment(views=("values", "differences"), length=30), JOINTS),
        note=(
            "Joints relative to the hips, facing one way, with the active arm on the right; one "
            "kernel per joint. The paper has kernels on motions between bones."
        ),
    ),
    Study(
        "UTKinect/Lie",
        _read_motions,
        kind="series",
        sparsity=5,
        max_kernels=14,
        n_prototypes=50,
        kernels=Averaged(GlobalAlignment(length=30), PAIRS),
        note=(
            "Motions between bones as points of a Lie group, the preparation that the paper names; "
            "one kernel per pair of bones, 342. The paper has 60 kernels."
        ),
    ),
    Study(
        "PEMS",
        _stored("PEMS-SF"),
        kind="series",
        sparsity=20,
        max_kernels=89,
        n_prototypes=140,
        kernels=GlobalAlignment(length=36),
        stand_in="DodgerLoopDay",
    ),
    Study(
        "AUSLAN",
        _stored("AUSLAN"),
        kind="series",
        sparsity=12,
        max_kernels=21,
        n_prototypes=1140,
        kernels=GlobalAlignment(views=("values", "differences"), length=20),
        note="Table 1 of the paper has 128 features, the published data 22 channels.",
    ),
    *(
        Study(
            f"Isolet/{part}",
            _some_of(_stored("Isolet"), 1560 // part),
            sparsity=20 // part,
            max_kernels=141,
            n_prototypes=520 // part,
        )
        for part in (2, 4)
    ),
    Study("MLL_Leukemia3", _stored("MLL_Leukemia3"), sparsity=15, stands_for="CLL_SUB"),
    Study(
        "DodgerLoopDay",
        _stored("DodgerLoopDay"),
        kind="series",
        sparsity=20,
        kernels=GlobalAlignment(views=("values", "differences")),
        stands_for="PEMS",
    ),
    Study("wine", _embedded("wine")),
    Study("breast_cancer", _some_of(_embedded("breast_cancer"), QUICK_SAMPLES)),
    Study("digits", _some_of(_embedded("digits"), QUICK_SAMPLES), sparsity=5),
    Study("digits/2", _some_of(_embedded("digits"), QUICK_SAMPLES // 2), sparsity=5),
    Study(
        "synthetic",
        partial(_make_synthetic(25), 0),
        kind="series",
        sparsity=3,
        kernels="global_alignment",
        draw=_make_synthetic(25),
        note="The paper does not print its curves; see imkpl_paper.datasets.make_paper_series.",
    ),
    Study(
        "synthetic_small",
        partial(_make_synthetic(10), 0),
        kind="series",
        sparsity=2,
        kernels=GlobalAlignment(length=30),
        draw=_make_synthetic(10),
    ),
)

STUDIES: dict[str, Study] = {study.name: study for study in _ALL}


@dataclass(frozen=True)
class Choice:
    """Which study is run for one that was asked for."""

    asked: str
    name: str  # empty if there is none
    reason: str = ""  # why that is another one, or none


def choose_study(name: str) -> Choice:
    """The study itself if its data are available, or its stand-in, or none with a reason."""
    study = STUDIES[name]
    try:
        load_samples(name)
    except FileNotFoundError as error:
        reason = str(error)
    else:
        return Choice(name, name)
    if study.stand_in:
        other = choose_study(study.stand_in)
        if other.name:
            return Choice(name, other.name, f"{other.name} stands in: {reason}")
    return Choice(name, "", reason)


@lru_cache(maxsize=2)
def load_samples(name: str) -> Samples:
    """The samples of a study; the last two are kept, because cells come in their order."""
    return STUDIES[name].read()


def draw_samples(name: str, split: int) -> Samples:
    """The samples of a study for a split: new ones where they are made, else all."""
    draw = STUDIES[name].draw
    return load_samples(name) if draw is None else draw(split)


def split_samples(y: Any, split: int) -> tuple[IntArray, IntArray]:
    """Rows to train on and rows to judge: 80/20, stratified, the split's number as seed."""
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=0.2, stratify=y, random_state=split)
    return np.asarray(train), np.asarray(test)
