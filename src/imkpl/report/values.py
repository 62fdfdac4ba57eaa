"""What a page says of values: errors beside those of a line, prototypes by value, and cards."""

from __future__ import annotations

from typing import Any

import numpy as np


def fit_line(X: Any, y: Any, new: Any) -> Any:
    """What a linear model with a ridge says of new rows; None unless rows are of a table."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if np.ndim(X) != 2 or hasattr(X, "tocsr"):
        return None
    numbers: Any = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    if hasattr(X, "columns"):
        names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        text = make_column_selector(dtype_exclude="number")
        numbers = make_column_transformer((names, text), remainder=numbers)
    return make_pipeline(numbers, RidgeCV(np.logspace(-2, 4, 13))).fit(X, y).predict(new)
