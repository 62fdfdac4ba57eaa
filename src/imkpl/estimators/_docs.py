"""Descriptions that several estimators share, filled into their docstrings."""

from __future__ import annotations

import re
from typing import TypeVar

Estimator = TypeVar("Estimator", bound=type)

SHARED = {
    "kernels": """
kernels : str, kernel, kernel bank or list, default="auto"
    What compares samples. "auto" looks at X and takes "per_feature_gaussian" for numbers,
    "per_column" for tables with text, categories or missing cells
    (:class:`imkpl.kernels.PerColumn`), "per_word" for sparse matrices and for counts of which
    more than 90 % are 0 in 100 columns or more (:class:`imkpl.kernels.PerWord`), and
    "per_view" for time series, which are arrays of three axes or lists of arrays
    (:class:`TimeSeriesIMKPL`); ``verbose=1`` says what it took. Otherwise one of these names,
    "global_alignment", "precomputed", the name of a scikit-learn pairwise kernel, a kernel, a
    callable, a list of these, or a bank.
""",
    "sparsity": """
sparsity : int, default=None
    Maximum number of samples per prototype (T0). By default 10, and any number for
    ``kernels="per_word"``, where a prototype must be a mix of many documents.
""",
    "code_sparsity": """
code_sparsity : int, default=20
    Maximum number of prototypes per code.
""",
    "learning_code_sparsity": """
learning_code_sparsity : int, default=1
    The same while prototypes are learned: short codes make prototypes specialise on a
    neighbourhood. Never more than `code_sparsity`.
""",
    "n_prototypes": """
n_prototypes : int, default=None
    Number of prototypes to start with, at most one per distinct sample of more than negligible
    weight. By default folds of the training samples choose it: of 1, 3, 10, 30 and so on per
    class the smallest number within one standard error of the best; with ``decision="share"``
    it is ``n_classes * sparsity``. Greedy covering decides how many each class gets.
""",
    "n_neighbors": """
n_neighbors : int, default=4
    Size of the same-class neighbourhoods (k) that the weights pull together. They are pushed
    away from ``2 * n_neighbors + n_classes`` neighbours of other classes. Where all these pairs
    would take more than 1 GB, the pairs of some samples stand for all.
""",
    "discrimination": """
discrimination : float, default=0.5
    Weight of J_dis (lambda): codes should use same-class neighbours.
""",
    "separation": """
separation : float, default=100.0
    Weight of the separation loss (mu), which takes the place of J_ls. The loss chooses the
    initial kernels even if the weight is 0.
""",
    "interpretability": """
interpretability : float, default=1.2
    Weight of J_ip (tau): prototypes should be pure and tight.
""",
    "weight_rule": """
weight_rule : {"margin", "lp"}, default="margin"
    The separation loss and its regulariser. "margin" is a squared hinge on pairs of neighbours
    and takes redundancy into account, "lp" is the linear programme as printed in the paper, which
    keeps a single kernel.
""",
    "max_kernels": """
max_kernels : int, default=None
    Maximum number of kernels to keep. Kernels that tell the classes apart no better than shuffled
    copies of them are left aside, unless more are asked for than the others are. By default
    "margin" keeps as many of the others as are needed to reach most of the decrease of the loss
    that they reach together: 97 % where there are many more kernels than samples, up to 99.5 %
    where there are few, and never more than 2000, of time series 20. "lp" ignores the limit: it
    keeps one, or a few with ``decision="votes"``.
""",
    "decision": """
decision : {"votes", "share"}, default="votes"
    How a sample is classified. "votes": each prototype votes for its own class, the more the
    more similar the sample is to it, and prototypes are learned for that decision. "share", the
    paper's rule: the prototypes of all classes compete in a code, and the class with the
    largest share of it wins; prototypes are learned to rebuild the samples. Use "share" to
    compare with the paper.
""",
    "solver": """
solver : {"auto", "exact", "landmarks"}, default="auto"
    What to learn from. "exact" compares all samples with each other, at a cost that grows at
    least with the square of their number. "landmarks" learns from some samples of every class,
    which carry the weight of all. Bandwidths are learned on all samples, all of them get codes,
    and probabilities are calibrated on samples other than the landmarks. "auto" is "exact" up
    to 10 000 distinct samples and "landmarks" above.
""",
    "n_landmarks": """
n_landmarks : int, default=None
    Maximum number of landmarks, at least two per class; 4000 by default, or 20 per class where
    there are more than 200 classes. With as many landmarks as distinct samples "landmarks" is
    the same as "exact".
""",
    "class_weight": """
class_weight : dict or "balanced", default=None
    Weights of the classes.
""",
    "constraints": """
require, exclude : list of str or int, default=None
    Features that must have a weight, and features that must have none, by their names or numbers
    (kernels, where these read several features). Excluded features have no part in the fit. A
    required one is kept whatever the data say, with at least a tenth of an even share of the
    weight while it is learned.
""",
    "max_iter": """
max_iter : int, default=20
    Maximum number of rounds of codes, prototypes and weights.
""",
    "tol": """
tol : float, default=1e-3
    The search ends when a round lowers the objective by less than this fraction of it.
""",
    "n_jobs": """
n_jobs : int, default=None
    Number of threads; all by default. Results do not depend on it.
""",
    "verbose": """
verbose : int, default=0
    Whether to write a line per stage and round to standard error.
""",
    "random_state": """
random_state : int, RandomState instance or None, default=None
    Seed for drawing landmarks; nothing else is random. None is the same as 0: the same data
    give the same model.
""",
    "classes_": """
classes_ : array of shape (n_classes,)
    Class labels.
""",
    "prototypes_": """
prototypes_ : CSR array of shape (n_prototypes, n_samples)
    Every prototype as a mix of training samples, of unit norm in the combined space.
prototype_classes_ : array of shape (n_prototypes,)
    The class of each prototype.
class_shares_ : array of shape (n_prototypes, n_classes)
    The sum of each prototype's coefficients in each class.
codes_ : CSR array of shape (n_samples, n_prototypes)
    Codes of the training samples; above 100 000 distinct samples those of landmarks only, and
    `transform` has the others.
""",
    "kernel_weights_": """
kernel_weights_ : array of shape (n_kernels,)
    Non-negative weights that sum to one.
kernel_evidence_ : array of shape (n_kernels,)
    How sure it is that each kernel tells the classes apart better than its shuffled twins, from 0
    (no better than chance) to 1: one minus the local false discovery rate.
expected_false_kernels_ : float
    How many of the kernels with a weight chance would give, the sum of one minus their evidence.
kernel_names_ : list of str
    Names of the kernels.
""",
    "feature_importances_": """
feature_importances_ : array of shape (n_features,)
    The weights summed per feature, where each kernel reads one feature.
""",
    "support_": """
support_ : array of shape (n_support,)
    The training samples that prototypes are made of; prediction needs no others.
support_ids_, support_classes_ : array of shape (n_support,)
    Their names, from the index of the data frame if there is one, and their classes.
support_values_ : list of dict
    Their values in the columns that the model reads, by the names of the columns.
temperature_ : float
    Factor on the class scores in the softmax of `predict_proba`, found on left-out samples.
novelty_threshold_ : float
    The reconstruction error that 99 % of the training samples stay within, each coded without
    its own part in the prototypes; above it ``predict(X, reject=True)`` abstains.
history_ : dict of arrays of shape (n_rounds,)
    Every term of the objective after every round, and their total.
n_iter_ : int
    Number of rounds.
eligible_ : array of bool of shape (n_samples,) or None
    The samples that prototypes may be made of, as given to `fit`; None for all.
""",
}


def fill_doc(estimator: Estimator) -> Estimator:
    """Replace every line ``%(name)s`` of a docstring by the shared description."""

    def fill(match: re.Match[str]) -> str:
        lines = SHARED[match[2]].strip("\n").splitlines()
        return "\n".join(match[1] + line if line else line for line in lines)

    estimator.__doc__ = re.sub(r"^( *)%\((\w+)\)s$", fill, estimator.__doc__ or "", flags=re.M)
    return estimator
