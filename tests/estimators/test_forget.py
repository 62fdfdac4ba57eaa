"""Forgetting gives the model of a fit without the records, and says what that changed."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import IMKPL, ISKPL, TimeSeriesIMKPL, forget
from imkpl.files.store import model_bytes


@pytest.fixture(scope="module")
def table(wine):
    """Numbers, a category and missing cells, with names."""
    frame = pd.DataFrame(wine.X[:, :4], columns=list("abcd"), dtype=float)
    frame.loc[::7, "b"] = np.nan
    frame["e"] = np.where(wine.X[:, 5] > 2, "much", "little")
    return frame.set_axis([f"p{i}" for i in range(len(frame))]), wine.y


def check(model, X, y, ids, rest):
    """Compare with a fresh fit, byte by byte; X may be cut by `rest` like an array."""
    model.fit(X, y)
    before = model_bytes(model)
    found = forget(model, X, y, ids)
    fresh = clone(model).fit(X[rest], y[rest])
    assert model_bytes(found.model) == model_bytes(fresh)
    assert model_bytes(model) == before
    changed = np.sum(model.predict(X[rest]) != fresh.predict(X[rest]))
    assert found.n_decisions_changed == changed
    return found


def test_a_model_forgets_what_was_in_it(wine):
    model = IMKPL(sparsity=3).fit(wine.X, wine.y)
    gone = model.support_[[0, 4]]
    rest = np.setdiff1d(np.arange(len(wine.y)), gone)
    found = check(model, wine.X, wine.y, gone, rest)
    assert found.inside == found.ids == gone.tolist()
    assert not found.changed_nothing
    assert found.n_same_prototypes < found.n_prototypes[0]
    content = model_bytes(found.model)
    others = set(wine.X[rest].ravel())
    unique = [value for value in wine.X[gone].ravel() if value not in others]
    assert unique
    assert not any(np.float64(value).tobytes() in content for value in unique)
    assert found.to_dict()["changed_nothing"] is False
    assert "Inside the old model:" in str(found)


def test_tables_series_and_single_kernels_are_forgotten(table, wine):
    X, y = table
    model = IMKPL(sparsity=3).fit(X, y)
    found = forget(model, X, y, ["p17", "p3"])
    fresh = clone(model).fit(X.drop(["p17", "p3"]), np.delete(y, [3, 17]))
    assert model_bytes(found.model) == model_bytes(fresh)
    assert not {"p17", "p3"} & set(found.model.support_ids_)
    rest = np.delete(np.arange(len(y)), 5)
    check(ISKPL(sparsity=3), wine.X, wine.y, [5], rest)
    check(
        TimeSeriesIMKPL("global_alignment", sparsity=2),
        wine.X[:, :12].reshape(-1, 2, 6),
        wine.y,
        [5],
        rest,
    )


def test_similarities_lose_a_row_and_a_column(stacks):
    K, y = stacks
    model = IMKPL("precomputed", sparsity=3).fit(K, y)
    rest = np.delete(np.arange(len(y)), 5)
    fresh = clone(model).fit(K[np.ix_(rest, rest)], y[rest])
    assert model_bytes(forget(model, K, y, [5]).model) == model_bytes(fresh)


def test_weights_and_pipelines_are_cut_as_well(wine):
    weight = np.linspace(0.5, 2, len(wine.y))
    rest = np.delete(np.arange(len(wine.y)), [2, 7])
    model = IMKPL(sparsity=3).fit(wine.X, wine.y, weight)
    fresh = clone(model).fit(wine.X[rest], wine.y[rest], weight[rest])
    found = forget(model, wine.X, wine.y, [7, 2], sample_weight=weight)
    assert model_bytes(found.model) == model_bytes(fresh)
    pipeline = make_pipeline(StandardScaler(), IMKPL(sparsity=3)).fit(wine.X, wine.y)
    found = forget(pipeline, wine.X, wine.y, [7, 2])
    fresh = clone(pipeline).fit(wine.X[rest], wine.y[rest])
    assert_array_equal(found.model.predict_proba(wine.new), fresh.predict_proba(wine.new))


def test_a_record_of_no_weight_is_said_to_change_nothing(wine):
    weight = np.ones(len(wine.y))
    weight[9] = 0
    # Its range is that of the samples with a weight.
    model = IMKPL(sparsity=3).fit(wine.X, wine.y, weight)
    found = forget(model, wine.X, wine.y, [9], sample_weight=weight)
    assert found.changed_nothing
    assert found.inside == []
    assert "the same prototypes, kernel weights and probabilities" in str(found)


def test_other_data_and_unknown_records_are_refused(wine, tmp_path):
    model = IMKPL(sparsity=3).fit(wine.X, wine.y)
    with pytest.raises(ValueError, match="no record '99'; records are named 0, 1, 2"):
        forget(model, wine.X, wine.y, [99])
    with pytest.raises(ValueError, match="X has 59 samples, but IMKPL was fitted to 60"):
        forget(model, wine.X[1:], wine.y[1:], [3])
    with pytest.raises(ValueError, match="other values than the records inside"):
        forget(model, wine.X[::-1], wine.y[::-1], [3])
    with pytest.raises(TypeError, match="expected an IMKPL"):
        forget(StandardScaler(), wine.X, wine.y, [3])
    imkpl.save(model, tmp_path / "m.imkpl")
    assert forget(imkpl.load(tmp_path / "m.imkpl"), wine.X, wine.y, [3]).n_rest == 59


def test_wishes_are_kept(wine):
    eligible, pin = np.arange(60) % 3 > 0, np.arange(60) == 4
    model = IMKPL(sparsity=3, max_kernels=3).fit(wine.X, wine.y, eligible=eligible, pin=pin)
    rest = np.delete(np.arange(60), 7)
    wishes = {"eligible": eligible[rest], "pin": pin[rest]}
    fresh = clone(model).fit(wine.X[rest], wine.y[rest], **wishes)
    assert model_bytes(forget(model, wine.X, wine.y, [7]).model) == model_bytes(fresh)
