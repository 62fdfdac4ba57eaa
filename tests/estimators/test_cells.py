"""Single cells: an AnnData is read by the names of its genes and stays sparse."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import imkpl
from imkpl import IMKPL

N_CELLS, N_GENES = 90, 150


@dataclass
class Cells:
    """What imkpl uses of an AnnData, for machines without anndata."""

    X: Any
    obs: pd.DataFrame
    var: pd.DataFrame

    def __getitem__(self, key):
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        X = self.X[np.arange(self.n_obs)[rows]][:, np.arange(self.n_vars)[columns]]
        return Cells(X, self.obs.iloc[rows].copy(), self.var.iloc[columns].copy())

    obs_names = property(lambda self: self.obs.index)
    var_names = property(lambda self: self.var.index)
    n_obs = property(lambda self: self.X.shape[0])
    n_vars = property(lambda self: self.X.shape[1])
    shape = property(lambda self: self.X.shape)

    def __len__(self):
        return self.n_obs

    def to_df(self):
        assert not sp.issparse(self.X), "cells must stay sparse"
        return pd.DataFrame(self.X, self.obs_names, self.var_names)


def build_cells(*, is_sparse):
    rng = np.random.default_rng(0)
    kind = np.arange(N_CELLS) % 3
    counts = rng.poisson(0.1, (N_CELLS, N_GENES)).astype(np.float32)
    for one in range(3):
        counts[kind == one, 5 * one : 5 * one + 5] += rng.poisson(2, ((kind == one).sum(), 5))
    obs = pd.DataFrame({"type": pd.Categorical(np.array(["B", "NK", "T"])[kind])})
    obs.index = [f"cell{i}" for i in range(N_CELLS)]
    var = pd.DataFrame(index=[f"gene{i}" for i in range(N_GENES)])
    return Cells(sp.csr_matrix(counts) if is_sparse else counts, obs, var)


@pytest.fixture(scope="module", params=[True, False], ids=["sparse", "dense"])
def fitted(request):
    cells = build_cells(is_sparse=request.param)
    return IMKPL(n_prototypes=3, max_kernels=12).fit(cells[:60], "type"), cells


def test_it_is_the_model_of_its_values_with_names(fitted):
    model, cells = fitted
    y = np.asarray(cells.obs["type"])
    X = sp.csr_array(cells.X) if sp.issparse(cells.X) else cells.X
    plain = IMKPL(n_prototypes=3, max_kernels=12).fit(X[:60], y[:60])
    assert_array_equal(plain.predict_proba(X[60:]), model.predict_proba(cells[60:]))
    assert model.score(cells[60:], "type") == plain.score(X[60:], y[60:]) > 0.7
    assert list(model.feature_names_in_) == list(cells.var_names)
    assert set(model.support_ids_) <= set(cells.obs_names)
    assert model.explain(cells[60:62]).sample_ids.tolist() == ["cell60", "cell61"]


def test_genes_are_found_by_name(fitted):
    model, cells = fitted
    shuffled = cells[60:, np.random.default_rng(1).permutation(N_GENES)]
    assert_allclose(model.predict_proba(shuffled), model.predict_proba(cells[60:]), atol=1e-6)
    used = [
        name
        for name in model.kernel_names_
        if model.feature_importances_[list(model.feature_names_in_).index(name)] > 0
    ]
    place = list(cells.var_names).index(used[0])
    with pytest.raises(ValueError, match=rf"lacks .*'{used[0]}'"):
        model.predict(cells[60:, np.delete(np.arange(N_GENES), place)])
    with pytest.raises(ValueError, match="no column 'tissue', expected that of the classes"):
        IMKPL().fit(cells, "tissue")


def test_answers_come_back_as_columns(fitted):
    model, cells = fitted
    new = cells[60:, ::-1]
    assert imkpl.annotate(model, new) is new
    weights = pd.Series(model.feature_importances_, model.feature_names_in_)
    assert_allclose(new.var["imkpl_weight"], weights[new.var_names])
    evidence = pd.Series(model.kernel_evidence_, model.kernel_names_)
    assert_allclose(new.var["imkpl_evidence"], evidence[new.var_names])
    assert_array_equal(new.obs["imkpl"], model.predict(new))
    assert_allclose(new.obs["imkpl_probability"], model.predict_proba(new).max(axis=1))
    assert_allclose(new.obs["imkpl_novelty"], model.novelty(new))


def test_the_command_line_reads_h5ad(tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    from typer.testing import CliRunner

    from imkpl.cli import build_app

    cells = build_cells(is_sparse=True)
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(cells.X, cells.obs, cells.var).write_h5ad(path)

    def run(*arguments):
        result = CliRunner().invoke(build_app(), [str(one) for one in arguments])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    model, out = tmp_path / "m.imkpl", tmp_path / "out.h5ad"
    run("fit", path, "--target", "type", "--model", model, "--prototypes", 3, "--repeats", 0)
    assert "accuracy" in run("predict", model, path, "--out", out)
    found = anndata.read_h5ad(out)
    assert {"imkpl", "imkpl_probability", "imkpl_novelty"} <= set(found.obs)
    assert (found.obs["imkpl"].astype(str) == found.obs["type"].astype(str)).mean() > 0.8
    assert found.var["imkpl_weight"].sum() == pytest.approx(1)
    assert sp.issparse(found.X)
