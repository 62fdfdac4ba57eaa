"""TimeSeriesIMKPL: kernels that align series, one per channel."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from imkpl.estimators._imkpl import IMKPL
from imkpl.kernels import ExpectedAlignment, GlobalAlignment, expected_alignment
from imkpl.series import read_series


class TimeSeriesIMKPL(IMKPL):
    """Interpretable multiple-kernel prototype learning for multivariate time series.

    :class:`IMKPL` with a global alignment kernel per channel: the kernel weights say which channels
    matter, and prototypes are sparse mixes of similar training series. Series may have unequal
    lengths and missing values. The kernels between training series are computed once per fit.

    Series come as an array (n_series, n_channels, n_steps) with NaN after the end of shorter ones,
    as a list of arrays (n_channels, length), as a `SeriesSet`, or in any other form that
    :func:`imkpl.series.read_series` reads.

    Parameters
    ----------
    kernels : str or kernel bank, default="global_alignment"
        What compares series: a :class:`imkpl.kernels.GlobalAlignment` with settings of its own,
        such as several bandwidths or groups of channels, or anything that :class:`IMKPL` takes and
        that reads series. ``GlobalAlignment(differences=True)`` adds a kernel of first differences
        per channel at twice the cost. It helps where classes differ in how values change rather
        than in the values, such as movements that begin anywhere; a search tells, for example
        over ``{"kernels": [GlobalAlignment(), GlobalAlignment(differences=True)]}``.
    sparsity : int, default=10
        At most so many samples in a prototype (T0).
    code_sparsity : int, default=20
        At most so many prototypes in a code.
    learning_code_sparsity : int, default=1
        The same while prototypes are learned: short codes give prototypes of their own
        neighbourhood each. Never more than `code_sparsity`.
    n_prototypes : int, default=None
        How many prototypes to start with; ``n_classes * sparsity`` by default, never more than
        distinct samples of more than negligible weight. How many a class gets is found by covering.
    n_neighbors : int, default=4
        Size of the same-class neighbourhoods (k) that the weights pull together. They are pushed
        away from ``2 * n_neighbors + n_classes`` neighbours of other classes.
    discrimination : float, default=0.5
        Weight of J_dis (lambda): codes should use same-class neighbours.
    separation : float, default=100.0
        Weight of the separation loss (mu), which stands in the place of J_ls. It chooses the
        kernels to start with even if it is 0.
    interpretability : float, default=1.2
        Weight of J_ip (tau): prototypes should be pure and tight.
    weight_rule : {"margin", "ridge", "lp"}, default="margin"
        The separation loss and its regulariser. "margin" is a squared hinge on pairs of
        neighbours and takes redundancy into account, "ridge" scores kernels one by one, "lp" is
        the linear programme as printed in the paper, which keeps a single kernel.
    max_kernels : int, default=None
        At most so many kernels are kept. By default "margin" keeps as many as reach most of the
        decrease of the loss that all of them reach: 97 % where there are many more kernels than
        samples, up to 99.5 % where there are few. It never keeps more than 2000. "ridge" keeps half
        of those that separate at all, "lp" one.
    decision : {"calibrated", "joint", "residual", "share"}, default="calibrated"
        How a sample is classified. All prototypes compete in a code, and the class wins whose
        prototypes explain most of the sample ("joint") or have the largest share of the
        coefficients ("share", the paper's rule); or each class rebuilds the sample on its own, and
        the one that comes nearest wins ("residual"). "calibrated" is "joint" with a logistic
        regression on the prototypes on top, which corrects it where classes overlap or differ in
        width.
    solver : {"auto", "exact", "landmarks"}, default="auto"
        What is learned from. "exact" compares all samples with each other, which takes memory and
        time in proportion to the square of their number and more. "landmarks" learns from some
        samples of every class, which carry the weight of all. Bandwidths are learned on all
        samples, all of them get codes, and probabilities are calibrated on others than landmarks.
        "auto" is "exact" up to 10 000 distinct samples and "landmarks" above.
    n_landmarks : int, default=None
        At most so many landmarks, two per class or more; 4000 by default, and 20 per class where
        there are more than 200 classes. With as many as there are distinct samples "landmarks" is
        "exact".
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    max_iter : int, default=20
        At most so many rounds of codes, prototypes and weights.
    tol : float, default=1e-3
        The search ends when a round lowers the objective by less than this part of it.
    n_jobs : int, default=None
        Number of threads; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage and round to standard error.
    random_state : int, RandomState instance or None, default=None
        Source of the draws of landmarks; nothing else is drawn. None is the same as 0: the
        same data give the same model.
    checkpoint : str or path, default=None
        A folder in which the fit keeps how far it has come, after every round. A fit that was
        killed takes up again where it was when the same is fitted with the same folder, and ends
        with the same model, to the last bit. Fits of other data or settings can share the folder.
        What is kept stays there after the fit, also for a later one with a higher `max_iter`;
        delete the folder when it is no longer of use.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples, of unit norm in the combined space.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each.
    class_shares_ : array of shape (n_prototypes, n_classes)
        How much of its coefficients each prototype has in each class.
    codes_ : CSR array of shape (n_samples, n_prototypes)
        Codes of the training samples.
    kernel_weights_ : array of shape (n_kernels,)
        Non-negative weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    feature_importances_ : array of shape (n_channels,)
        The weights summed per channel, where each kernel reads one channel.
    n_channels_in_ : int
        Number of channels.
    feature_names_in_ : array of shape (n_channels,)
        Their names, where the series had names.
    support_ : array of shape (n_support,)
        The training samples of which prototypes are made; all that prediction compares with.
    support_ids_, support_classes_ : array of shape (n_support,)
        What they are called, by the index of the data frame or else by number, and their classes.
    temperature_ : float
        Factor on the class scores in the softmax of `predict_proba`; 1 for "calibrated".
    novelty_threshold_ : float
        The reconstruction error that 99 % of the training samples stay within, each coded without
        its own part in the prototypes; above it ``predict(X, reject=True)`` abstains.
    history_ : dict of arrays of shape (n_iter_,)
        Every term of the objective after every round, and their total.
    n_iter_ : int
        Number of rounds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 10)
    >>> X = rng.standard_normal((20, 2, 15))
    >>> X[:, 1] += np.sin(np.arange(15) / (2 + y[:, None])) * 4
    >>> model = TimeSeriesIMKPL(sparsity=3).fit(X, y)
    >>> int(np.argmax(model.feature_importances_)), bool(model.score(X, y) > 0.9)
    (1, True)
    """

    def __init__(
        self,
        kernels: Any = "global_alignment",
        *,
        sparsity: int = 10,
        code_sparsity: int = 20,
        learning_code_sparsity: int = 1,
        n_prototypes: int | None = None,
        n_neighbors: int = 4,
        discrimination: float = 0.5,
        separation: float = 100.0,
        interpretability: float = 1.2,
        weight_rule: str = "margin",
        max_kernels: int | None = None,
        decision: str = "calibrated",
        solver: str = "auto",
        n_landmarks: int | None = None,
        class_weight: Any = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            kernels,
            sparsity=sparsity,
            code_sparsity=code_sparsity,
            learning_code_sparsity=learning_code_sparsity,
            n_prototypes=n_prototypes,
            n_neighbors=n_neighbors,
            discrimination=discrimination,
            separation=separation,
            interpretability=interpretability,
            weight_rule=weight_rule,
            max_kernels=max_kernels,
            decision=decision,
            solver=solver,
            n_landmarks=n_landmarks,
            class_weight=class_weight,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
            checkpoint=checkpoint,
        )

    def align(self, x: Any, y: Any) -> dict[str, ExpectedAlignment]:
        """Where in time two series are alike, channel by channel.

        Compare a new series with those of which a prototype is made to see what the model saw.

        Parameters
        ----------
        x, y : array of shape (n_channels, length)
            Two series.

        Returns
        -------
        dict of ExpectedAlignment
            By the name of every kernel with a weight, in the order of `kernel_names_`.
        """
        check_is_fitted(self)
        predictor = self._predictor
        if not isinstance(predictor.bank, GlobalAlignment):
            raise TypeError(
                f"align() explains alignment kernels, but the kernels of this model are "
                f"{type(predictor.bank).__name__}. Fit with kernels='global_alignment'."
            )
        pair = read_series([x, y])
        if pair.n_channels != self.n_channels_in_:
            raise ValueError(
                f"x and y have {pair.n_channels} channels, but the model was fitted to "
                f"{self.n_channels_in_}. Pass series of shape (n_channels, length)."
            )
        cut = pair.channels(predictor.columns)
        live = np.flatnonzero(self.kernel_weights_)
        return {
            self.kernel_names_[index]: expected_alignment(predictor.bank, place, cut[0], cut[1])
            for place, index in enumerate(live)
        }

    def __sklearn_tags__(self) -> Any:
        """Tags that tell scikit-learn about the third axis and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags
