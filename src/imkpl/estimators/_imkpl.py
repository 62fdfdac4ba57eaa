"""IMKPL, and ISKPL on a single kernel."""

from __future__ import annotations

from dataclasses import replace

from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._docs import fill_doc
from imkpl.model.problem import Settings


@fill_doc
class IMKPL(BasePrototypeClassifier):
    """Interpretable multiple-kernel prototype learning.

    Learns together which kernels matter, prototypes that are sparse mixes of similar training
    samples of one class, and sparse codes that reconstruct every sample from a few prototypes.
    With one kernel per feature the kernel weights select features.

    Series may have unequal lengths and gaps. They are given as an array of shape (n_series,
    n_channels, n_steps), in which NaN at the end is padding, as a list of arrays of shape
    (n_channels, length), or, with ``kernels="per_view"``, in any other form that
    :func:`imkpl.series.read_series` reads. Their channels are weighed as features are.

    Parameters
    ----------
    %(kernels)s
    %(sparsity)s
    %(code_sparsity)s
    %(learning_code_sparsity)s
    %(n_prototypes)s
    %(n_neighbors)s
    %(discrimination)s
    %(separation)s
    %(interpretability)s
    %(weight_rule)s
    %(max_kernels)s
    %(decision)s
    %(solver)s
    %(n_landmarks)s
    %(class_weight)s
    %(constraints)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    %(classes_)s
    %(prototypes_)s
    %(kernel_weights_)s
    %(feature_importances_)s
    %(channels)s
    %(support_)s

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=3, max_kernels=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), int((model.kernel_weights_ > 0).sum()) <= 5
    (True, True)

    Series, of which the second channel tells the classes apart:

    >>> import numpy as np
    >>> labels = np.repeat([0, 1], 10)
    >>> series = np.random.default_rng(0).standard_normal((20, 2, 15))
    >>> series[:, 1] += np.sin(np.arange(15) / (2 + labels[:, None])) * 4
    >>> IMKPL(n_prototypes=4).fit(series, labels).feature_importances_.argmax()
    np.int64(1)
    """


@fill_doc
class ISKPL(BasePrototypeClassifier):
    """Interpretable single-kernel prototype learning.

    The same model as :class:`IMKPL` without the weight step: all kernels of the bank have the same
    weight. The parameters are the same; those about the weights, `separation`, `weight_rule` and
    `max_kernels`, have no effect.

    Parameters
    ----------
    %(kernels)s
    %(sparsity)s
    %(code_sparsity)s
    %(learning_code_sparsity)s
    %(n_prototypes)s
    %(n_neighbors)s
    %(discrimination)s
    %(separation)s
    %(interpretability)s
    %(weight_rule)s
    %(max_kernels)s
    %(decision)s
    %(solver)s
    %(n_landmarks)s
    %(class_weight)s
    %(constraints)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    %(verbose)s
    %(random_state)s

    Attributes
    ----------
    %(classes_)s
    %(prototypes_)s
    %(kernel_weights_)s
    %(support_)s

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ISKPL(sparsity=5).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    @property
    def _settings(self) -> Settings:
        return replace(super()._settings, weight_rule="equal", max_kernels=None)
