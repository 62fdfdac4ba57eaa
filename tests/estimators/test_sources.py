"""Fitting on data that stays where it is."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from imkpl import IMKPL, ISKPL
from imkpl.estimators import _kernels
from imkpl.kernels import ArrayColumns, ParquetColumns, sources

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}


@pytest.mark.parametrize("model", [IMKPL(**SMALL), ISKPL(**SMALL)], ids=repr)
def test_a_source_gives_the_model_of_the_array(model, wine):
    # A table is sorted first; a source keeps its order.
    order = np.lexsort(np.column_stack([wine.y, wine.X]).T[::-1])
    X, y = wine.X[order], wine.y[order]
    plain = model.fit(X, y)
    expected = plain.predict_proba(wine.new), plain.kernel_weights_.copy()
    other = model.fit(ArrayColumns(X), y)
    assert_allclose(other.kernel_weights_, expected[1], atol=1e-8)
    assert_allclose(other.predict_proba(ArrayColumns(wine.new)), expected[0], atol=1e-5)
    assert_array_equal(other.predict(wine.new), plain.classes_[np.argmax(expected[0], axis=1)])


def test_large_memmaps_are_not_copied(wine, tmp_path):
    stored = np.memmap(tmp_path / "x.dat", np.float32, "w+", shape=wine.X.shape)
    stored[:] = wine.X
    with config_context(working_memory=1e-3):
        model = IMKPL(**SMALL).fit(stored, wine.y)
        assert model.n_features_in_ == 13
        assert model.score(stored, wine.y) > 0.9
        with pytest.raises(ValueError, match="X has 12 features, expected 13 as in fit"):
            model.predict(ArrayColumns(stored[:, :12]))


def test_the_names_of_a_parquet_file_are_kept(wine, tmp_path):
    names = [f"m {i}" for i in range(13)]
    pd.DataFrame(wine.X, columns=names).to_parquet(tmp_path / "x.parquet")
    model = IMKPL(**SMALL).fit(tmp_path / "x.parquet", wine.y)
    assert model.feature_names_in_.tolist() == names
    assert model.kernel_names_ == names
    assert model.score(str(tmp_path / "x.parquet"), wine.y) > 0.9


@pytest.fixture
def tall(monkeypatch):
    """Files of more than a hundred rows are read a block of rows at a time, and learned from few.

    Features are rounded, so that some rows are equal and many are tied in the first columns.
    """
    for module in (sources, _kernels):
        monkeypatch.setattr(module, "MAX_EXACT", 100)
    monkeypatch.setattr(sources, "BLOCK_VALUES", 7 * 50)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    X = (rng.standard_normal((400, 7)) + np.eye(3, 7)[y]).round(1).astype(np.float32)
    X[300:350], y[300:350] = X[:50], y[:50]
    return pd.DataFrame(X, columns=list("abcdefg")).assign(kind=np.array(["p", "q", "r"])[y])


@pytest.mark.parametrize("n_landmarks", [60, 5000])
def test_many_rows_of_a_file_give_the_model_of_the_array(n_landmarks, tall, tmp_path):
    tall.to_parquet(tmp_path / "x.parquet", row_group_size=120)
    X, y = ParquetColumns(tmp_path / "x.parquet").split("kind")
    frame, weight = tall.drop(columns="kind"), np.arange(400) % 3
    settings = {"n_landmarks": n_landmarks, "n_prototypes": 9, "contrast": False, "sparsity": 3}
    expected = IMKPL(**settings).fit(frame, y, sample_weight=weight)
    stored = np.memmap(tmp_path / "x.dat", np.float32, "w+", shape=frame.shape)
    stored[:] = frame
    for source in (X, ArrayColumns(stored)):
        model = IMKPL(**settings).fit(source, y, sample_weight=weight)
        assert_array_equal(model.kernel_weights_, expected.kernel_weights_)
        assert_array_equal(model.support_, expected.support_)
        assert_array_equal(model.codes_.toarray(), expected.codes_.toarray())
        assert_array_equal(model.predict(source), expected.predict(frame))
        for method in ("predict_proba", "decision_function", "reconstruction_error"):
            # Few rows are compared without compiled code, which rounds differently.
            found = getattr(model, method)(source)
            assert_allclose(found, getattr(expected, method)(frame), rtol=1e-9, atol=1e-12)
        some = np.arange(300, 30, -1)
        assert_array_equal(model.predict(source[some]), expected.predict(frame.iloc[some]))
    with pytest.raises(ValueError, match=r"solver=.exact. compares all pairs.*files of many rows"):
        IMKPL(solver="exact").fit(X, y)


def test_a_missing_cell_among_many_rows(tall, tmp_path):
    tall.loc[333, "c"] = np.nan
    tall.to_parquet(tmp_path / "x.parquet", row_group_size=120)
    X, y = ParquetColumns(tmp_path / "x.parquet").split("kind")
    with pytest.raises(ValueError, match=r"Column .c. contains NaN or infinity, expected finite"):
        IMKPL().fit(X, y)
    with pytest.raises(ValueError, match=r"x.parquet has no column 'sort'"):
        X.split("sort")


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("is_small", [True, False])
def test_sparse_input_gives_the_model_of_the_array(form, is_small, wine):
    X = np.where(np.median(wine.X, axis=0) < wine.X, wine.X, 0.0)
    # A table is sorted first; a source keeps its order.
    order = np.lexsort(np.column_stack([wine.y, X]).T[::-1])
    X, y = X[order], wine.y[order]
    new = np.where(wine.new > np.median(wine.X, axis=0), wine.new, 0.0)
    dense = IMKPL("per_feature_gaussian", **SMALL).fit(X, y)
    # Above the working memory blocks of columns are read, and the whole is never dense.
    with config_context(working_memory=1 if is_small else 1e-3):
        model = IMKPL("per_feature_gaussian", **SMALL).fit(form(X), y)
        found = model.predict_proba(form(new))
    assert_allclose(model.kernel_weights_, dense.kernel_weights_, atol=1e-12)
    assert_allclose(found, dense.predict_proba(new), atol=1e-9)


def test_a_parquet_file_that_is_not_there(wine, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.parquet"):
        IMKPL().fit(tmp_path / "gone.parquet", wine.y)


def test_pandas_sparse_columns_are_read(wine):
    frame = pd.DataFrame(np.where(np.median(wine.X, axis=0) < wine.X, wine.X, 0.0))
    frame.columns = [f"f{j}" for j in range(frame.shape[1])]
    sparse = frame.astype({"f1": "Sparse[float64]", "f2": pd.SparseDtype("float64", 0.0)})
    dense = IMKPL(**SMALL).fit(frame, wine.y)
    # Warnings are errors here: scikit-learn's about sparse columns must not show.
    model = IMKPL(**SMALL).fit(sparse, wine.y)
    assert_array_equal(model.predict_proba(sparse), dense.predict_proba(frame))
