"""What an estimator asks of scikit-learn's metadata routing, as plain values."""

from __future__ import annotations

from typing import Any

METHODS = ("fit", "score")


def find_requests(model: Any) -> dict[str, dict[str, Any]]:
    """What `set_fit_request` and `set_score_request` were told."""
    request = vars(model).get("_metadata_request")
    if request is None:
        return {}
    return {method: dict(getattr(request, method).requests) for method in METHODS}


def set_requests(model: Any, requests: dict[str, dict[str, Any]]) -> None:
    """Tell an estimator what `find_requests` found."""
    if not requests:
        return
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        if requests.get("fit"):
            model.set_fit_request(**requests["fit"])
        if requests.get("score"):
            model.set_score_request(**requests["score"])
