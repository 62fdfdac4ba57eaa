"""A fit on a Dask collection is the fit in memory, and answers come partition by partition."""

import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from imkpl import IMKPL, ISKPL, scale
from imkpl.kernels import PerFeatureGaussian
from imkpl.model import landmarks

SETTINGS = {
    "solver": "landmarks", "n_landmarks": 60, "sparsity": 3, "n_prototypes": 9, "contrast": False,
    "random_state": 0,
}  # fmt: skip
METHODS = [
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "reconstruction_error",
    "novelty",
]
NAMES = [f"f{i}" for i in range(8)]


@pytest.fixture(scope="module")
def fitted(samples):
    return IMKPL(**SETTINGS).fit(*samples)


CASES = {
    "ISKPL": (ISKPL(**SETTINGS, class_weight="balanced"), {}),
    "all are landmarks": (IMKPL(**SETTINGS | {"n_landmarks": 5000}, max_iter=2, tol=10.0), {}),
    "whole samples": (IMKPL(["rbf", "linear"], **SETTINGS, max_iter=2, tol=10.0), {}),
    "constraints": (
        IMKPL(**SETTINGS | {"contrast": True}, require=[7], exclude=[0]),
        {"eligible": np.arange(300) % 2 == 0},
    ),
    "repeated and weighed": (IMKPL(**SETTINGS), {"sample_weight": np.arange(300) % 3}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_on_parts_is_the_fit_in_memory(local_client, samples, case, assert_same_model):
    (X, y), (model, metadata) = samples, CASES[case]
    X = np.round(X) if "repeated" in case else X
    expected = clone(model).fit(X, y, **metadata)
    # Chunks of some of the columns are joined, and one is empty.
    parts = da.concatenate([da.empty((0, 8)), da.from_array(X, chunks=(85, 3))])
    lazy = {name: da.from_array(values, chunks=77) for name, values in metadata.items()}
    found = clone(model).fit(parts, da.from_array(y, chunks=100), **lazy)
    if case == "whole samples":
        # A matrix product rounds differently with other rows, and the search stops early.
        assert_allclose(found.kernel_weights_, expected.kernel_weights_, atol=1e-8)
        assert_array_equal(found.support_, expected.support_)
    else:
        assert_same_model(found, expected, X)


def spy_on(monkeypatch):
    """Record the name of every stage and the size of what it brings to the client."""
    compute, seen = scale.compute, []

    def compute_and_record(tasks):
        found = compute(tasks)
        name = str(getattr(tasks[0], "key", "collection")).split("-")[0]
        seen.append((name, len(pickle.dumps(found))))
        return found

    monkeypatch.setattr(scale, "compute", compute_and_record)
    return seen


def test_kernels_on_the_cluster_give_the_same_fit(
    local_client, samples, fitted, monkeypatch, assert_same_model
):
    X, y = samples
    monkeypatch.setattr(scale, "LEAST_VALUES", 0)
    seen = spy_on(monkeypatch)
    model = IMKPL(**SETTINGS).fit(da.from_array(X, chunks=(100, 8)), y)
    assert_same_model(model, fitted, X)
    assert {"combine_band", "contract_rows"} <= {name for name, _ in seen}


def test_two_workers_fit_a_data_frame_as_memory_does(
    on_cluster, samples, assert_same_model, assert_close
):
    X, y = samples
    frame = pd.DataFrame(X, columns=NAMES, index=[f"row {i}" for i in range(300)])
    frame = frame.astype({"f0": "float32"})
    labels = pd.Series(np.array(["a", "b", "c"])[y], index=frame.index)
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    model = IMKPL(**SETTINGS).fit(parts, dd.from_pandas(labels, npartitions=2, sort=False))
    expected = IMKPL(**SETTINGS).fit(frame, labels)
    assert_same_model(model, expected, frame)
    assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
    assert model.kernel_names_ == expected.kernel_names_
    proba = model.predict_proba(parts)
    assert np.isnan(proba.shape[0])
    assert_close(proba.compute(), expected.predict_proba(frame))


@pytest.mark.parametrize("kind", ["array", "narrow chunks", "two classes", "frame"])
def test_answers_are_lazy_and_those_of_memory(fitted, samples, kind, assert_close):
    X, y = samples
    if kind == "two classes":
        fitted = clone(fitted).fit(X[y < 2], y[y < 2])
    parts = da.from_array(X, chunks=(125, 3) if kind == "narrow chunks" else (125, 8))
    if kind == "frame":
        fitted = IMKPL(**SETTINGS).fit(pd.DataFrame(X, columns=NAMES), y)
        parts = dd.from_dask_array(parts, columns=NAMES)
        parts = parts[parts.f0 < 1]
        X = pd.DataFrame(X[X[:, 0] < 1], columns=NAMES)
    for method in METHODS:
        expected = getattr(fitted, method)(X)
        answer = getattr(fitted, method)(parts)
        assert isinstance(answer, da.Array)
        assert answer.dtype == expected.dtype
        assert answer.ndim == expected.ndim
        if kind != "frame":
            assert answer.shape == expected.shape
            assert answer.chunks[0] == (125, 125, 50)
        computed = answer.compute(scheduler="synchronous")
        assert type(computed) is type(expected)
        assert_close(computed, expected)


@pytest.mark.parametrize("n_files", [1, 2])
def test_frames_read_from_files_are_answered(fitted, samples, tmp_path, n_files):
    frame = pd.DataFrame(samples[0], columns=list("abcdefgh")).assign(more=0.0)
    for place, part in enumerate(np.array_split(frame.index, n_files)):
        frame.loc[part].to_parquet(tmp_path / f"{place}.parquet")
    lazy = dd.read_parquet(tmp_path).drop(columns="more")
    named = IMKPL(sparsity=3, n_prototypes=9, contrast=False).fit(
        frame.drop(columns="more"), samples[1]
    )
    found = named.predict_proba(lazy).compute(scheduler="synchronous")
    assert_allclose(found, named.predict_proba(frame.drop(columns="more")), atol=1e-12)


def test_abstentions_and_empty_partitions_are_answered(fitted, samples):
    X, _ = samples
    parts = da.concatenate([da.from_array(X[:5]), da.empty((0, 8)), da.from_array(X[5:9] + 99)])
    answer = fitted.predict(parts, reject=True)
    assert answer.dtype == object
    expected = fitted.predict(np.concatenate([X[:5], X[5:9] + 99]), reject=True)
    assert_array_equal(answer.compute(scheduler="synchronous"), expected)


def test_scores_are_computed(on_cluster, fitted, samples):
    X, y = (da.from_array(values, chunks=100) for values in samples)
    assert fitted.score(X, y) == fitted.score(*samples)


def test_a_search_runs_on_the_workers(on_cluster, samples):
    X, y = samples[0][:90], samples[1][:90]
    search = GridSearchCV(
        IMKPL(sparsity=2, n_prototypes=6, contrast=False, max_iter=2, tol=10.0),
        {"max_kernels": [2, 4]},
        cv=2,
    )
    with joblib.parallel_config("dask"):
        found = clone(search).fit(X, y)
    expected = clone(search).fit(X, y)
    scores = [model.cv_results_["mean_test_score"] for model in (found, expected)]
    assert_allclose(*scores)


def make_block(seed):
    block = np.random.default_rng(seed).random((1000, 300))
    block[:, :4] += (np.arange(1000) % 2)[:, None]
    return block


def test_no_table_of_all_samples_reaches_the_client(local_client, monkeypatch):
    n_parts, n_rows, n_features = 8, 1000, 300
    monkeypatch.setattr(landmarks, "MOST_POOLED", 200)
    blocks = [dask.delayed(make_block)(seed) for seed in range(n_parts)]
    X = da.concatenate([da.from_delayed(one, (n_rows, n_features), float) for one in blocks])
    y = np.tile(np.arange(n_rows) % 2, n_parts)
    seen = spy_on(monkeypatch)
    model = IMKPL(
        n_landmarks=30,
        sparsity=2,
        n_prototypes=6,
        contrast=False,
        max_kernels=5,
        max_iter=1,
        tol=10.0,
    ).fit(X, y)
    assert model.codes_.shape[0] == n_parts * n_rows
    assert max(n_bytes for _, n_bytes in seen) < 8 * n_parts * n_rows * n_features / 20


BAD = [
    (lambda X: da.from_array(np.where(X > 2, np.nan, X), chunks=300), "Partition 0 of X has NaN"),
    (lambda X: da.from_array(X * 1e151, chunks=(150, 8)), "X has values up to"),
    (lambda X: da.from_array(X[:, 0]), "1 dimensions, expected 2"),
    (lambda X: da.from_array(X.astype(str), chunks=(150, 8)), "Column 'X' has type <U32, expected"),
    (lambda X: da.from_array(X).map_blocks(sp.csr_array), "of type csr_array, expected NumPy"),
    (lambda X: da.from_array(X[:1], chunks=(150, 8)), "X has 1 samples in 1 partitions"),
    (lambda X: da.from_array(X[:299], chunks=(150, 8)), r"inconsistent numbers of samples: \[299"),
]


@pytest.mark.parametrize(("make", "sentence"), BAD)
def test_bad_parts_are_refused_and_leave_the_estimator_as_it_was(
    local_client, samples, make, sentence
):
    model = IMKPL(**SETTINGS)
    with pytest.raises(ValueError, match=sentence):
        model.fit(make(samples[0]), samples[1])
    assert not any(name.endswith("_") for name in vars(model))


def test_bad_columns_are_named(local_client, samples):
    frame = pd.DataFrame(samples[0], columns=NAMES)
    text = dd.from_pandas(frame.assign(f3="x"), npartitions=2)
    with pytest.raises(ValueError, match=r"Column 'f3' has type .*Encode it"):
        IMKPL(**SETTINGS).fit(text, samples[1])
    missing = dd.from_pandas(frame.astype({"f1": "Float64"}).mask(frame.f1 > 3), npartitions=1)
    with pytest.raises(ValueError, match="Partition 0 of X has NaN"):
        IMKPL(**SETTINGS).fit(missing, samples[1])
    frame.loc[250, "f2"] = np.inf
    with pytest.raises(
        ValueError, match=r"Partition 1 of X has NaN or infinity in column \['f2'\]"
    ):
        IMKPL(**SETTINGS).fit(dd.from_pandas(frame, npartitions=2), samples[1])


def test_what_a_cluster_cannot_do_is_refused(local_client, samples, fitted):
    X, y = da.from_array(samples[0], chunks=(150, 8)), samples[1]
    with pytest.raises(ValueError, match="solver='exact' compares all pairs"):
        IMKPL(solver="exact").fit(X, y)
    with pytest.raises(ValueError, match="GlobalAlignment do not read rows of numbers"):
        IMKPL("global_alignment").fit(X, y)
    with pytest.raises(ValueError, match=r"got a Dask collection.*X\.compute\(\)"):
        fitted.explain(X)
    similar = PerFeatureGaussian().on(samples[0][:40]).combine(np.ones(8) / 8)
    similarities = IMKPL("precomputed", sparsity=1, n_prototypes=3, contrast=False).fit(
        similar, y[:40]
    )
    with pytest.raises(ValueError, match="predict with kernels that do not read vectors"):
        similarities.predict(X)
    with pytest.raises(ValueError, match="X has 5 features"):
        fitted.predict(X[:, :5])
    framed = clone(fitted).set_output(transform="pandas").fit(*samples)
    with pytest.raises(ValueError, match="set_output asks for a data frame"):
        framed.transform(X)


def test_column_names_are_checked_before_anything_is_computed(samples):
    frame = pd.DataFrame(samples[0], columns=NAMES)
    model = IMKPL(**SETTINGS).fit(frame, samples[1])
    parts = dd.from_pandas(frame[NAMES[::-1]], npartitions=2)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(parts)


def test_a_fit_without_a_client_says_so(no_client, samples):
    with pytest.raises(ValueError, match="There is no Dask client"):
        IMKPL(PerFeatureGaussian()).fit(da.from_array(samples[0]), samples[1])
