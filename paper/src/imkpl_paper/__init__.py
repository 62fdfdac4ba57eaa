"""The study around the method: the paper's baselines, data sets, skeletons and experiments."""

from typing import Any

__all__ = ["settings"]


def settings(dataset: str) -> dict[str, Any]:
    """Look up the settings of the paper's Table 1 for a data set.

    Parameters
    ----------
    dataset : str
        One of the paper's data sets, such as "TOX_171".

    Returns
    -------
    dict
        Parameters of ``IMKPL.as_published``: T0, lambda, mu and tau under our names.

    Examples
    --------
    >>> import imkpl_paper
    >>> imkpl_paper.settings("TOX_171")
    {'sparsity': 18, 'discrimination': 0.1, 'separation': 0.3, 'interpretability': 0.1}
    """
    from imkpl_paper.experiments.published import published_settings, read_published

    found = published_settings(dataset)
    if not found:
        known = ", ".join(read_published()["table-1"]["values"])
        raise ValueError(
            f"Table 1 of the paper has no settings for {dataset!r}, expected one of {known}. "
            "Correct the name, or choose your own settings."
        )
    return found
