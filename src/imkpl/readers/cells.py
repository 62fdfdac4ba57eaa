"""Single cells from an ``.h5ad`` file, which stay sparse."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._checks import import_extra
from imkpl.readers import column_roles as roles
from imkpl.readers.formats import InputError, ReadOptions

if TYPE_CHECKING:
    from imkpl.readers.read import DataFile

ENDING = ".h5ad"


def read_cells(
    path: pathlib.Path, options: ReadOptions, target: str | None = None, *, is_new: bool = False
) -> DataFile:
    """The cells of a file, with the classes and groups in columns of `obs`."""
    from imkpl.readers.read import DataFile

    anndata = import_extra("anndata", "cli,anndata", f"{path.name} is read by")
    if not path.exists():
        raise InputError(f"{path} does not exist. Check the name and the folder.")
    adata = anndata.read_h5ad(path)
    names = list(adata.obs.columns)
    target = options.target or (target if target in names else None)
    if target is None and not is_new:
        target = roles.guess_target(names, path.name)
    found: dict[str, Any] = {"labels": None, "groups": None}
    for key, name in (("labels", target), ("groups", options.group)):
        if name is not None:
            roles.require_column(names, name, path.name, f"--{key}")
            found[key] = roles.as_texts(adata.obs[name])
    rows = np.ones(adata.n_obs, dtype=bool)
    if found["labels"] is not None and not is_new:
        rows = np.array([label is not None for label in found["labels"]])
    labels, groups = (None if one is None else one[rows] for one in found.values())
    note = f"{path.name}: {adata.n_obs} cells, {adata.n_vars} genes."
    return DataFile(
        adata[rows].copy(),
        labels if labels is None or is_new else roles.as_label_array(labels),
        np.array(adata.obs_names[rows].to_list(), dtype=object),
        target=target,
        notes=(note,),
        groups=None if groups is None else groups.astype(str),
        group_column=options.group,
    )
