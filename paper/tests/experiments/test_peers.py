"""The adapters of other methods, those of other packages where these are installed."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split

from imkpl.kernels import resolve_bank
from imkpl_paper.experiments import peers


def split(load):
    X, y = load(return_X_y=True)
    return train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize(
    ("name", "module", "accuracy"),
    [("EasyMKL", "MKLpy.algorithms", 0.93), ("ProtoDash", "aix360.algorithms.protodash", 0.85)],
)
# Both packages were made for older versions of NumPy, torch and osqp.
@pytest.mark.filterwarnings("default")
def test_adapters_of_other_packages_classify(name, module, accuracy, load):
    pytest.importorskip(module)
    train, test, y_train, y_test = split(load)
    model = getattr(peers, name)().fit(train, y_train)
    assert np.mean(model.predict(test) == y_test) > accuracy


@pytest.mark.filterwarnings("default")
def test_easymkl_decides_as_the_multiclass_model_of_its_package():
    algorithms = pytest.importorskip("MKLpy.algorithms")
    torch = pytest.importorskip("torch")
    train, test, y_train, _ = split(load_wine)
    kernels = resolve_bank("per_feature_gaussian").on(train)

    def stack(X):
        cross = kernels.cross(X)
        return [torch.tensor(cross.evaluate(k)) for k in range(cross.n_kernels)]

    expected = algorithms.EasyMKL().fit(stack(train), y_train).predict(stack(test))
    assert_array_equal(peers.EasyMKL().fit(train, y_train).predict(test), expected)


@pytest.mark.filterwarnings("default")
def test_protodash_takes_so_many_samples_of_every_class():
    pytest.importorskip("aix360.algorithms.protodash")
    X, y = load_iris(return_X_y=True)
    model = peers.ProtoDash(n_per_class=4).fit(X[:-48], y[:-48])
    # The last class has two samples only.
    assert np.bincount(model.model_.classes_[model.model_._y]).tolist() == [4, 4, 2]
    prototypes = model.scaler_.inverse_transform(model.model_._fit_X)
    assert all(np.isclose(X, one).all(axis=1).any() for one in prototypes)


def test_easymkl_refuses_more_kernels_than_fit(monkeypatch):
    monkeypatch.setattr(peers, "LARGEST_STACK", 1e3)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"takes all 4 kernel matrices at once, .* fewer kernels"):
        peers.EasyMKL().fit(X, y)


def test_what_compiled_code_writes_is_dropped_and_what_follows_is_not(capfd):
    with peers._silent():
        os.write(1, b"noise")
    print("kept")  # noqa: T201
    assert capfd.readouterr().out == "kept\n"


def test_gmlvq_says_that_a_matrix_is_too_large(monkeypatch):
    pytest.importorskip("sklvq", reason="GMLVQ needs sklvq")
    monkeypatch.setattr(peers, "MOST_FEATURES", 1)
    with pytest.raises(ValueError, match=r"matrix of 2 x 2 numbers, expected 1 features at most"):
        peers.MatrixLVQ().fit(np.eye(2), [0, 1])
