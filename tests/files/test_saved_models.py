"""A loaded model is the saved model, to the last bit; what cannot be saved says why."""

import copy
import inspect
import json
import math
import pickle
import subprocess
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from safetensors import numpy as safetensors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import IMKPL, ISKPL, kernels
from imkpl import files as store
from imkpl.files import ModelFileError
from imkpl.kernels import (
    Averaged,
    BaseKernel,
    BaseKernelBank,
    FunctionKernel,
    Gaussian,
    GlobalAlignment,
    KernelStack,
    NamedKernel,
    PerColumn,
    PerFeatureGaussian,
)
from imkpl.series import SeriesSet

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "reconstruction_error",
    "novelty",
)


def same(left, right):
    """Whether two values are equal in type, and bit by bit."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if left.dtype.kind == "O":
            pairs = zip(left.ravel(), right.ravel(), strict=True)
            return all(same(a, b) for a, b in pairs)
        return left.tobytes() == right.tobytes()
    if isinstance(left, sp.csr_array):
        parts = ("shape", "data", "indices", "indptr")
        return all(same(getattr(left, name), getattr(right, name)) for name in parts)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if is_dataclass(left):
        names = [field.name for field in fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    if hasattr(left, "get_params"):
        return same(dict(sorted(vars(left).items())), dict(sorted(vars(right).items())))
    return left == right or (left != left and right != right)


def round_trip(model, folder):
    path = folder / "model.imkpl"
    imkpl.save(model, path)
    twin = imkpl.load(path)
    imkpl.save(twin, folder / "again.imkpl")
    assert (folder / "again.imkpl").read_bytes() == path.read_bytes()
    return twin


def check_twin(model, folder, new):
    """Everything that a fitted model is and says survives the file."""
    twin = round_trip(model, folder)
    assert same(model, twin)
    assert repr(twin) == repr(model)
    for method in METHODS:
        if hasattr(model, method):
            assert same(getattr(model, method)(new), getattr(twin, method)(new)), method
    return twin


BANKS = {
    "default": "per_feature_gaussian",
    "scales": PerFeatureGaussian(scales=(0.5, 2.0)),
    "codes": PerColumn(),
    "list": ["linear", Gaussian(2.0), NamedKernel("poly", {"degree": 2}), "laplacian"],
    "stack": KernelStack((Gaussian(), "cosine")),
    "groups": Averaged(PerFeatureGaussian(scales=(1.0, 3.0)), {"first": [0, 1], "last": [2, 3]}),
    "words": "per_word",
}


@pytest.mark.parametrize("name", BANKS)
def test_every_bank_survives(name, two_blobs, tmp_path, rng):
    X, y = two_blobs
    unfitted = IMKPL(BANKS[name], n_prototypes=4, sparsity=2, max_iter=3)
    assert same(round_trip(unfitted, tmp_path), unfitted)
    new = rng.standard_normal((9, 4))
    X, new = (np.abs(X), np.abs(new)) if name == "words" else (X, new)
    check_twin(unfitted.fit(X, y), tmp_path, new)


def test_categories_and_missing_cells_survive(two_blobs, tmp_path):
    X, y = two_blobs
    cells = [[row[0], "ß" if row[1] > 0 else "b", row[2] > 0, None] for row in X.tolist()]
    cells[0], cells[1][0] = [None] * 4, None
    model = IMKPL("per_column", n_prototypes=4, contrast=False).fit(cells, y)
    check_twin(model, tmp_path, [[None, "unseen", True, None], [1.5, "ß", None, 3.0]])


@pytest.mark.parametrize("decision", ["votes", "share"])
def test_every_decision_survives(decision, two_blobs, tmp_path, rng):
    model = IMKPL(
        n_prototypes=4,
        contrast=False,
        decision=decision,
        solver="landmarks",
        n_landmarks=12,
        random_state=3,
    ).fit(*two_blobs)
    check_twin(model, tmp_path, rng.standard_normal((9, 4)))


LABELS = {
    "int": [3, 7],
    "float": [1.0, 2.0],
    "bool": [False, True],
    "text": ["größer", "kleiner ≤"],
    "objects": np.array(["a", "ß"], dtype=object),
    "small": np.array([1, 2], dtype=np.int8),
}


@pytest.mark.parametrize("name", LABELS)
def test_every_kind_of_label_survives(name, two_blobs, tmp_path):
    X, y = two_blobs
    twin = check_twin(
        ISKPL(n_prototypes=4, contrast=False).fit(X, np.asarray(LABELS[name])[y]), tmp_path, X
    )
    assert twin.classes_.dtype == np.asarray(LABELS[name]).dtype


def test_precomputed_kernels_survive(two_blobs, tmp_path):
    X, y = two_blobs
    K = np.exp(-((X[:, None] - X) ** 2))
    check_twin(IMKPL("precomputed", n_prototypes=4, contrast=False).fit(K, y), tmp_path, K[:7])


def test_settings_and_names_survive(two_blobs, tmp_path):
    X, y = two_blobs
    frame = pd.DataFrame(X, columns=["Länge", "b", "c/d", ".."])
    model = IMKPL(n_prototypes=np.int64(4), tol=np.float32(0.1), class_weight={0: 1.0, 1: 2})
    vars(model.set_output(transform="pandas").fit(frame, y))["_skl_callbacks"] = [print]
    twin = round_trip(model, tmp_path)
    assert twin.get_params() == model.get_params()
    assert not {"_skl_callbacks", "_sklearn_output_config"} & set(vars(twin))
    assert_array_equal(twin.feature_names_in_, frame.columns)
    assert_array_equal(twin.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize(
    "bank", ["global_alignment", "per_view", "groups", "differences", "means", "weights"]
)
def test_series_models_survive(bank, tmp_path, rng):
    series = [rng.standard_normal((3, n)) for n in (7, 9, 8, 12, 9, 7, 8, 10) * 3]
    for one in series[::2]:
        one[0] += 5 * np.sin(np.arange(one.shape[1]))
    X = SeriesSet.from_list(series, channel_names=["x", "y", "z"])
    banks = {
        "groups": GlobalAlignment(groups={"xy": ["x", "y"], "z": [2]}, length=8),
        "differences": GlobalAlignment((0.5, 2.0), views=("values", "differences"), length=None),
        "means": Averaged(GlobalAlignment(), {"xy": [0, 1], "z": [2]}),
        "weights": GlobalAlignment(groups="weighed", channel_weights=np.array([0.5, 0.0, 2.0])),
    }
    model = IMKPL(banks.get(bank, bank), n_prototypes=4, contrast=False).fit(X, np.tile([0, 1], 12))
    twin = check_twin(model, tmp_path, X)
    kernels = getattr(twin._predictor.kernels, "kernels", twin._predictor.kernels)
    assert not kernels.samples.values.flags.writeable


def test_loaded_models_can_be_fitted_and_cloned(two_blobs, tmp_path):
    X, y = two_blobs
    model = IMKPL(n_prototypes=4, contrast=False).fit(X, y)
    twin = round_trip(model, tmp_path)
    twin.classes_[:] = twin.classes_[::-1].copy()
    assert same(model, twin.fit(X, y))


def test_equal_fits_give_equal_bytes(two_blobs, tmp_path):
    for name in ("a", "b"):
        imkpl.save(IMKPL(n_prototypes=4, contrast=False).fit(*two_blobs), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_other_programs_can_read_the_file(two_blobs, tmp_path):
    model = IMKPL(n_prototypes=3, contrast=False).fit(*two_blobs)
    imkpl.save(model, str(tmp_path / "m.imkpl"))
    found = safetensors.load_file(tmp_path / "m.imkpl")
    document = json.loads(found["imkpl.json"].tobytes())
    assert (document["format"], document["version"]) == ("imkpl model", 2)
    assert document["imkpl"] == imkpl.__version__
    assert document["model"]["parameters"]["n_prototypes"] == 3
    assert_array_equal(found["kernel_weights_"], model.kernel_weights_)
    assert_array_equal(found["_predictor.encoder.gram"], model._predictor.encoder.gram)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(-9, 9), inner, max_size=3)
    ),
    max_leaves=8,
)
arrays = hnp.arrays(
    st.sampled_from(["f8", "f4", "i8", "u1", "?", "U3", "f2"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
objects = hnp.arrays(object, 3, elements=plain.filter(lambda v: not isinstance(v, list)))


def through_the_codec(value):
    kept = {}
    text = json.dumps(store.write(value, "value", kept), allow_nan=False)
    return store.read(json.loads(text), Any, "value", safetensors.load(safetensors.save(kept)))


@settings(max_examples=25, deadline=None)
@given(plain | arrays | objects)
def test_plain_values_and_arrays_survive(value):
    assert same(through_the_codec(value), value)


def test_memory_order_and_index_types_survive(rng):
    matrix = sp.csr_array(np.eye(3))
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    twin, array = through_the_codec([matrix, np.asfortranarray(rng.random((3, 4)))])
    assert same(matrix, twin)
    assert array.flags.f_contiguous
    assert array.flags.writeable


@pytest.fixture(scope="module")
def fitted_models(two_blobs):
    """Models of all kinds, each with samples to predict."""
    X, y = two_blobs
    series, K = X.reshape(40, 1, 4), np.exp(-((X[:, None] - X) ** 2))
    # Every third bank: each class of `PARTS` is still in one of them.
    return [
        *(
            (IMKPL(bank, n_prototypes=4, contrast=False, max_iter=1).fit(X, y), X)
            for bank in list(BANKS.values())[::3]
        ),
        (IMKPL("global_alignment", n_prototypes=4, contrast=False).fit(series, y), series),
        (ISKPL("precomputed", n_prototypes=4, contrast=False).fit(K, y), K),
    ]


def test_skops_pickle_joblib_and_copies_keep_models(fitted_models, tmp_path):
    for model, X in fitted_models:
        joblib.dump(model, tmp_path / "model.joblib")
        twins = [
            copy.deepcopy(model),
            pickle.loads(pickle.dumps(model)),
            joblib.load(tmp_path / "model.joblib"),
        ]
        if find_spec("skops"):
            skops = import_module("skops.io")
            stored = skops.dumps(model)
            twins.append(skops.loads(stored, trusted=skops.get_untrusted_types(data=stored)))
        for twin in twins:
            for method in METHODS:
                if hasattr(model, method):
                    assert same(getattr(model, method)(X), getattr(twin, method)(X))


def test_every_public_kernel_can_be_saved_but_functions():
    kinds = [getattr(kernels, name) for name in kernels.__all__]
    kinds = [kind for kind in kinds if isinstance(kind, type) and not inspect.isabstract(kind)]
    banks = [kind for kind in kinds if issubclass(kind, (BaseKernel, BaseKernelBank))]
    assert {kind.__name__ for kind in banks} - set(store.PARTS) == {"FunctionKernel"}


def test_another_process_predicts_the_same_and_compiles_nothing_for_few_samples(
    two_blobs, tmp_path
):
    X, y = two_blobs
    model = IMKPL(sparsity=2, max_iter=2, n_prototypes=4, contrast=False).fit(X, y)
    imkpl.save(model, tmp_path / "m.imkpl")
    np.save(tmp_path / "X.npy", X[:9])
    code = """
import sys, imkpl, numpy as np
model, X = imkpl.load("m.imkpl"), np.load("X.npy")
model.predict(X), model.predict(X, reject=True), model.explain(X).to_dict()
print(model.predict_proba(X).tobytes().hex())
sys.exit("numba" in sys.modules)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == model.predict_proba(X[:9]).tobytes().hex()


def similarity(X, Y):
    return X @ Y.T


class Subclass(IMKPL):
    pass


LOOP = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (IMKPL(similarity), r"kernels is of type function \(similarity\), .* pickle keeps func"),
        (IMKPL([Gaussian(), similarity]), r"kernels\[1\] is of type function"),
        (IMKPL(FunctionKernel(similarity)), "kernels is of type FunctionKernel, and a model file"),
        (
            IMKPL(random_state=np.random.RandomState(0)),
            "random_state is of type RandomState, .* a whole number as random_state",
        ),
        (IMKPL(random_state=2**70), "random_state is of type int, .* numbers of at most 64 bits"),
        (IMKPL(sparsity=0), "IMKPL cannot be saved: The 'sparsity' parameter of IMKPL must"),
        (IMKPL("unknown"), "IMKPL cannot be saved: .*unknown"),
        (IMKPL(tol=math.inf), "IMKPL cannot be saved: tol is inf, expected float"),
        (IMKPL(class_weight={"a": {1}}), r"class_weight\['a'\] is of type set, .* Expected None"),
        (IMKPL(class_weight=np.ma.array([1.0])), "class_weight is of type MaskedArray"),
        (IMKPL(class_weight=np.zeros(2, [("a", "f8")])), "class_weight is of type ndarray"),
        (IMKPL(class_weight=np.longdouble(1)), "class_weight is of type longdouble"),
        (IMKPL(class_weight=LOOP), "IMKPL cannot be saved: maximum recursion depth exceeded"),
        (Subclass(), "A model of class Subclass cannot be saved, expected one of IMKPL, ISKPL"),
        (make_pipeline(StandardScaler(), IMKPL()), "class Pipeline cannot be saved, .* with skops"),
        (3, "A model of class int cannot be saved, expected one of IMKPL"),
    ],
)
def test_a_model_with_code_or_of_another_class_cannot_be_saved(model, sentence, tmp_path):
    with pytest.raises(ModelFileError, match=sentence):
        imkpl.save(model, tmp_path / "model.imkpl")
    assert list(tmp_path.iterdir()) == []


def test_learned_functions_are_named_where_parameters_were_set_anew(two_blobs, tmp_path):
    model = IMKPL(FunctionKernel(similarity), n_prototypes=4, contrast=False).fit(*two_blobs)
    model.set_params(kernels="linear")
    sentence = r"_predictor\.kernels\.kernels\.kernels\[0\] is of type FunctionKernel"
    with pytest.raises(ModelFileError, match=sentence):
        imkpl.save(model, tmp_path / "model.imkpl")


def test_an_attribute_of_the_users_own_cannot_be_saved(tmp_path):
    model = IMKPL()
    model.note = "mine"
    with pytest.raises(ModelFileError, match=r"IMKPL cannot be saved: IMKPL has \['note'\]"):
        imkpl.save(model, tmp_path / "model.imkpl")


def test_arrays_fit_when_their_annotation_is_an_alias():
    extensions = pytest.importorskip("typing_extensions")
    item = TypeVar("item")
    # What NDArray is from NumPy 2.5 on.
    alias = extensions.TypeAliasType(
        "alias", np.ndarray[tuple[int, ...], np.dtype[item]], type_params=(item,)
    )
    assert store.fits(np.ones(3), alias[np.floating])
    assert store.fits(np.ones(3), alias[np.floating] | None)
    assert not store.fits(np.array(["a"]), alias[np.floating])
    assert not store.fits("a", alias[np.floating])
