import http.server
import io
import pathlib
import pickle
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.io import savemat

from imkpl.series import SeriesSet
from imkpl_paper import datasets
from imkpl_paper.datasets import DatasetInfo, available, fingerprint, load, rarest_label
from imkpl_paper.datasets.registry import DATASETS


@pytest.fixture(autouse=True)
def _nowhere(tmp_path, monkeypatch):
    """Neither the user's data nor the user's downloads are read."""
    monkeypatch.delenv("IMKPL_DATA", raising=False)
    monkeypatch.setattr("imkpl_paper.datasets.real.DOWNLOADS", tmp_path / "downloads")


@pytest.fixture
def small(monkeypatch):
    """A registered data set of four samples with three features."""

    def register(**changes):
        info = DatasetInfo("small", "vectors", (4, 3, 2), "A citation.", "https://home", "small_v1")
        info = replace(info, **changes)
        monkeypatch.setitem(DATASETS, "small", info)
        return info

    register()
    return register


X, Y = np.arange(12.0).reshape(4, 3), np.array([1, 1, 2, 2])


def test_all_seven_of_the_paper_are_known():
    paper = [name for name in available() if DATASETS[name].in_paper]
    assert paper == ["CLL_SUB_111", "TOX_171", "Isolet", "rcv1", "PEMS-SF", "AUSLAN", "UTKinect"]
    assert all(info.citation and info.home for info in DATASETS.values())


@pytest.mark.parametrize("how", ["folder", "environment"])
def test_a_folder_is_looked_at_first(small, tmp_path, monkeypatch, how):
    np.savez(tmp_path / "small_v1.npz", X=X, y=Y, train_idx=[0, 2], test_idx=[1, 3], subject=Y)
    if how == "environment":
        monkeypatch.setenv("IMKPL_DATA", str(tmp_path))
        data = load("small")
    else:
        data = load("small", folder=tmp_path)
    assert_array_equal(data.X, X)
    assert data.class_counts == {1: 2, 2: 2}
    assert_array_equal(data.train, [0, 2])
    assert_array_equal(data.extras["subject"], Y)
    assert repr(data) == (
        "small: 4 samples, 3 features, 2 classes of 2 to 2 samples each. A citation."
    )


def test_series_lose_what_was_added_after_their_ends(small, tmp_path):
    small(kind="series", shape=(2, 1, 2))
    padded = np.array([[[1.0, 2.0, np.nan]], [[3.0, 4.0, 5.0]]])
    np.savez(tmp_path / "small_v1.npz", X=padded, y=[0, 1], channel_names=["speed"])
    data = load("small", folder=tmp_path)
    assert isinstance(data.X, SeriesSet)
    assert data.X.lengths.tolist() == [2, 3]
    assert data.X.channel_names == ("speed",)
    assert "1 channels" in repr(data)


def test_several_labels_stay_a_table(small, tmp_path):
    small(kind="multilabel", shape=(4, 3, 2))
    np.savez(tmp_path / "small_v1.npz", X=X, y=[[1, 0], [1, 1], [0, 1], [1, 0]])
    assert load("small", folder=tmp_path).class_counts == {0: 3, 1: 2}


def test_the_rarest_label_of_each_sample_is_its_class():
    rng = np.random.default_rng(0)
    table = rng.random((50, 6)) < np.linspace(0.1, 0.9, 6)
    found = rarest_label(table)
    counts = table.sum(axis=0)
    for row, label in zip(table, found, strict=True):
        if not row.any():
            assert label == -1
        else:
            assert row[label]
            assert counts[label] == counts[row].min()


def test_the_fingerprint_does_not_depend_on_order_and_storage():
    expected = fingerprint(X)
    assert fingerprint(X[::-1]) == expected
    assert fingerprint(np.asfortranarray(X, dtype=np.float32)) == expected
    assert fingerprint(X + 1e-3) != expected
    series = [np.array([[1.0, np.nan, -0.0]]), np.array([[2.0]])]
    assert fingerprint(SeriesSet.from_list(series)) == fingerprint([s + 0.0 for s in series])
    assert fingerprint([np.zeros((1, 4))]) != fingerprint([np.zeros((2, 2))])


def test_wrong_files_get_a_sentence(small, tmp_path):
    path = tmp_path / "small_v1.npz"
    np.savez(path, X=X[:3], y=Y[:3])
    with pytest.raises(ValueError, match=r"small has 3 samples with 3 features .* expected 4 with"):
        load("small", folder=tmp_path)
    small(checksum=fingerprint(X + 1))
    np.savez(path, X=X, y=Y)
    with pytest.raises(ValueError, match="are not those that were seen when its checksum was"):
        load("small", folder=tmp_path)
    small(checksum=fingerprint(X))
    assert_array_equal(load("small", folder=tmp_path).X, X)


def test_a_pickle_in_an_npz_file_is_refused(small, tmp_path):
    np.savez(tmp_path / "small_v1.npz", X=np.array([{}], dtype=object), y=Y)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load("small", folder=tmp_path)


def test_missing_data_get_a_sentence(small, tmp_path):
    with pytest.raises(ValueError, match=r"no data set 'isolet'. Did you mean 'Isolet'\?"):
        load("isolet")


@pytest.mark.parametrize("name", available())
def test_every_missing_data_set_says_where_to_get_it_and_where_to_put_it(name):
    info = DATASETS[name]
    with pytest.raises(FileNotFoundError, match=r"IMKPL_DATA is not set") as caught:
        load(name, download=False)
    told = str(caught.value)
    assert f"{info.file}.npz" in told
    assert told.count("name its folder in IMKPL_DATA") == 1
    if info.url:
        assert info.url in told
        assert info.served_file in told
        assert told.endswith("or allow the download.")
    else:
        assert "cannot be downloaded by a program" in told
        assert info.home in told
        assert f"X of shape ({info.shape[0]}, {info.shape[1]}" in told


def test_a_file_from_its_home_that_was_put_into_a_folder_by_hand_is_read(
    small, tmp_path, monkeypatch
):
    small(url="http://127.0.0.1:9/small.mat")
    savemat(tmp_path / "small.mat", {"X": X, "Y": Y[:, np.newaxis]})
    monkeypatch.setenv("IMKPL_DATA", str(tmp_path))
    data = load("small", download=False)
    assert_array_equal(data.X, X)
    assert_array_equal(data.y, Y)


@pytest.fixture
def server(tmp_path):
    """A web server of this machine's own, for the files in a folder."""
    folder = tmp_path / "www"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{web.server_address[1]}"
    web.shutdown()
    web.server_close()
    thread.join()


def test_missing_data_are_downloaded_once(small, server, tmp_path):
    pytest.importorskip("pooch")
    folder, address = server
    savemat(folder / "small.mat", {"X": X, "Y": Y[:, np.newaxis]})
    small(url=f"{address}/small.mat", checksum=fingerprint(X))
    first = load("small")
    assert_array_equal(first.X, X)
    assert_array_equal(first.y, Y)
    (folder / "small.mat").unlink()
    assert_array_equal(load("small", download=False).X, X)
    kept = tmp_path / "downloads" / "small.mat"
    kept.write_bytes(kept.read_bytes()[:-1])
    # The changed file is not trusted, and the home does not have it any more.
    with pytest.raises(FileNotFoundError, match="small is not available"):
        load("small", download=False)
    with pytest.raises(OSError, match=r"small could not be downloaded from .*/small.mat"):
        load("small")


def test_a_file_that_changed_at_its_home_is_noticed(small, server, tmp_path):
    pytest.importorskip("pooch")
    folder, address = server
    savemat(folder / "small.mat", {"X": X, "Y": Y[:, np.newaxis]})
    small(url=f"{address}/small.mat")
    load("small")
    (tmp_path / "downloads" / "small.mat").unlink()
    savemat(folder / "small.mat", {"X": X + 1, "Y": Y[:, np.newaxis]})
    with pytest.raises(ValueError, match="is not the file that was downloaded first"):
        load("small")


def test_without_a_network_there_is_a_sentence(small):
    pytest.importorskip("pooch")
    # Nobody listens at port 9 of this machine.
    small(url="http://127.0.0.1:9/small.mat")
    with pytest.raises(OSError, match=r"could not be downloaded .*Check the network, or get small"):
        load("small")


def test_without_pooch_there_is_a_sentence(small, monkeypatch):
    small(url="https://home/small.mat")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ModuleNotFoundError, match=r"imkpl-paper\[datasets\]', or get https"):
        load("small")


def test_signs_are_read_from_the_archive_of_their_repository(server, monkeypatch):
    pytest.importorskip("pooch")
    folder, address = server
    rng = np.random.default_rng(0)
    series = {f"tctodd{day}/{sign}-{n}.tsd": rng.random((4 + n, 3))
              for day in (1, 2) for sign in ("alive", "all-right") for n in (1, 2)}  # fmt: skip
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as tar:
        for name, values in series.items():
            text = "\n".join("\t".join(str(v) for v in row) for row in values).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    with zipfile.ZipFile(folder / "signs.zip", "w") as outer:
        outer.writestr("tctodd.tar.gz", inner.getvalue())
    info = DatasetInfo(
        "AUSLAN", "series", (8, 3, 2), "C.", "https://home", "nofile", url=f"{address}/signs.zip"
    )
    monkeypatch.setitem(DATASETS, "AUSLAN", info)
    data = load("AUSLAN")
    assert data.class_counts == {"alive": 4, "all-right": 4}
    assert data.X.lengths.tolist() == [5, 6] * 4
    np.testing.assert_allclose(data.X[0], series["tctodd1/alive-1.tsd"].T, rtol=1e-6)
    assert data.extras["session"].tolist() == ["tctodd1"] * 4 + ["tctodd2"] * 4


def test_archives_of_series_keep_their_split(small, server):
    pytest.importorskip("pooch")
    folder, address = server
    header = (
        "@problemName small\n@timeStamps false\n@missing false\n@univariate false\n"
        "@dimensions 2\n@equalLength true\n@seriesLength 3\n@classLabel true a b\n@data\n"
    )
    with zipfile.ZipFile(folder / "small.zip", "w") as archive:
        archive.writestr("small_TRAIN.ts", header + "1,2,3:4,5,6:a\n2,3,4:5,6,7:b\n")
        archive.writestr("small_TEST.ts", header + "9,8,7:6,5,4:a\n")
    small(kind="series", shape=(3, 2, 2), url=f"{address}/small.zip")
    data = load("small")
    assert data.train.tolist() == [0, 1]
    assert data.test.tolist() == [2]
    assert data.y.tolist() == ["a", "b", "a"]
    assert_array_equal(data.X[2], [[9, 8, 7], [6, 5, 4]])


def test_a_data_set_can_be_pickled(small, tmp_path):
    np.savez(tmp_path / "small_v1.npz", X=X, y=Y)
    data = load("small", folder=tmp_path)
    assert repr(pickle.loads(pickle.dumps(data))) == repr(data)
    assert set(datasets.__all__) >= {"load", "available", "rarest_label"}


def test_the_page_about_data_sets_lists_all_of_them():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "datasets.md").read_text()
    for name, info in DATASETS.items():
        row = f"| {name} | {info.shape[0]} | {info.shape[1]} | {info.shape[2]}"
        assert row in page
        assert f"`{info.served_file or info.file + '.npz'}`" in page
