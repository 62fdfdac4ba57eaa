"""IMKPL, and ISKPL on a single kernel."""

from dataclasses import replace

from imkpl.estimators._classifier import BasePrototypeClassifier
from imkpl.model.problem import Settings


class IMKPL(BasePrototypeClassifier):
    """Interpretable multiple-kernel prototype learning.

    Learns together which kernels matter, prototypes that are sparse mixes of similar training
    samples of one class, and sparse codes that reconstruct every sample from a few prototypes.
    With one kernel per feature the kernel weights select features. :meth:`as_published` is the
    method as the paper prints it.

    Series may have unequal lengths and gaps. They are given as an array of shape (n_series,
    n_channels, n_steps), in which NaN at the end is padding, as a list of arrays of shape
    (n_channels, length), or, with ``kernels="per_view"``, in any other form that
    :func:`imkpl.series.read_series` reads. Their channels are weighed as features are.

    Parameters
    ----------
    kernels : str, kernel, kernel bank or list, default="auto"
        What compares samples. "auto" looks at X and takes "per_feature_gaussian" for numbers,
        "per_column" for tables with text, categories or missing cells
        (:class:`imkpl.kernels.PerColumn`), "per_word" for sparse matrices and for counts of which
        more than 90 % are 0 in 100 columns or more (:class:`imkpl.kernels.PerWord`), and "per_view"
        for time series, which are arrays of three axes or lists of arrays; ``verbose=1`` says what
        it took. Otherwise one of these names, "global_alignment", "precomputed", the name of a
        scikit-learn pairwise kernel, a kernel, a callable, a list of these, or a bank.

        "per_view" has 13 kernels, each of which compares all channels together: values and
        differences of successive steps, aligned at three widths each, and level, trend, spread,
        spectrum, distribution, autocorrelation and patterns. "global_alignment" has one kernel per
        channel, of its values. :class:`imkpl.kernels.GlobalAlignment` has settings of its own, such
        as windows of time. Many kernels of many series are screened on some of the series first.
    sparsity : int, default=None
        Maximum number of samples per prototype (T0). By default 10, and any number for
        ``kernels="per_word"``, where a prototype must be a mix of many documents.
    code_sparsity : int, default=20
        Maximum number of prototypes per code.
    learning_code_sparsity : int, default=1
        The same while prototypes are learned: short codes make prototypes specialise on a
        neighbourhood. Never more than `code_sparsity`.
    n_prototypes : int, default=None
        Number of prototypes to start with, at most one per distinct sample of more than negligible
        weight. By default folds of the training samples choose it: of 1, 2, 4, 8 and so on per
        class the smallest number within one standard error of the best; with ``decision="share"``
        it is ``n_classes * sparsity``. Greedy covering decides how many each class gets.
    n_neighbors : int, default=4
        Size of the same-class neighbourhoods (k) that the weights pull together. They are pushed
        away from ``2 * n_neighbors + n_classes`` neighbours of other classes. Where all these pairs
        would take more than 1 GB, the pairs of some samples stand for all.
    discrimination : float, default=0.5
        Weight of J_dis (lambda): codes should use same-class neighbours.
    separation : float, default=100.0
        Weight of the separation loss (mu), which takes the place of J_ls. The loss chooses the
        initial kernels even if the weight is 0. With ``weight_rule="large_margin"`` it is C, the
        price of a missed margin: the larger it is, the more kernels are kept, and all have equal
        weights if it is too small for any.
    interpretability : float, default=1.2
        Weight of J_ip (tau): prototypes should be pure and tight.
    max_kernels : int, default=None
        Maximum number of kernels to keep. Kernels that tell the classes apart no better than
        shuffled copies of them are left aside, unless more are asked for than the others are. By
        default "margin" keeps as many of the others as are needed to reach most of the decrease of
        the loss that they reach together: 97 % where there are many more kernels than samples, up
        to 99.5 % where there are few, and never more than 2000, of time series 20. "lp" and
        "large_margin" have no such comparison and ignore the limit; "lp" keeps one kernel, or a few
        with ``decision="votes"``.
    contrast : bool, default=None
        Whether a prototype also has a contrast, a mix of samples of other classes that are easily
        taken for its own: likeness to the prototype counts for its class, likeness to the contrast
        against. By default folds of the training samples decide, and how strong the ridge on
        prototypes minus contrasts is. Only with ``decision="votes"``.
    solver : {"auto", "exact", "landmarks"}, default="auto"
        What to learn from. "exact" compares all samples with each other, at a cost that grows at
        least with the square of their number. "landmarks" learns from some samples of every class,
        which carry the weight of all. Bandwidths are learned on all samples, all of them get codes,
        and probabilities are calibrated on samples other than the landmarks. "auto" is "exact" up
        to 10 000 distinct samples and "landmarks" above.
    n_landmarks : int, default=None
        Maximum number of landmarks, at least two per class; 4000 by default, or 20 per class where
        there are more than 200 classes. With as many landmarks as distinct samples "landmarks" is
        the same as "exact".
    max_missing : float, default=0.5
        The largest part of the weight that a new sample may lack to get an answer, from 0 to 1. A
        missing cell says nothing: its kernel is as similar as training samples are on average.
        Cells of columns that had gaps in training do not count; what a gap means was learned. Read
        when predicting.
    require, exclude : list of str or int, default=None
        Features that must have a weight, and features that must have none, by their names or
        numbers (kernels, where these read several features). Excluded features have no part in the
        fit. A required one is kept whatever the data say, with at least a tenth of an even share of
        the weight while it is learned.
    max_iter : int, default=20
        Maximum number of rounds of codes, prototypes and weights.
    tol : float, default=1e-3
        The search ends when a round lowers the objective by less than this fraction of it.
    n_jobs : int, default=None
        Number of threads; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write a line per stage and round to standard error.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing folds and landmarks; nothing else is random. Without it they are fixed:
        the same data give the same model, in any order of rows and columns.
    weight_rule : {"margin", "lp", "large_margin"}, default="margin"
        The separation loss and its regulariser. "margin" is a squared hinge on pairs of neighbours
        and takes redundancy into account. "lp" is the linear programme as printed in the paper,
        which keeps a single kernel. "large_margin" is a linear programme with slacks,
        ``min sum(b) + C / P sum(xi)`` with ``margins b >= 1 - xi`` over P pairs of neighbours,
        scaled to weights that sum to one: our reading of what gave the published weights, not the
        text. Both programmes are given all kernels, with unit diagonals.
    decision : {"votes", "share"}, default="votes"
        How a sample is classified. "votes": each prototype votes for its own class, the more the
        more similar the sample is to it, and prototypes are learned for that decision. "share", the
        paper's rule: the prototypes of all classes compete in a code, and the class with the
        largest share of it wins; prototypes are learned to rebuild the samples. Use "share" to
        compare with the paper.
    ordered : list, default=None
        The classes from the lowest to the highest, such as ``["low", "mid", "high"]``. Inside they
        are the values 0, 1, 2 of a regression (:class:`IMKPLRegressor`), and the nearest is the
        answer: errors by several classes count more. By default the order of a pandas categorical
        `y` that has one. Without `costs` and `prevalence`.
    class_weight : dict or "balanced", default=None
        Weights of the classes while learning. Without `costs`, answers follow them: "balanced"
        counts errors in a rare class as much as those in a frequent one. Probabilities stay those
        of the population.
    costs : dict, default=None
        How many times as bad it is to miss a class as to miss another, such as ``{"sick": 10}``; 1
        for those that are not named. The answer is the class with the largest probability times
        cost; probabilities stay what they are. Read when predicting: ``set_params(costs=...)``
        changes the answers of a fitted model. For two classes a cost of c is a threshold of
        ``1 / (1 + c)``. Only with ``decision="votes"``.
    prevalence : dict, default=None
        How frequent classes are where the model is used, such as ``{"sick": 0.01}``; others share
        the rest as they do in training. By default all are as frequent as in training, whatever
        `class_weight` is. Read when predicting, and only with ``decision="votes"``: probabilities
        follow, and so do answers.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples, of unit norm in the combined space.
    contrasts_ : CSR array of shape (n_prototypes, n_samples)
        What each prototype is unlike: a mix of samples of other classes, at most `sparsity` or
        `n_neighbors` for every other class; empty without contrasts.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each prototype.
    class_shares_ : array of shape (n_prototypes, n_classes)
        The sum of each prototype's coefficients in each class.
    codes_ : CSR array of shape (n_samples, n_prototypes)
        Codes of the training samples; above 100 000 distinct samples those of landmarks only, and
        `transform` has the others.
    kernel_weights_ : array of shape (n_kernels,)
        Non-negative weights that sum to one.
    kernel_evidence_ : array of shape (n_kernels,)
        How sure it is that each kernel tells the classes apart better than it does with permuted
        samples, from 0 (chance) to 1: one minus the local false discovery rate.
    expected_false_kernels_ : float
        How many of the kernels with a weight chance would give, the sum of one minus their
        evidence.
    kernel_names_ : list of str
        Names of the kernels.
    feature_importances_ : array of shape (n_features,)
        The weights summed per feature, or those of the channels of series. Defined where each
        kernel reads one feature, or weighs channels.
    n_channels_in_ : int
        Number of channels, where samples are series.
    channel_evidence_ : array of shape (n_channels,)
        How sure it is that each channel is more than chance, from 0 to 1, where channels are
        weighed.
    support_ : array of shape (n_support,)
        The training samples that prototypes and contrasts are made of; prediction needs no others.
    support_ids_ : array of shape (n_support,)
        Their names, from the index of the data frame if there is one.
    support_classes_ : array of shape (n_support,)
        Their classes.
    support_values_ : list of dict
        Their values in the columns that the model reads, by the names of the columns.
    class_prior_, class_weight_ : arrays of shape (n_classes,)
        The shares of the classes among the training samples, and their weights.
    temperature_ : float
        Factor on the class scores in the softmax of `predict_proba`, found on left-out samples.
    novelty_threshold_ : float
        The `novelty` that 99 % of the training samples stay within, each compared with the others
        in the model; above it ``predict(X, reject=True)`` abstains.
    history_ : dict of arrays of shape (n_rounds,)
        Every term of the objective after every round, and their total.
    n_iter_ : int
        Number of rounds.
    eligible_ : array of bool of shape (n_samples,) or None
        The samples that prototypes may be made of, as given to `fit`; None for all.
    n_groups_ : int or None
        The number of groups that were given to `fit`; None without.

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


class ISKPL(BasePrototypeClassifier):
    """Interpretable single-kernel prototype learning.

    The same model as :class:`IMKPL` without the weight step: all kernels of the bank have the same
    weight. Parameters and attributes are the same; `separation`, `weight_rule` and `max_kernels`
    have no effect. :meth:`as_published` is the method as the paper prints it.

    %s

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


# Both have the same parameters and attributes, which are described once.
_START, _END = "Parameters\n", "Examples\n"
_SHARED = (IMKPL.__doc__ or "").partition(_START)[2].partition(_END)[0].rstrip()
ISKPL.__doc__ = (ISKPL.__doc__ or "") % f"{_START}{_SHARED}\n"
