import narwhals as nw
import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_contributions_sum_to_the_predicted_score_in_every_frame(fitted, backend):
    model, X = fitted
    table = nw.from_native(model.explain(X[:3]).to_frame(backend=backend)).to_polars()
    totals = table.group_by("sample", maintain_order=True).agg(pl.col("contribution").sum())
    expected = model.decision_function(X[:3]).max(axis=1)
    assert_allclose(totals["contribution"].to_numpy(), expected, atol=1e-10)
    assert totals["sample"].to_list() == X.index[:3].tolist()
    n_rows = 3 * model.prototypes_.shape[0] * (np.count_nonzero(model.kernel_weights_) + 2)
    assert table["feature"].to_list()[-2:] == ["bonus", "several prototypes"]
    assert table.height == n_rows
    assert set(table["class"]) <= set(model.classes_)


def test_features_are_the_contributions_of_all_prototypes_and_no_other_part_is_known(fitted):
    model, X = fitted
    explanation = model.explain(X[:3])
    whole = explanation.to_frame().groupby(["sample", "feature"], sort=False)["contribution"].sum()
    assert_allclose(explanation.to_frame("features")["contribution"], whole, atol=1e-10)
    with pytest.raises(ValueError, match="part='reasons' is unknown, expected 'contributions' or"):
        explanation.to_frame("reasons")


def test_shap_reads_the_contributions(fitted):
    shap = pytest.importorskip("shap")
    model, X = fitted
    found = model.explain(X[:4]).to_shap()
    assert isinstance(found, shap.Explanation)
    total = found.values.sum(axis=1) + found.base_values
    assert_allclose(total, model.decision_function(X[:4]), atol=1e-10)
    assert_allclose(found.data, X[:4][list(found.feature_names)])
    assert list(found.output_names) == model.classes_.tolist()
