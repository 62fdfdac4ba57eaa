"""On the paper's own data, where a folder with it is named by IMKPL_DATA."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from imkpl import IMKPL, ISKPL
from imkpl.kernels import Averaged, GlobalAlignment
from imkpl.series import resample
from imkpl_paper.datasets import available, load
from imkpl_paper.skeletons import SkeletonLieGroup, SkeletonNormalizer


def split(name):
    try:
        data = load(name, download=False)
    except FileNotFoundError:
        pytest.skip(f"{name} is not in the folder that IMKPL_DATA names")
    return train_test_split(data.X, data.y, test_size=0.2, stratify=data.y, random_state=0)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sparsity", "max_kernels", "accuracy"),
    [("TOX_171", 18, 72, 0.9), pytest.param("Isolet", 20, 141, 0.93, marks=pytest.mark.slow)],
)
def test_imkpl_settles_within_twenty_rounds_and_is_accurate(name, sparsity, max_kernels, accuracy):
    train, test, y_train, y_test = split(name)
    # Filterwarnings turns a search that does not settle into an error.
    model = IMKPL(sparsity=sparsity, max_kernels=max_kernels, tol=1e-4, max_iter=20)
    model.fit(train, y_train)
    assert model.n_iter_ <= 20
    assert np.all(np.diff(model.history_["total"]) <= 0)
    assert (model.kernel_weights_ > 0).sum() <= max_kernels
    assert model.score(test, y_test) >= accuracy


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sparsity", "accuracy"),
    [("TOX_171", 18, 0.75), pytest.param("Isolet", 20, 0.88, marks=pytest.mark.slow)],
)
def test_iskpl_is_accurate_on_the_average_kernel(name, sparsity, accuracy):
    train, test, y_train, y_test = split(name)
    assert ISKPL(sparsity=sparsity).fit(train, y_train).score(test, y_test) >= accuracy


@pytest.mark.data
def test_curves_between_bones_tell_the_actions_of_utkinect_apart():
    train, test, y_train, y_test = split("UTKinect")
    model = SkeletonLieGroup().fit(train)
    curves = [resample(model.transform(part), 40).to_padded() for part in (train, test)]
    assert all(np.isfinite(part).all() for part in curves)
    flat = [part.reshape(len(part), -1) for part in curves]
    nearest = KNeighborsClassifier(1).fit(flat[0], y_train)
    assert nearest.score(flat[1], y_test) >= 0.75


@pytest.mark.data
@pytest.mark.slow
def test_joints_that_face_one_way_tell_the_actions_of_utkinect_apart():
    train, test, y_train, y_test = split("UTKinect")
    skeleton = SkeletonNormalizer().fit(train)
    kernels = Averaged(
        GlobalAlignment(views=("values", "differences"), length=30), skeleton.channel_groups_
    )
    model = IMKPL(kernels, max_kernels=14).fit(skeleton.transform(train), y_train)
    assert np.count_nonzero(model.kernel_weights_) <= 14
    assert model.score(skeleton.transform(test), y_test) >= 0.95


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "accuracy"),
    [
        ("BasicMotions", 0.95),
        pytest.param("JapaneseVowels", 0.95, marks=pytest.mark.slow),
        pytest.param("Libras", 0.8, marks=pytest.mark.slow),
    ],
)
def test_series_of_the_archive_are_classified(name, accuracy):
    train, test, y_train, y_test = split(name)
    model = IMKPL(GlobalAlignment(views=("values", "differences"))).fit(train, y_train)
    assert model.score(test, y_test) >= accuracy


@pytest.mark.data
@pytest.mark.parametrize("name", available())
def test_stored_data_have_the_shape_and_the_classes_that_are_said(name):
    try:
        data = load(name, download=False)
    except FileNotFoundError:
        pytest.skip(f"{name} is not in the folder that IMKPL_DATA names")
    assert len(data.class_counts) == data.info.shape[2]
    assert min(data.class_counts.values()) > 0
    told = repr(data)
    assert told.startswith(f"{name}: {data.info.shape[0]} samples, {data.info.shape[1]} ")
    assert told.endswith(data.info.citation)
