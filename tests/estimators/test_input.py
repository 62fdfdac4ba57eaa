"""Data frames, label types, memory layouts, kernels of every form, samples that are no vectors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.fixes import parse_version

from imkpl import IMKPL, ISKPL
from imkpl.kernels import FunctionKernel, Gaussian, KernelStack, PerFeatureGaussian

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

IS_CURRENT = parse_version(sklearn.__version__) >= parse_version("1.9")
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
WORDS = ["aab", "abab", "baa", "abba", "xyy", "yxyx", "xxy", "yyxx", "aba", "xyx"]
WORD_CLASSES = ["left"] * 4 + ["right"] * 4 + ["left", "right"]


def count_letters(x, y):
    return float(sum(x.count(letter) * y.count(letter) for letter in "abxy"))


LETTERS = FunctionKernel(count_letters, pairwise=True, vector_input=False)

SIX = {"sparsity": 2, "n_prototypes": 6, "contrast": False}


def as_frame(library, array, names):
    if library == "polars" and not IS_CURRENT:
        pytest.skip("scikit-learn before 1.9 does not read the column names of polars 2")
    return FRAMES[library]({name: array[:, i] for i, name in enumerate(names)})


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_data_frames_give_names_and_the_same_model(library, kind, iris):
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    model = kind(**SMALL).fit(as_frame(library, iris.X, names), iris.y)
    assert_array_equal(model.feature_names_in_, names)
    assert model.n_features_in_ == 4
    for name, kernel_name in zip(names, model.kernel_names_, strict=True):
        assert name in kernel_name
    plain = kind(**SMALL).fit(iris.X, iris.y)
    proba = model.predict_proba(as_frame(library, iris.new, names))
    assert_array_equal(proba, plain.predict_proba(iris.new))


@pytest.mark.parametrize("library", FRAMES)
def test_set_output_gives_data_frames_of_codes(library, iris):
    model = IMKPL(**SMALL).set_output(transform=library)
    fitted = model.fit_transform(iris.X, iris.y)
    frame = model.transform(iris.new)
    assert isinstance(fitted, FRAMES[library])
    assert isinstance(frame, FRAMES[library])
    assert list(frame.columns) == list(model.get_feature_names_out())
    codes = clone(model).set_output(transform="default").fit(iris.X, iris.y).transform(iris.new)
    assert_array_equal(frame.to_numpy(), codes.toarray())


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-1, 0, 7]),
        np.array(["no", "yes", "perhaps"]),
        np.array(["no", "yes", "perhaps"], dtype=object),
        np.array([0.0, 1.0, 2.0]),
        np.array([3, 1, 2], dtype=np.uint8),
    ],
    ids=["negative", "str", "object", "float", "unsorted"],
)
def test_labels_of_any_type_come_back(labels, iris):
    model = IMKPL(**SMALL).fit(iris.X, labels[iris.y])
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.classes_.dtype == labels.dtype
    predicted = model.predict(iris.new)
    assert np.mean(predicted == labels[iris.new_y]) > 0.9
    assert set(model.prototype_classes_) == set(labels)
    assert model.score(iris.new, labels[iris.new_y]) == np.mean(predicted == labels[iris.new_y])


@pytest.mark.parametrize("series", [pd.Series, pl.Series, list])
def test_labels_may_be_a_series_or_list_of_strings(series, iris):
    names = np.array(["a", "b", "c"])
    model = IMKPL(**SMALL).fit(iris.X, series(list(names[iris.y])))
    expected = IMKPL(**SMALL).fit(iris.X, iris.y).predict(iris.new)
    assert_array_equal(model.predict(iris.new), names[expected])


def test_memory_layout_does_not_matter(iris):
    wide = np.zeros((2 * len(iris.X), 8))
    strided = wide[::2, ::2]
    strided[:] = iris.X
    expected = IMKPL(**SMALL).fit(iris.X, iris.y).predict_proba(iris.new)
    for X in (strided, np.asfortranarray(iris.X), iris.X.tolist()):
        model = IMKPL(**SMALL).fit(X, iris.y)
        assert_array_equal(model.predict_proba(np.asfortranarray(iris.new)), expected)


def test_single_precision_and_integers_are_read(iris):
    single = IMKPL(**SMALL).fit(iris.X.astype(np.float32), iris.y)
    double = IMKPL(**SMALL).fit(iris.X.astype(np.float32).astype(float), iris.y)
    new = iris.new.astype(np.float32)
    assert_array_equal(single.predict_proba(new), double.predict_proba(new.astype(float)))
    tenths = (10 * iris.X).round().astype(int)
    assert IMKPL(**SMALL).fit(tenths, iris.y).score(tenths, iris.y) > 0.9


@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
@pytest.mark.parametrize(
    ("kernels", "n_kernels"),
    [
        ("rbf", 1),
        ("linear", 1),
        (Gaussian(), 1),
        (lambda X, Y: X @ Y.T + 1.0, 1),
        ([Gaussian(), "cosine", lambda X, Y: (X @ Y.T) ** 2], 3),
        ((Gaussian(), "laplacian"), 2),
        (KernelStack([Gaussian(), "poly"]), 2),
        (PerFeatureGaussian(scales=(0.5, 2.0)), 4),
    ],
    ids=["name", "no unit diagonal", "kernel", "function", "list", "tuple", "bank", "widths"],
)
def test_kernels_of_every_form(kind, kernels, n_kernels, iris):
    model = kind(kernels, **SMALL).fit(iris.X, iris.y)
    assert model.kernel_weights_.shape == (n_kernels,)
    assert len(set(model.kernel_names_)) == n_kernels
    assert model.score(iris.new, iris.new_y) > 0.8
    errors = model.reconstruction_error(iris.new)
    assert np.all((errors >= 0) & (errors <= 1))


def test_kernels_without_unit_diagonal_are_cosines(iris):
    cosines = ISKPL("cosine", **SMALL).fit(iris.X, iris.y)
    products = ISKPL("linear", **SMALL).fit(iris.X, iris.y)
    scaled = products.predict_proba(7 * iris.new)
    assert_allclose(scaled, products.predict_proba(iris.new), rtol=1e-6)
    assert_allclose(cosines.predict_proba(iris.new), products.predict_proba(iris.new), atol=1e-3)


@pytest.mark.parametrize("kind", [IMKPL, ISKPL])
def test_samples_need_not_be_vectors(kind):
    model = kind(LETTERS, **SIX).fit(WORDS, WORD_CLASSES)
    assert list(model.predict(["a", "bb", "xxx", "y"])) == ["left", "left", "right", "right"]
    assert model.prototypes_.shape[1] == len(WORDS)
    assert model.reconstruction_error(["zzz"]) == pytest.approx(1.0)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda words: np.array(words, dtype=object),
        lambda words: pd.Series(words, index=range(len(words))[::-1]),
        pl.Series,
    ],
    ids=["array", "pandas", "polars"],
)
def test_words_may_stand_in_any_sequence(wrap):
    expected = IMKPL(LETTERS, **SIX).fit(WORDS, WORD_CLASSES)
    model = IMKPL(LETTERS, **SIX).fit(wrap(WORDS), WORD_CLASSES)
    assert_array_equal(model.prototypes_.toarray(), expected.prototypes_.toarray())
    new = ["ab", "xy", "yya"]
    assert_array_equal(model.predict_proba(wrap(new)), expected.predict_proba(new))
