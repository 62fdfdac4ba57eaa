"""Small random problems and states, built as the estimators build them."""

from dataclasses import dataclass, fields, replace

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st

from imkpl.kernels import KernelStack, PerFeatureGaussian
from imkpl.kernels.normalize import divide_by_variance, normalized
from imkpl.model.cover import cover
from imkpl.model.kernel_choice import start_as_printed
from imkpl.model.margin_choice import MarginStart
from imkpl.model.neighbors import Neighborhoods, find_neighborhoods
from imkpl.model.objective import evaluate
from imkpl.model.problem import Problem, Settings, State
from imkpl.model.separation import LinearSeparation
from imkpl.model.updates import rescale
from imkpl.model.votes import STRENGTH_RIDGE, VOTE_WEIGHT
from reference import objective as slow
from reference import votes as slow_votes

laws = settings(max_examples=25, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Case:
    """A problem, its neighbour pairs, the weight rule and the state to start from."""

    problem: Problem
    neighborhoods: Neighborhoods
    rule: str
    state: State


def make_data(seed, n_samples=14, n_classes=3, n_features=4):
    """Samples, labels (every class has one at least) and weights, all generic."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate((np.arange(n_classes), rng.integers(0, n_classes, n_samples)))
    labels = rng.permutation(labels[:n_samples])
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] += 2 * labels
    return X, labels, rng.uniform(0.2, 3.0, n_samples)


def pose(kernels, labels, sample_weight=None, multiplicity=None, **chosen):
    """A problem before kernels are chosen; samples count once, unless weights are given."""
    ones, n_kernels = np.ones(labels.size), kernels.n_kernels
    return Problem(
        kernels=kernels,
        labels=labels,
        sample_weight=ones if sample_weight is None else sample_weight,
        multiplicity=ones if multiplicity is None else multiplicity,
        settings=Settings(**chosen),
        kernel_indices=np.arange(n_kernels),
        widths=np.ones(n_kernels),
        separation_loss=LinearSeparation(np.zeros(n_kernels)),
    )


def make_problem(
    X, labels, sample_weight, rule="margin", n_neighbors=2, max_kernels=None, ridge=0.0, **terms
):
    """Problem, neighbourhoods and first weights, as in IMKPL; contrasts if there is a ridge."""
    chosen = {
        "decision": "share",
        "discrimination": 0.3,
        "separation": 1.0,
        "interpretability": 0.2,
        "sparsity": 3,
        "code_sparsity": 2,
    }
    kernels = PerFeatureGaussian().on(X, sample_weight)
    problem = replace(pose(kernels, labels, sample_weight, **(chosen | terms)), ridge=ridge)
    if rule == "margin":
        problem = scale_kernels(problem)
    n_kernels = problem.kernels.n_kernels
    average = problem.combine(np.full(n_kernels, 1 / n_kernels))
    neighborhoods = find_neighborhoods(average, labels, n_neighbors, 2 * n_neighbors)
    if rule == "lp":
        problem, weights = start_as_printed(problem, neighborhoods)
    else:
        problem, weights = MarginStart(problem, neighborhoods)(max_kernels)
    return problem, neighborhoods, weights


def scale_kernels(problem):
    """The problem with kernels of unit variance, without those that are constant."""
    scaled = divide_by_variance(problem.kernels, problem.sample_weight)
    return replace(problem, kernels=scaled).select(np.flatnonzero(scaled.factors))


def with_settings(problem, **chosen):
    return replace(problem, settings=replace(problem.settings, **chosen))


def first_state(problem, weights, n_prototypes):
    """Prototypes on the samples that cover the classes, without codes."""
    return cover(problem, weights, n_prototypes, problem.combine(weights))


def total(problem, state):
    return evaluate(problem, state).total


def make_case(
    seed=0,
    rule="margin",
    n_samples=14,
    n_classes=3,
    n_features=4,
    n_prototypes=5,
    sharpness=0.0,
    **settings,
):
    """A case of votes if there is a sharpness, else of shares."""
    data = make_data(seed, n_samples, n_classes, n_features)
    settings["decision"] = "votes" if sharpness else "share"
    problem, neighborhoods, weights = make_problem(*data, rule, **settings)
    state = replace(first_state(problem, weights, n_prototypes), sharpness=sharpness)
    return Case(problem, neighborhoods, rule, freeze(state))


def make_random_case(seed=0, n_prototypes=4, **settings):
    """A case whose state is no start but any sparse feasible point.

    With votes, prototypes are pure and sorted, every class has one, and strengths differ. With a
    ridge they have contrasts.
    """
    case = make_case(seed, n_prototypes=n_prototypes, **settings)
    rng = np.random.default_rng(seed + 1)
    problem, n_samples = case.problem, case.problem.labels.size
    prototypes = sparse_rows(rng, n_prototypes, n_samples, problem.sparsity, at_least=1)
    if problem.settings.has_votes:
        prototypes = pure_rows(rng, problem, n_prototypes)
    codes = sparse_rows(rng, n_samples, prototypes.shape[0], problem.settings.code_sparsity)
    weights = rng.dirichlet(np.ones(problem.kernels.n_kernels))
    log_strengths = rng.standard_normal(prototypes.shape[0])
    sharpness, contrasts = case.state.sharpness, sp.csr_array(prototypes.shape)
    state = State(
        prototypes, codes, weights, problem.combine(weights), log_strengths, contrasts, sharpness
    )
    if problem.ridge > 0:
        is_other = problem.prototype_classes(state)[:, None] != problem.labels
        rows = rows_among(rng, is_other, problem.contrast_sparsity, at_least=0)
        state = replace(state, contrasts=sp.csr_array(0.2 * rows))
    return replace(case, state=freeze(rescale(state)))


def pure_rows(rng, problem, n_rows):
    """Mixes of samples of one class each, at least one for every class, sorted by class."""
    n_classes = len(problem.members)
    owners = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows)])
    owners = np.sort(owners[: max(n_rows, n_classes)])
    return rows_among(rng, owners[:, None] == problem.labels, problem.sparsity, at_least=1)


def rows_among(rng, may_be, n_entries, at_least):
    """Sparse rows of the entries that may be."""
    dense = np.zeros(may_be.shape)
    for row, places in zip(dense, map(np.flatnonzero, may_be), strict=True):
        row[places] = sparse_rows(rng, 1, places.size, n_entries, at_least).toarray()[0]
    return sp.csr_array(dense)


def sparse_rows(rng, n_rows, n_columns, n_entries, at_least=0):
    dense = np.zeros((n_rows, n_columns))
    for row in dense:
        size = rng.integers(at_least, min(n_entries, n_columns) + 1)
        chosen = rng.choice(n_columns, size, replace=False)
        row[chosen] = rng.uniform(0.1, 1.0, chosen.size)
    return sp.csr_array(dense)


def freeze(state):
    """The same state in arrays that raise when written to."""
    for field in fields(state):
        part = getattr(state, field.name)
        is_sparse = sp.issparse(part)
        for array in [part.data, part.indices, part.indptr] if is_sparse else [np.asarray(part)]:
            array.flags.writeable = False
    return state


def linear_kernels(case):
    """One kernel on the centred samples of a case, negative somewhere."""
    X = case.problem.kernels.samples
    return normalized(KernelStack(["linear"]).on(X - X.mean(axis=0)))


def pairs(listed):
    return list(zip(listed.rows.tolist(), listed.columns.tolist(), strict=True))


def base_kernels(problem):
    """All base kernels, unscaled combination: shape (n_kernels, n_samples, n_samples)."""
    return np.array([problem.kernels.evaluate(i) for i in range(problem.kernels.n_kernels)])


def slow_terms(case, state, weights=None):
    """The terms as they enter the sum, by the reference loops; kernel from the definition."""
    problem, weights = case.problem, state.weights if weights is None else weights
    terms = problem.settings
    combined = np.tensordot(weights, base_kernels(problem), 1)
    scale = combined[0, 0]
    K, U, G = combined / scale, state.prototypes.toarray(), state.codes.toarray()
    a, labels = problem.sample_weight, problem.labels.tolist()
    same, other = pairs(case.neighborhoods.same), pairs(case.neighborhoods.other)
    loss = problem.separation_loss
    separation = {
        "lp": lambda: slow.local_separation(combined, same, other, a),
        "margin": lambda: slow.hinge_loss(combined, same, other, a, loss.target),
        # Margins that no weights can raise: the rule leaves them aside.
        "none": lambda: 0.0,
    }[case.rule if case.rule != "margin" or hasattr(loss, "target") else "none"]()
    return {
        "reconstruction": scale * slow.reconstruction(K, U, G, a),
        "discrimination": scale * terms.discrimination * slow.discrimination(K, U, G, labels, a),
        "interpretability": scale * terms.interpretability * slow.interpretability(U, labels),
        "separation": terms.separation * separation,
        "regularization": loss.ridge / 2 * sum(w**2 for w in weights),
        "votes": VOTE_WEIGHT * slow_vote_term(problem, state, K) if terms.has_votes else 0.0,
    }


def slow_vote_term(problem, state, K):
    """J_vote of prototypes scaled to unit norm under the kernel K, with its ridges."""
    owners = [int(problem.labels[np.flatnonzero(u)[0]]) for u in state.prototypes.toarray()]
    mixes = slow_votes.voting_mixes(K, state.prototypes.toarray(), state.contrasts.toarray())
    loss = slow_votes.cross_entropy(
        slow_votes.resemblances_to(K, mixes),
        owners,
        problem.labels.tolist(),
        problem.sample_weight,
        state.sharpness,
        state.log_strengths,
    )
    loss += slow_votes.strength_penalty(problem.sample_weight, state.log_strengths, STRENGTH_RIDGE)
    return loss + slow_votes.mix_penalty(K, mixes, state.sharpness, problem.ridge)


rules = st.sampled_from(["lp", "margin"])
seeds = st.integers(0, 10_000)
strengths = st.sampled_from([0.0, 0.2, 1.0, 5.0])
# 0 without votes; from a whisper to nearly the nearest prototype alone.
sharpnesses = st.sampled_from([0.0, 1.0, 8.0, 80.0])
# 0 without contrasts.
ridges = st.sampled_from([0.0, 0.03, 0.3])
all_settings = st.fixed_dictionaries(
    {
        "seed": seeds,
        "rule": rules,
        "n_samples": st.integers(8, 25),
        "n_classes": st.integers(2, 4),
        "n_features": st.integers(2, 6),
        "n_prototypes": st.integers(2, 9),
        "n_neighbors": st.integers(1, 4),
        "max_kernels": st.sampled_from([None, 1, 2, 3]),
        "discrimination": strengths,
        "separation": strengths,
        "interpretability": strengths,
        "sparsity": st.integers(1, 5),
        "code_sparsity": st.integers(1, 4),
        "sharpness": sharpnesses,
        "ridge": ridges,
    }
)
