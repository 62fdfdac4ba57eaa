"""Single cells: what an `AnnData` holds as samples, and answers as its columns."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._checks import quote
from imkpl._typing import IntArray
from imkpl.estimators._training import TrainingData
from imkpl.kernels.forms import Form, read_named


def is_annotated(X: Any) -> bool:
    """Whether this is an AnnData; does not import anndata."""
    return hasattr(X, "obs_names") and hasattr(X, "var_names")


def find_labels(X: Any, y: Any) -> Any:
    """The labels, which may be the name of a column of `X.obs`."""
    if not isinstance(y, str) or not is_annotated(X):
        return y
    if y not in X.obs:
        raise ValueError(
            f"adata.obs has no column {quote(y)}, expected that of the classes. Its columns are "
            f"{', '.join(map(quote, list(X.obs.columns)[:8]))}."
        )
    return X.obs[y].to_numpy()


def as_samples(X: Any) -> Any:
    """The values of an AnnData, sparse or as a data frame; anything else as it is."""
    if not is_annotated(X):
        return X
    return sp.csr_array(X.X) if sp.issparse(X.X) else X.to_df()


def name_cells(data: TrainingData, X: Any) -> TrainingData:
    """Training data with the names of genes and cells."""
    form = data.given.form.learn(X.n_vars, X.var_names)
    given = replace(data.given, form=form, ids=np.array(list(X.obs_names), dtype=object))
    return replace(data, given=given)


def read_annotated(kernels: Any, X: Any, form: Form) -> Any:
    """New samples as kernels read them; genes of an AnnData are found by their names."""
    if not is_annotated(X) or not sp.issparse(X.X):
        return read_named(kernels, as_samples(X), form)
    found: IntArray = X.var_names.get_indexer(form.names)
    if (found < 0).any():
        lacking = [quote(name) for name in form.names[found < 0]]
        raise ValueError(
            f"adata lacks {len(lacking)} of {len(form.names)} genes, such as "
            f"{', '.join(lacking[:5])}, expected all: cells are compared relative to the sum over "
            "all of them. Add them with counts of 0 if they were not found."
        )
    return kernels.read(sp.csr_array(X.X)[:, found], replace(form, names=None))[0]


def annotate(model: Any, adata: Any, key: str = "imkpl") -> Any:
    """Write weights and evidence into `adata.var`, and answers into `adata.obs`, in place.

    Parameters
    ----------
    model : IMKPL or ISKPL
        A fitted classifier whose kernels read one gene each.
    adata : AnnData
        Cells with the genes that the model reads.
    key : str, default="imkpl"
        How the columns begin: `var` gets "imkpl_weight" and "imkpl_evidence", and `obs` "imkpl",
        the class, "imkpl_probability" and "imkpl_novelty".

    Returns
    -------
    AnnData
        The same object.

    Examples
    --------
    >>> import imkpl, anndata  # doctest: +SKIP
    >>> model = imkpl.IMKPL().fit(adata, "cell_type")  # doctest: +SKIP
    >>> imkpl.annotate(model, adata).var["imkpl_weight"].nlargest(5)  # doctest: +SKIP
    """
    places = adata.var_names.get_indexer(model.feature_names_in_)
    is_known, columns = places >= 0, model._kernel_columns
    evidence = np.zeros(model.n_features_in_)
    # Of a gene with several kernels, that of the surest.
    np.maximum.at(evidence, columns, model.kernel_evidence_)
    for name, values in (("weight", model.feature_importances_), ("evidence", evidence)):
        column = np.full(adata.n_vars, np.nan)
        column[places[is_known]] = values[is_known]
        adata.var[f"{key}_{name}"] = column
    adata.obs[key] = np.array([str(label) for label in model.predict(adata)], dtype=object)
    adata.obs[key] = adata.obs[key].astype("category")
    adata.obs[f"{key}_probability"] = model.predict_proba(adata).max(axis=1)
    adata.obs[f"{key}_novelty"] = model.novelty(adata)
    return adata
