"""DKMLD: multilevel dictionaries with kernel weights by graph embedding.

A dictionary has levels of lines through the origin (kernel K-lines); the weights bring neighbours
of one class near and neighbours of other classes apart.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from scipy.linalg import eigh

from imkpl_paper._imkpl import BoolArray, FloatArray, IntArray, Interval, StrOptions
from imkpl_paper.baselines._base import BaseDictionary, Learned, Task
from imkpl_paper.baselines._kernels import Weighting
from imkpl_paper.baselines._readers import LevelCodes

MAX_WEIGHT_STEPS = 200
# The search for weights ends when a step lowers the ratio by less than this part of it.
SMALL_DECREASE = 1e-6
# Edges between samples whose codes have nothing in common.
WEAKEST_EDGE = 1e-3
MAX_LINE_ROUNDS = 30
# A residual below this part of the whole is rounding.
NOTHING_LEFT = 1e-8


class DKMLD(BaseDictionary):
    """Multilevel dictionaries per class, with kernel weights from a graph embedding.

    Based on Thiagarajan, Ramamurthy and Spanias, *Multiple kernel sparse representations for
    supervised and unsupervised learning*, IEEE Transactions on Image Processing 23 (2014). Levels
    of one-dimensional subspaces, the pursuit through the levels and weights by graph embedding
    are those of the paper as far as its description goes. The details of the graphs, the
    schedule and the classification by class-wise residuals are ours; and the weights are a local
    optimum of the embedding problem, where the paper solves a semi-definite relaxation that is
    out of reach for thousands of kernels.

    Learning alternates between embedding directions and weights, and builds the dictionaries
    before and after. It keeps an array of n_kernels x n_samples x (n_classes - 1) numbers.

    Parameters
    ----------
    kernels : str, kernel bank, kernel, callable or list of these, default="per_feature_gaussian"
        Kernels, as for :class:`imkpl.IMKPL`.
    n_levels : int, default=10
        Maximum number of levels of a dictionary; fewer where nothing is left to explain.
    n_lines : int, default=1
        Maximum number of prototypes per level and class.
    n_neighbors : int, default=5
        Number of neighbours of its own class, and of other classes, that a sample is linked to.
    reg : float, default=10
        Regularisation of the embedding. The larger it is, the fewer kernels are kept. With little
        of it the directions separate few samples with any kernels, and the weights mean little.
    max_kernels : int, default=None
        Maximum number of kernels. After the first round with more, only those with the largest
        weights are kept, for good.
    rule : {"residual", "contribution"}, default="residual"
        How a sample is classified: by the class whose prototypes rebuild it best on their own, or
        by the class whose samples have the largest signed sum of coefficients in a code over all
        prototypes. The second is poor here, because a code has one prototype per level.
    max_iter : int, default=3
        Maximum number of rounds of directions and weights.
    tol : float, default=1e-3
        Stop when the sum of the absolute changes of the weights is below this value.
    n_jobs : int, default=None
        Number of threads for the kernels; all by default. Results do not depend on it.
    verbose : int, default=0
        Whether to write progress to standard error.
    random_state : int, RandomState instance or None, default=None
        Seeds the lines to start from, where there are several per level. None is the same
        as 0.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    prototypes_ : CSR array of shape (n_prototypes, n_samples)
        Every prototype as a mix of training samples of its class, of any sign and of unit norm in
        the combined space.
    prototype_classes_ : array of shape (n_prototypes,)
        The class of each.
    prototype_levels_ : int array of shape (n_prototypes,)
        The level of each, counted from 0.
    class_shares_ : array of shape (n_prototypes, n_classes)
        Sums of the sizes of the coefficients in each class, at unit norm in the combined space.
    kernel_weights_ : array of shape (n_kernels,)
        Non-negative weights that sum to one.
    kernel_names_ : list of str
        Names of the kernels.
    support_ : array of shape (n_support,)
        The training samples of which prototypes are made.
    history_ : array of shape (n_iter_,)
        The ratio of the scatters within and between classes after every round. The weights lower
        it, new directions may raise it.
    n_iter_ : int
        Number of rounds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DKMLD(n_levels=5).fit(X, y)
    >>> model.prototypes_.shape[0], bool(model.score(X, y) > 0.9)
    (15, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseDictionary._parameter_constraints,
        "n_levels": [Interval(Integral, 1, None, closed="left")],
        "n_lines": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="neither")],
        "max_kernels": [Interval(Integral, 1, None, closed="left"), None],
        "rule": [StrOptions({"residual", "contribution"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernels: Any = "per_feature_gaussian",
        *,
        n_levels: int = 10,
        n_lines: int = 1,
        n_neighbors: int = 5,
        reg: float = 10.0,
        max_kernels: int | None = None,
        rule: str = "residual",
        max_iter: int = 3,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.n_levels = n_levels
        self.n_lines = n_lines
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.max_kernels = max_kernels
        self.rule = rule
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _learn(self, task: Task) -> Learned:
        """Dictionary and graphs, then weights, then the dictionary again."""
        prototypes, _, reader = self._build(task, task.average)
        codes = reader.codes(task.average @ prototypes.T)
        # Once: graphs of codes that change with the weights make the weights oscillate.
        within, between = neighbor_laplacians(codes, task.labels, self.n_neighbors)
        weighting, kernel = Weighting.equal(task.kernels), task.average
        history: list[float] = []
        for _ in range(self.max_iter):
            directions = embedding_directions(kernel, within, between, task.n_classes - 1, self.reg)
            new, ratio = lower_ratio(weighting, directions, within, between)
            change = float(np.abs(new - weighting.weights).sum())
            weighting = replace(weighting, weights=new).keep_largest(self.max_kernels)
            kernel = weighting.combine()
            history.append(ratio)
            task.log(f"ratio {ratio:.6g}, {np.count_nonzero(weighting.weights)} kernels")
            if change < self.tol:
                break
        prototypes, owners, reader = self._build(task, kernel)
        return Learned(
            weights=weighting.all_weights,
            prototypes=prototypes,
            owners=owners,
            reader=reader,
            kernel=kernel,
            history=history,
            n_iter=len(history),
            attributes={"prototype_levels_": reader.levels},
        )

    def _build(self, task: Task, kernel: FloatArray) -> tuple[FloatArray, Any, LevelCodes]:
        """The dictionaries of all classes for one kernel, and what codes samples with them."""
        mixes, owners, levels = list[FloatArray](), list[int](), list[Any]()
        for owner, members in enumerate(task.members):
            atoms, found = multilevel_dictionary(
                kernel[np.ix_(members, members)], self.n_lines, self.n_levels, task.random
            )
            block = np.zeros((found.size, task.labels.size))
            block[:, members] = atoms.T
            mixes.append(block)
            levels.append(found)
            owners += [owner] * found.size
        prototypes = np.concatenate(mixes)
        reader = LevelCodes(
            gram=prototypes @ kernel @ prototypes.T,
            owners=np.array(owners),
            sums=prototypes.sum(axis=1),
            n_classes=task.n_classes,
            rule=self.rule,
            levels=np.concatenate(levels),
        )
        return prototypes, reader.owners, reader


def cluster_lines(
    gram: FloatArray, n_lines: int, random: RandomState
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Lines through the origin, each along the main direction of the samples nearest to it."""
    norms = np.diagonal(gram)
    # Samples without length have no direction; they follow the line that they come nearest to.
    long = np.flatnonzero(norms > NOTHING_LEFT * norms.max())
    inner = gram[np.ix_(long, long)]
    owners = _first_owners(inner, n_lines, random)
    lines = _main_directions(inner, owners)
    history: list[float] = []
    for _ in range(MAX_LINE_ROUNDS):
        correlations = np.abs(lines.T @ inner)
        history.append(float((correlations.max(axis=0) ** 2).sum()))
        new = _fill_empty(np.argmax(correlations, axis=0), lines.shape[1], random)
        if np.array_equal(new, owners):
            break
        owners = new
        lines = _main_directions(inner, owners)
    whole = np.zeros((gram.shape[0], lines.shape[1]))
    whole[long] = lines
    nearest = np.argmax(np.abs(whole.T @ gram), axis=0)
    nearest[long] = owners
    return whole, nearest, np.array(history)


def multilevel_dictionary(
    kernel: FloatArray, n_lines: int, n_levels: int, random: RandomState
) -> tuple[FloatArray, IntArray]:
    """Lines through a class, lines through what these leave unexplained, and so on."""
    residual = np.eye(kernel.shape[0])
    atoms, levels = list[FloatArray](), list[int]()
    everyone = np.arange(kernel.shape[0])
    for level in range(n_levels):
        gram = residual.T @ kernel @ residual
        if np.trace(gram) < NOTHING_LEFT * np.trace(kernel):
            break
        lines, owners, _ = cluster_lines(gram, n_lines, random)
        found = residual @ lines
        shares = (lines.T @ gram)[owners, everyone]
        residual = residual - found[:, owners] * shares
        atoms.append(found)
        levels += [level] * found.shape[1]
    return np.concatenate(atoms, axis=1), np.array(levels)


def _first_owners(gram: FloatArray, n_lines: int, random: RandomState) -> IntArray:
    """The nearest of some samples: the longest, and others drawn by what these leave of them."""
    norms = np.diagonal(gram)
    squared_cosines = gram**2 / np.outer(norms, norms)
    seeds = [int(np.argmax(norms))]
    while len(seeds) < n_lines:
        left = norms * (1 - squared_cosines[seeds].max(axis=0))
        left[left < NOTHING_LEFT * norms.max()] = 0.0
        if left.max() == 0:
            break
        seeds.append(int(random.choice(left.size, p=left / left.sum())))
    owners: IntArray = np.argmax(squared_cosines[seeds], axis=0)
    owners[seeds] = np.arange(len(seeds))
    return owners


def _main_directions(gram: FloatArray, owners: IntArray) -> FloatArray:
    """The leading direction of every cluster as a mix of its samples, of unit norm."""
    lines = np.zeros((gram.shape[0], int(owners.max()) + 1))
    for line in range(lines.shape[1]):
        members = np.flatnonzero(owners == line)
        last = members.size - 1
        value, vector = eigh(gram[np.ix_(members, members)], subset_by_index=(last, last))
        # The direction of most members: an eigenvector has no sign of its own.
        sign = 1.0 if vector.sum() >= 0 else -1.0
        lines[members, line] = sign * vector[:, 0] / np.sqrt(value[0])
    return lines


def _fill_empty(owners: IntArray, n_lines: int, random: RandomState) -> IntArray:
    """Give a line that no sample is nearest to a random sample of a cluster of several."""
    owners = owners.copy()
    for line in range(n_lines):
        if not np.any(owners == line):
            is_free = np.bincount(owners, minlength=n_lines)[owners] > 1
            owners[random.choice(np.flatnonzero(is_free))] = line
    return owners


def neighbor_laplacians(
    codes: FloatArray, labels: IntArray, n_neighbors: int
) -> tuple[FloatArray, FloatArray]:
    """Laplacians of the graphs of similar codes within classes and between classes."""
    lengths = np.linalg.norm(codes, axis=1, keepdims=True)
    directions = codes / np.where(lengths > 0, lengths, 1.0)
    cosines = directions @ directions.T
    is_same = np.equal.outer(labels, labels)
    is_other = ~is_same
    np.fill_diagonal(is_same, False)
    return (
        _laplacian(cosines, is_same, n_neighbors),
        _laplacian(cosines, is_other, n_neighbors),
    )


def embedding_directions(
    kernel: FloatArray, within: FloatArray, between: FloatArray, n_directions: int, reg: float
) -> FloatArray:
    """Directions in which other classes are far and the own class is near.

    The leading generalised eigenvectors of ``K L_b K`` and ``K L_w K + reg tr(K L_w K) / n I``.
    """
    n_samples = kernel.shape[0]
    spread, noise = kernel @ between @ kernel, kernel @ within @ kernel
    # The second part is for classes of equal samples, which leave no noise at all.
    size = reg * np.trace(noise) + 1e-12 * np.trace(kernel @ kernel)
    noise += size / n_samples * np.eye(n_samples)
    _, directions = eigh(spread, noise, subset_by_index=(n_samples - n_directions, n_samples - 1))
    return np.asarray(directions)


def scatter_ratio(
    weights: FloatArray, images: FloatArray, within: FloatArray, between: FloatArray
) -> tuple[float, FloatArray]:
    """``b'S_w b / b'S_b b`` and its gradient."""
    flat = images.reshape(images.shape[0], -1)
    points = (weights @ flat).reshape(images.shape[1:])
    near, far = within @ points, between @ points
    small, large = 2 * float(np.vdot(points, near)), 2 * float(np.vdot(points, far))
    if large <= 0:
        return np.inf, np.zeros(images.shape[0])
    value = small / large
    gradient = flat @ (4 * (near - value * far) / large).ravel()
    return value, gradient


def lower_ratio(
    weighting: Weighting, directions: FloatArray, within: FloatArray, between: FloatArray
) -> tuple[FloatArray, float]:
    """Weights that lower the ratio of the scatters, by projected gradients with backtracking."""
    kernels, weights = weighting.kernels, weighting.weights
    images = np.stack([kernels.evaluate(index) @ directions for index in range(weights.size)])
    value, gradient = scatter_ratio(weights, images, within, between)
    steepest = float(np.abs(gradient).max())
    if steepest == 0 or value <= 0:
        return weights, value
    # A step that moves no weight by more than the average weight.
    step = 1 / (weights.size * steepest)
    for _ in range(MAX_WEIGHT_STEPS):
        new = np.maximum(weights - step * gradient, 0.0)
        new_value, new_gradient = np.inf, gradient
        if new.any():
            new /= new.sum()
            new_value, new_gradient = scatter_ratio(new, images, within, between)
        if new_value < value:
            decrease = (value - new_value) / value
            weights, value, gradient, step = new, new_value, new_gradient, 2 * step
            if decrease < SMALL_DECREASE:
                break
        else:
            step /= 4
    return weights, value


def _laplacian(cosines: FloatArray, is_candidate: BoolArray, n_neighbors: int) -> FloatArray:
    """The Laplacian of the graph of the most similar candidates of every sample."""
    values = np.where(is_candidate, cosines, -np.inf)
    nearest = np.argsort(-values, axis=1, kind="stable")[:, :n_neighbors]
    edges = np.zeros_like(cosines)
    # Negative similarities count as none: a negative edge would not give a Laplacian.
    sizes = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0) + WEAKEST_EDGE
    np.put_along_axis(edges, nearest, sizes, axis=1)
    edges = np.where(is_candidate, edges, 0.0)
    edges = (edges + edges.T) / 2
    return np.asarray(np.diag(edges.sum(axis=1)) - edges)
