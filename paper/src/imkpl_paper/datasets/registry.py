"""What is known about every data set: where it comes from, how large it is, how to cite it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["vectors", "series", "multilabel"]

_ASU = "https://jundongl.github.io/scikit-feature/files/datasets/"
_UEA = "https://timeseriesclassification.com/aeon-toolkit/"
_SELECTION = (
    "J. Li, K. Cheng, S. Wang, F. Morstatter, R. P. Trevino, J. Tang, H. Liu: Feature Selection: A "
    "Data Perspective. ACM Computing Surveys 50(6), 2018."
)
_ARCHIVE = (
    "A. Bagnall et al.: The UEA Multivariate Time Series Classification Archive, 2018. "
    "arXiv:1811.00075."
)
_UCR_ARCHIVE = (
    "H. A. Dau et al.: The UCR Time Series Archive. IEEE/CAA Journal of Automatica Sinica 6(6), "
    "2019."
)


@dataclass(frozen=True)
class DatasetInfo:
    """A data set that `load` knows.

    Parameters
    ----------
    name : str
        What `load` is called with.
    kind : {"vectors", "series", "multilabel"}
        Feature vectors, time series, or vectors with several labels each.
    shape : tuple of int
        Numbers of samples, of features or channels, and of classes or labels.
    citation : str
        Reference to cite.
    home : str
        Web page that describes the data.
    file : str
        Name of the npz file in a data folder, without its ending.
    url : str
        Address of the download; empty if there is none.
    checksum : str
        SHA-256 of the samples, as `fingerprint` gives it; empty where it is not known.
    in_paper : bool
        Whether it is one of the paper's seven.
    note : str
        Further remarks.
    """

    name: str
    kind: Kind
    shape: tuple[int, int, int]
    citation: str
    home: str
    file: str
    url: str = ""
    checksum: str = ""
    in_paper: bool = False
    note: str = ""

    @property
    def served_file(self) -> str:
        """Name of the file as its home serves it; empty where there is no address."""
        return self.url.rsplit("/", 1)[-1]


def _asu(name: str, shape: tuple[int, int, int], **more: object) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        kind="vectors",
        shape=shape,
        citation=_SELECTION,
        home="https://jundongl.github.io/scikit-feature/datasets.html",
        file=name,
        url=f"{_ASU}{name}.mat",
        **more,  # type: ignore[arg-type]
    )


def _uea(
    name: str, shape: tuple[int, int, int], citation: str = _ARCHIVE, **more: object
) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        kind="series",
        shape=shape,
        citation=citation,
        home=f"https://timeseriesclassification.com/description.php?Dataset={name}",
        file=name,
        url=f"{_UEA}{name}.zip",
        **more,  # type: ignore[arg-type]
    )


_ALL = (
    _asu("CLL_SUB_111", (111, 11340, 3), in_paper=True),
    _asu(
        "TOX_171",
        (171, 5748, 4),
        in_paper=True,
        checksum="09051577a77c035481d0195635023524902842ed04a4e315935e1d58e6113bd3",
    ),
    _asu(
        "Isolet",
        (1560, 617, 26),
        in_paper=True,
        checksum="4b572e28a42564b025cb77c2df0ccc98e959e36486c102356814470562b439e1",
    ),
    DatasetInfo(
        name="rcv1",
        kind="multilabel",
        shape=(6000, 944, 101),
        citation=(
            "D. D. Lewis, Y. Yang, T. G. Rose, F. Li: RCV1: A New Benchmark Collection for Text "
            "Categorization Research. JMLR 5, 2004. Subset 1 of the Mulan library."
        ),
        home="https://mulan.sourceforge.net/datasets-mlc.html",
        file="rcv1subset1_top944",
        checksum="1f27364f2fcae4ea7597a282a2a12bd9fb29ff4707ef352e22dd4347e0fb9138",
        in_paper=True,
        note=(
            "Every document has several of 101 topics, the paper speaks of 101 classes. "
            "imkpl_paper.datasets.rarest_label makes one class of them. The 944 terms are binary."
        ),
    ),
    _uea("PEMS-SF", (440, 963, 7), in_paper=True),
    DatasetInfo(
        name="AUSLAN",
        kind="series",
        shape=(2565, 22, 95),
        citation=(
            "M. W. Kadous: Temporal Classification: Extending the Classification Paradigm to "
            "Multivariate Time Series. PhD thesis, University of New South Wales, 2002."
        ),
        home="https://archive.ics.uci.edu/dataset/115",
        file="AUSLAN_tctodd",
        url=(
            "https://archive.ics.uci.edu/static/public/115/"
            "australian+sign+language+signs+high+quality.zip"
        ),
        in_paper=True,
    ),
    DatasetInfo(
        name="UTKinect",
        kind="series",
        shape=(199, 60, 10),
        citation=(
            "L. Xia, C.-C. Chen, J. K. Aggarwal: View Invariant Human Action Recognition Using "
            "Histograms of 3D Joints. CVPR workshops, 2012."
        ),
        home="https://cvrc.ece.utexas.edu/KinectDatasets/HOJ3D.html",
        file="UTKinect",
        checksum="52e51e2f1e7cbcdc925a480a27c953adc1a26524f6e2a59538d8459c79ffc37e",
        in_paper=True,
        note="Three coordinates of 20 joints, as the camera gave them.",
    ),
    DatasetInfo(
        name="MLL_Leukemia3",
        kind="vectors",
        shape=(72, 11225, 3),
        citation=(
            "S. A. Armstrong et al.: MLL Translocations Specify a Distinct Gene Expression Profile "
            "that Distinguishes a Unique Leukemia. Nature Genetics 30, 2002."
        ),
        home="https://doi.org/10.1038/ng765",
        file="MLL_Leukemia3",
        checksum="013bad50a852a941d3ed34f5d7fbd484543388fdd3a52842dab661f717d01b96",
        note="Stands in for CLL_SUB_111 where that is not available.",
    ),
    _asu(
        "ALLAML",
        (72, 7129, 2),
        checksum="74c39e109d8f8a3df200cf68e61a053e15529ed7bd5b323d5b670c2915b89ba5",
    ),
    _asu(
        "leukemia",
        (72, 7070, 2),
        note="Expression levels are discrete: -2, 0, 2.",
        checksum="060a93494b1eee76b606a47ebbc2aa08da3be001dfcb8b95c07b195a5082d2a5",
    ),
    _asu(
        "colon",
        (62, 2000, 2),
        note="Expression levels are discrete: -2, 0, 2.",
        checksum="1a205a246093d108d0a3d465449ffe077705d9bc8bdbd53ca635fb67d0e18a8d",
    ),
    _uea("ArticularyWordRecognition", (575, 9, 25)),
    _uea(
        "BasicMotions",
        (80, 6, 4),
        checksum="f7f247b83fd820f78784b0e0c39786a38574237bb6b4b44cac61a1cdc147fe53",
    ),
    _uea(
        "JapaneseVowels",
        (640, 12, 9),
        checksum="804ad0066f3e3f7d91aeb9123f3962a488e7f5ef60b0c82dabecea0aa8bf78ad",
    ),
    _uea("Libras", (360, 2, 15)),
    _uea(
        "DodgerLoopDay",
        (158, 1, 7),
        _UCR_ARCHIVE,
        note="Values are missing inside series. Stands in for PEMS-SF where that is not available.",
    ),
    DatasetInfo(
        name="Cricket",
        kind="series",
        shape=(180, 6, 12),
        citation=(
            "M. H. Ko, G. West, S. Venkatesh, M. Kumar: Online Context Recognition in Multisensor "
            "Systems using Dynamic Time Warping. ISSNIP 2005."
        ),
        home="https://github.com/bab-git/NNKSC",
        file="Cricket_NNKSC",
        checksum="23624378a92fb1e2d3c973f4a83cb6e4c0c6c4e575030def99ace1bc4f37cfb9",
        note="With distances under DTW, of all channels together and of each.",
    ),
)

DATASETS: dict[str, DatasetInfo] = {info.name: info for info in _ALL}
