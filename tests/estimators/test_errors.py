"""Every error is a sentence: what was wrong, what was expected, how to fix it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from imkpl import IMKPL, ISKPL
from imkpl.kernels import FunctionKernel

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

KINDS = pytest.mark.parametrize("kind", [IMKPL, ISKPL])
PRECOMPUTED = {"kernels": "precomputed", "sparsity": 3, "n_prototypes": 9, "contrast": False}


@KINDS
@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_and_infinite_values(kind, value, words, iris):
    X = iris.X.copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {words}"):
        kind("per_feature_gaussian").fit(X, iris.y)
    model = kind(**SMALL).fit(iris.X, iris.y)
    if words == "NaN":
        # A missing cell of a new sample says nothing.
        assert np.isfinite(model.predict_proba(X)).all()
        return
    with pytest.raises(ValueError, match=f"Input X contains {words}"):
        model.predict(X)


def keep_one(y, label):
    """Weights that leave one sample of a class."""
    return np.where(np.arange(len(y)) > np.argmax(y == label), 1.0 * (y != label), 1.0)


ALONE = ["alone", *["other"] * 19, *["third"] * 30]
LABELS_AND_WEIGHTS = [
    (lambda y: (["a"] * 50, None), r"one class only, 'a', expected at least 2 classes.*Add"),
    (lambda y: (y, 1.0 * (y == 0)), "samples of one class only, 0, expected"),
    (lambda y: (["a" * 10_000] * 50, None), r"one class only, 'aaa.*aaa\.\.\.', expected"),
    (lambda y: (ALONE, None), r"Class 'alone' has one sample, expected at least 2.*Add"),
    (lambda y: (y, keep_one(y, 2)), "Class 2 has one sample, expected at least 2"),
    (
        lambda y: (y, np.where(y, 1.0, -2)),
        r"Negative values in data passed to .sample_weight.*expected one finite number of 0 or",
    ),
    # scikit-learn 1.9 refuses them before we do.
    (lambda y: (y, 0.0 * y), r"at least one non-zero|samples of no class"),
]


@KINDS
@pytest.mark.parametrize(("change", "sentence"), LABELS_AND_WEIGHTS)
def test_labels_and_weights_to_learn_nothing_from(kind, change, sentence, iris):
    y, weight = change(iris.y)
    with pytest.raises(ValueError, match=sentence) as caught:
        kind().fit(iris.X, y, sample_weight=weight)
    assert len(str(caught.value)) < 300


@KINDS
def test_labels_that_look_alike_are_a_warning(kind, iris):
    """One accent is a letter of its own, the other a mark after its letter."""
    y = np.array(["caf\u00e9", "cafe\u0301", "tea"])[iris.y]
    sentence = r"Labels 'cafe\\u0301' and 'caf\\xe9' look alike but differ in .* two classes"
    with pytest.warns(UserWarning, match=sentence):
        kind(**SMALL).fit(iris.X, y)
    with pytest.warns(UserWarning, match="Labels 'tea' and 'tea ' look alike"):
        kind(**SMALL).fit(iris.X, np.array(["tea", "tea ", "x"])[iris.y])


@pytest.mark.parametrize("kernels", ["per_feature_gaussian", "per_column"])
@pytest.mark.parametrize(
    "when",
    [
        pd.to_timedelta(np.arange(150), unit="D"),
        pd.period_range("2020-01", periods=150, freq="M"),
        pd.date_range("2020", periods=150, tz="UTC"),
    ],
    ids=["durations", "periods", "dates"],
)
def test_columns_of_dates_are_refused_by_name(kernels, when, iris):
    X = pd.DataFrame(iris.X).rename(columns=str).assign(when=when[: len(iris.X)])
    with pytest.raises(TypeError, match=r"Column 'when' holds dates, times or durations.* Convert"):
        IMKPL(kernels=kernels).fit(X, iris.y)


@pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")
def test_fewer_samples_than_neighbours(iris):
    rows = [0, 1, 30, 31]
    sentence = r"n_neighbors=5, but there are only 4 distinct samples.*Use n_neighbors=3 or less"
    with pytest.raises(ValueError, match=sentence):
        IMKPL(n_neighbors=5).fit(iris.X[rows], iris.y[rows])
    IMKPL(n_neighbors=3).fit(iris.X[rows], iris.y[rows])
    # Where kernels are not weighed, neighbours are of no use.
    ISKPL().fit(iris.X[[0, 1, 30]], [0, 0, 1], sample_weight=[1, 1, 2])
    sentence = r"n_neighbors=30, but there are only 23 landmarks.*=22 or less, or raise n_landmarks"
    with pytest.raises(ValueError, match=sentence):
        IMKPL(n_neighbors=30, solver="landmarks", n_landmarks=24).fit(iris.X, iris.y)


KERNELS = [
    ("gausian", r"kernels='gausian' is not known. Expected.*'per_feature"),
    (["rbf", "gausian"], r"'gausian'.* is not a known kernel. Choose one of"),
    ([3], r"3 is not a kernel. Expected an object from"),
    (lambda X, Y: np.ones(3), r"Kernel '<lambda>' returned shape \(3,\), expected"),
]


@KINDS
@pytest.mark.parametrize(("kernels", "sentence"), KERNELS)
def test_what_is_no_kernel(kind, kernels, sentence, iris):
    with pytest.raises(ValueError, match=sentence):
        kind(kernels).fit(iris.X, iris.y)


@KINDS
def test_wrong_stack_at_fit(kind, stacks):
    K, y = stacks
    sentence = r"training similarities have shape .*, expected \(n_train, n_train\).*moveaxis"
    for wrong in (K[:, :-1], np.moveaxis(K, -1, 0), K[:, 0, 0], K[..., None]):
        with pytest.raises(ValueError, match=sentence):
            kind(**PRECOMPUTED).fit(wrong, y[: len(wrong)])


@KINDS
def test_wrong_stack_at_predict(kind, stacks):
    K, y = stacks
    model = kind(**PRECOMPUTED).fit(K, y)
    sentence = r"similarities have shape .*, expected \(n_samples, 119, 5\).*numpy.ix_"
    for wrong in (K[:, :-1], K[:, :, :4], K[:, :, 0], K[0, :, 0], np.moveaxis(K, -1, 0)):
        with pytest.raises(ValueError, match=sentence):
            model.predict(wrong)


@KINDS
def test_precomputed_kernel_that_is_none(kind, stacks):
    K, y = stacks
    skewed = K.copy()
    skewed[0, 1, 2] += 0.1
    with pytest.raises(ValueError, match=r"kernel 2 is not symmetric"):
        kind(**PRECOMPUTED).fit(skewed, y)
    with pytest.raises(ValueError, match=r"ones on its diagonal, expected .*by the norms"):
        kind(**PRECOMPUTED).fit(2 * K, y)
    missing = K.copy()
    missing[0, 1] = missing[1, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        kind(**PRECOMPUTED).fit(missing, y)


COUNTS = ("sparsity", "code_sparsity", "learning_code_sparsity", "n_prototypes", "n_neighbors")
SETTINGS = [
    *((name, -1.0, r"a float in.*Got -1") for name in ("discrimination", "separation", "tol")),
    ("interpretability", -1.0, r"a float in.*Got -1"),
    *((name, 0, "an int in") for name in (*COUNTS, "max_kernels", "max_iter", "n_landmarks")),
    *((name, "other", ".*Got 'other'") for name in ("weight_rule", "decision", "solver")),
    ("class_weight", "other", ".*Got 'other'"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), SETTINGS)
def test_settings_outside_their_range(name, value, sentence, iris):
    with pytest.raises(ValueError, match=rf"'{name}' parameter of IMKPL must be {sentence}"):
        IMKPL(**{name: value}).fit(iris.X, iris.y)


@KINDS
def test_fewer_prototypes_than_classes(kind, iris):
    with pytest.raises(ValueError, match=r"n_prototypes=2, expected at least one for each of the"):
        kind(n_prototypes=2).fit(iris.X, iris.y)


@pytest.mark.filterwarnings("ignore:No kernel tells the classes apart")
@pytest.mark.parametrize(
    "model", [IMKPL(), ISKPL(), IMKPL(weight_rule="lp", n_neighbors=1)], ids=repr
)
def test_constant_kernels(model, iris):
    with pytest.raises(ValueError, match=r"All kernels are constant.*Check that X has features"):
        model.fit(np.ones((len(iris.y), 2)), iris.y)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf])
def test_class_weights_that_are_not_positive(weight, iris):
    with pytest.raises(ValueError, match=r"class_weight gives class 1 the weight .*, expected pos"):
        IMKPL(class_weight={1: weight}).fit(iris.X, iris.y)


@KINDS
@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "decision_function", "transform", "reconstruction_error"]
)
def test_predict_before_fit(kind, method, iris):
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit'"):
        getattr(kind(), method)(iris.X)
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit'"):
        _ = kind().feature_importances_


REFUSED = {
    "another number of kernels": (lambda K: (np.dstack([K, K[..., :1]]), [0] * len(K))),
    "other rows than columns": (lambda K: (K[:-1], None)),
    "a single class": (lambda K: (K[..., :1], [0] * len(K))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_refit_leaves_a_fitted_model_as_it_was(case, iris):
    K = np.stack([rbf_kernel(iris.X[:, [column]]) for column in range(2)], axis=-1)
    model = IMKPL("precomputed", n_prototypes=9).fit(K, iris.y)
    before, proba = dict(vars(model)), model.predict_proba(K)
    X, y = REFUSED[case](K)
    with pytest.raises(ValueError, match="expected"):
        model.fit(X, iris.y if y is None else y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert_array_equal(model.predict_proba(K), proba)


@KINDS
def test_kernels_of_whole_rows_refuse_sparse_input(kind, iris):
    with pytest.raises(TypeError, match=r"Sparse data was passed.*Use '.toarray\(\)'"):
        kind("rbf").fit(sp.csr_array(iris.X), iris.y)


def test_lists_of_samples_and_labels_of_different_length():
    kernel = FunctionKernel(lambda x, y: 1.0 * (x == y), pairwise=True, vector_input=False)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[4, 3\]"):
        IMKPL(kernel).fit(["a", "b", "c", "d"], [0, 0, 1])
    with pytest.raises(ValueError, match=r"X has no samples, expected at least one"):
        IMKPL(kernel).fit([], [])
