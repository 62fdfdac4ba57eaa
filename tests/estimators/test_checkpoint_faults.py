"""Full disks, folders that cannot be written to, and spoilt files: a sentence, and nothing lost."""

import errno
import hashlib
import io
import json
import os
import shutil
import threading
import zipfile

import numpy as np
import pytest
from sklearn.base import clone

from imkpl import IMKPL, IMKPLCV
from imkpl._archive import pack, pack_document, unpack_document
from imkpl.estimators import _landmarks
from imkpl.estimators._checkpoint import CHECKPOINT_FILE, Checkpoint
from imkpl.files import CheckpointError
from imkpl.kernels import FunctionKernel

resource = pytest.importorskip("resource", reason="the system has no limits to set")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODEL = IMKPL(sparsity=2, n_prototypes=6, max_iter=4, tol=0.0)
N_KEPT = 2


@pytest.fixture(scope="module")
def folder(wine, tmp_path_factory):
    """What a fit has left that was cut off after two rounds."""
    folder = tmp_path_factory.mktemp("checkpoints")
    original, calls = Checkpoint.save_round, []

    def fail(*arguments):
        original(*arguments)
        calls.append(arguments)
        if len(calls) == N_KEPT:
            raise RuntimeError("cut off")

    model = clone(MODEL).set_params(checkpoint=folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save_round", fail)
        with pytest.raises(RuntimeError, match="cut off"):
            model.fit(wine.X, wine.y)
    return folder


@pytest.fixture
def kept(folder, tmp_path):
    """A model that goes on with a copy of it."""
    return clone(MODEL).set_params(checkpoint=shutil.copytree(folder, tmp_path / "kept"))


@pytest.fixture(scope="module")
def expected(wine):
    return clone(MODEL).fit(wine.X, wine.y).predict_proba(wine.new)


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def find(folder, stage):
    return next(folder.glob(f"*-{stage}.checkpoint"))


def check_refused(model, wine, error, sentence):
    """The fit fails with a sentence; files and estimator are as they were."""
    files, before = files_in(model.checkpoint), dict(vars(model))
    with pytest.raises(error, match=sentence) as caught:
        model.fit(wine.X, wine.y)
    assert files_in(model.checkpoint) == files
    assert vars(model) == before
    return caught.value


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize("is_refit", [False, True])
def test_a_full_disk_is_an_error_and_the_last_checkpoint_is_whole(
    step, is_refit, kept, wine, expected, monkeypatch
):
    if is_refit:
        kept = clone(MODEL).fit(wine.X[:, :5], wine.y).set_params(checkpoint=kept.checkpoint)

    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr("builtins.open", FullDisk)
        else:
            patch.setattr(os, step, fail)
        error = check_refused(
            kept,
            wine,
            OSError,
            r"-round\.checkpoint could not be written: No space left on device\. It is as it "
            r"was\. Free some space or choose another disk, and try again\.$",
        )
    assert error.errno == errno.ENOSPC
    # With space again it goes on.
    np.testing.assert_array_equal(kept.fit(wine.X, wine.y).predict_proba(wine.new), expected)


class FullDisk(io.FileIO):
    """A file on a disk that has room for 100 bytes more."""

    def __init__(self, path, mode="r", *arguments, **more):
        super().__init__(path, mode.replace("b", ""))

    def write(self, content):
        super().write(bytes(content[:100]))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_limit_of_the_system_is_an_error_as_well(wine, tmp_path):
    model = clone(MODEL).set_params(checkpoint=tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"-round\.checkpoint could not be written: File too la"):
            model.fit(wine.X, wine.y)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def no_work(monkeypatch):
    """Fails where the work begins."""

    def work(*arguments):
        raise AssertionError

    monkeypatch.setattr(_landmarks, "adapt_kernels", work)


@pytest.mark.parametrize("place", ["file", "file/folder"])
@pytest.mark.parametrize("model", [MODEL, IMKPLCV(sparsity=(1, 2), cv=2)], ids=["IMKPL", "CV"])
@pytest.mark.usefixtures("no_work")
def test_a_file_in_the_place_of_the_folder_is_an_error_before_the_work(
    model, place, wine, tmp_path
):
    (tmp_path / "file").write_text("something else")
    model = clone(model).set_params(checkpoint=tmp_path / place)
    before = dict(vars(model))
    with pytest.raises(OSError, match=r"cannot be written to: .* Choose another"):
        model.fit(wine.X, wine.y)
    assert vars(model) == before
    assert (tmp_path / "file").read_text() == "something else"


@pytest.mark.usefixtures("no_work")
def test_a_folder_that_is_read_only_is_an_error_before_the_work(kept, wine, monkeypatch):
    def fail(*arguments, **more):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tempfile.TemporaryFile", fail)
    sentence = r"^checkpoint='.*kept' cannot be written to: Permission denied\. Choo"
    assert check_refused(kept, wine, PermissionError, sentence).errno == errno.EACCES


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
@pytest.mark.usefixtures("no_work")
def test_the_modes_of_a_folder_count(kept, wine):
    kept.checkpoint.chmod(0o500)
    try:
        check_refused(kept, wine, PermissionError, "cannot be written to")
    finally:
        kept.checkpoint.chmod(0o700)


ALTERED = r"-{stage}\.checkpoint cannot be used: .*Delete it, and the fit starts again"


@pytest.mark.parametrize("stage", ["round"])
@pytest.mark.usefixtures("no_work")
def test_every_altered_byte_is_an_error_before_the_work(stage, kept, wine):
    path = find(kept.checkpoint, stage)
    content = path.read_bytes()
    places = np.random.default_rng(0).integers(100, len(content) - 100, 20)
    for place in [*range(100, 104), *places, len(content) - 90, len(content) - 1]:
        spoilt = bytearray(content)
        spoilt[place] ^= 1 << (int(place) % 8)
        path.write_bytes(spoilt)
        check_refused(kept, wine, CheckpointError, ALTERED.format(stage=stage))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda content: content[:-1], "its end is missing, so it was cut short or appended to"),
        (lambda content: content[: len(content) // 2], "its end is missing, so it was cut short"),
        (lambda content: content + b"x", "its end is missing, so it was cut short or appended to"),
        (lambda content: b"", r"it is not a checkpoint\. Move it away, or choose another folder"),
        (lambda content: b"a diary", r"it is not a checkpoint\. Move it away, or choose another"),
    ],
)
@pytest.mark.usefixtures("no_work")
def test_files_that_were_cut_or_replaced_are_an_error(spoil, sentence, kept, wine):
    path = find(kept.checkpoint, "round")
    path.write_bytes(spoil(path.read_bytes()))
    check_refused(kept, wine, CheckpointError, rf"round\.checkpoint cannot be used: {sentence}")


def test_without_the_spoilt_file_the_fit_begins_with_what_is_left(kept, wine, expected, capsys):
    path = find(kept.checkpoint, "round")
    path.write_bytes(path.read_bytes()[:-1])
    check_refused(kept, wine, CheckpointError, "Delete it, and the fit starts again with what else")
    path.unlink()
    kept.set_params(verbose=1).fit(wine.X, wine.y)
    assert "resumed from" not in capsys.readouterr().err
    np.testing.assert_array_equal(kept.predict_proba(wine.new), expected)


def forge(path, **changes):
    """The file with other arrays, and checksums that fit."""
    document, arrays = unpack_document(path.read_bytes(), CHECKPOINT_FILE)
    for name, change in changes.items():
        arrays[name] = change(arrays.get(name))
        if arrays[name] is None:
            del arrays[name]
    own = ("format", "format_version", "arrays")
    entries = {name: value for name, value in document.items() if name not in own}
    path.write_bytes(pack_document(entries, arrays, CHECKPOINT_FILE))


def put(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("stage", "changes"),
    [
        ("round", {"prototypes_indices": put(0, 10**6)}),
        ("round", {"prototypes_indices": put(0, -1)}),
        ("round", {"codes_indices": put(-1, 10**6)}),
        ("round", {"codes_indptr": put(3, 10**6)}),
        ("round", {"codes_data": put(0, np.nan)}),
        ("round", {"codes_data": lambda data: data.astype(np.float32)}),
        ("round", {"weights": lambda weights: weights[1:]}),
        ("round", {"log_strengths": lambda strengths: strengths[1:]}),
        ("round", {"log_strengths": put(0, np.nan)}),
        ("round", {"history": lambda history: history[:, 1:]}),
    ],
)
def test_forged_content_is_an_error_and_never_an_index(stage, changes, kept, wine):
    forge(find(kept.checkpoint, stage), **changes)
    sentence = rf"-{stage}\.checkpoint cannot be used: its content does not fit the data .*Delete"
    check_refused(kept, wine, CheckpointError, sentence)


@pytest.mark.parametrize(
    "changes",
    [
        {"history": lambda history: None},
        {"weights": lambda weights: None},
        {"__class__": lambda nothing: np.zeros(3)},
        {"prototypes_indices": lambda indices: indices + 0.5},
        {"codes_data": lambda data: data.astype("U30")},
    ],
)
@pytest.mark.usefixtures("no_work")
def test_arrays_that_no_round_has_are_an_error_before_the_work(changes, kept, wine):
    forge(find(kept.checkpoint, "round"), **changes)
    check_refused(kept, wine, CheckpointError, "its arrays are not those of a round, expected")


@pytest.mark.usefixtures("no_work")
def test_a_stage_that_no_fit_has_is_an_error(kept, wine):
    path = find(kept.checkpoint, "round")
    document, arrays = unpack_document(path.read_bytes(), CHECKPOINT_FILE)
    entries = {"stage": "other", "parts": document["parts"]}
    other = path.with_name(path.name.replace("-round", "-other"))
    other.write_bytes(pack_document(entries, arrays, CHECKPOINT_FILE))
    check_refused(kept, wine, CheckpointError, r"-other\.checkpoint cannot be used: .*'other'")


def test_a_file_of_another_fit_under_this_name_is_an_error(kept, wine, tmp_path):
    other = clone(kept).set_params(checkpoint=tmp_path / "other", sparsity=3).fit(wine.X, wine.y)
    path = find(kept.checkpoint, "round")
    path.write_bytes(find(other.checkpoint, "round").read_bytes())
    sentence = "cannot be used: it is of another fit than its name says"
    check_refused(kept, wine, CheckpointError, sentence)


def test_a_file_that_is_no_document_of_ours_is_an_error(kept, wine):
    path = find(kept.checkpoint, "round")
    path.write_bytes(pack({"checkpoint.json": b"{}"}, CHECKPOINT_FILE))
    check_refused(kept, wine, CheckpointError, "checkpoint.json was not written by imkpl")
    entries = {"format": "imkpl checkpoint", "format_version": 2, "arrays": {}}
    path.write_bytes(pack({"checkpoint.json": json.dumps(entries).encode()}, CHECKPOINT_FILE))
    check_refused(kept, wine, CheckpointError, r"its content does not fit together \(KeyError")
    entries["format_version"] = 3
    path.write_bytes(pack({"checkpoint.json": json.dumps(entries).encode()}, CHECKPOINT_FILE))
    check_refused(kept, wine, CheckpointError, "in version 3 of the format")


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": put(0, 10**6)},
        {"weights": lambda weights: weights[1:]},
    ],
)
def test_forged_landmarks_are_an_error(changes, wine, tmp_path):
    model = clone(MODEL).set_params(solver="landmarks", n_landmarks=20, checkpoint=tmp_path)
    model.fit(wine.X, wine.y)
    model = clone(model)
    forge(find(tmp_path, "landmarks"), **changes)
    sentence = r"-landmarks\.checkpoint cannot be used: its content does not fit the data"
    check_refused(model, wine, CheckpointError, sentence)


@pytest.mark.parametrize("forged", [[], [0], [-3], [10**6], [[6]]])
def test_a_forged_number_of_prototypes_is_an_error(forged, wine, tmp_path):
    model = clone(MODEL).set_params(n_prototypes=None, checkpoint=tmp_path)
    model.fit(wine.X, wine.y)
    model = clone(model)
    forge(find(tmp_path, "size"), n_prototypes=lambda size: np.array(forged, dtype=np.intp))
    sentence = r"-size\.checkpoint cannot be used: its content does not fit the data"
    check_refused(model, wine, CheckpointError, sentence)


def test_forged_scores_are_an_error(wine, tmp_path):
    model = IMKPLCV(sparsity=(1, 2), max_kernels=(2,), cv=2, max_iter=2, checkpoint=tmp_path)
    model.fit(wine.X, wine.y)
    path = find(tmp_path, "split1")
    content = path.read_bytes()
    forge(path, scores=lambda scores: scores[1:])
    check_refused(clone(model), wine, CheckpointError, "expected 2 scores and sizes")
    path.write_bytes(content)
    model.set_params(max_kernels="auto").fit(wine.X, wine.y)
    forge(find(tmp_path, "sizes"), sizes=put(0, -1))
    check_refused(clone(model), wine, CheckpointError, "expected numbers of kernels")


def test_draws_that_cannot_be_repeated_are_an_error(wine, tmp_path):
    model = clone(MODEL).set_params(checkpoint=tmp_path, random_state=np.random.RandomState(0))
    with pytest.raises(ValueError, match=r"random_state is a RandomState, .* such as random_state"):
        model.fit(wine.X, wine.y)


def test_kernels_that_cannot_be_told_apart_are_an_error(wine, tmp_path):
    model = clone(MODEL).set_params(checkpoint=tmp_path, kernels=FunctionKernel(Locked()))
    with pytest.raises(TypeError, match=r"cannot be hashed .* Leave out"):
        model.fit(wine.X, wine.y)


WIDTH = 1.0


def read_width(X, Y):
    return np.exp(-np.abs(X[:, None] - Y).sum(axis=2) / (WIDTH * X.shape[1]))


@pytest.mark.parametrize("kernel", [read_width, FunctionKernel(read_width)])
def test_a_global_that_a_kernel_reads_makes_another_fit(kernel, wine, tmp_path, monkeypatch):
    model = clone(MODEL).set_params(kernels=[kernel, "linear"], checkpoint=tmp_path)
    before = model.fit(wine.X, wine.y).predict_proba(wine.new)
    monkeypatch.setitem(globals(), "WIDTH", 20.0)
    expected = clone(model).set_params(checkpoint=None).fit(wine.X, wine.y)
    after = model.fit(wine.X, wine.y).predict_proba(wine.new)
    np.testing.assert_array_equal(after, expected.predict_proba(wine.new))
    assert not np.array_equal(after, before)


LOCK = threading.RLock()


def with_lock(X, Y):
    with LOCK:
        return X @ Y.T


def test_a_kernel_that_reads_what_cannot_be_hashed_needs_a_version(wine, tmp_path):
    model = clone(MODEL).set_params(checkpoint=tmp_path, kernels=[with_lock, "rbf"])
    sentence = r"with_lock reads 'LOCK', of type RLock, .* Use FunctionKernel\(function, version="
    with pytest.raises(TypeError, match=sentence):
        model.fit(wine.X, wine.y)
    model.set_params(kernels=[FunctionKernel(with_lock, version="1"), "rbf"]).fit(wine.X, wine.y)
    model.set_params(kernels=[FunctionKernel(with_lock, version="2"), "rbf"]).fit(wine.X, wine.y)
    assert len(list(tmp_path.glob("*-round.checkpoint"))) == 2


class Locked:
    """A kernel with something that no pickle holds."""

    def __init__(self):
        self.lock = threading.RLock()

    def __call__(self, X, Y):
        return X @ Y.T


def test_a_checkpoint_is_an_archive_with_a_checksum(kept):
    content = find(kept.checkpoint, "round").read_bytes()
    assert content[-64:] == hashlib.sha256(content[:-64]).hexdigest().encode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        document = json.loads(archive.read("checkpoint.json"))
    assert document["stage"] == "round"
    assert set(document["parts"]) == {"data", "settings", "versions"}
    assert np.load(io.BytesIO(content))["arrays/history"].shape == (N_KEPT, 6)
