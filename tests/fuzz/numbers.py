"""Cases for numbers: the same bits for any threads and blocks, the same model for any order."""

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from fuzz.oracle import require, watched
from imkpl import IMKPL, IMKPLCV, ISKPL
from imkpl.kernels import PerFeatureGaussian
from imkpl.solvers import solve_nqp, solve_nqp_batch
from imkpl_paper.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection

HELD = "held"
BASELINES = (PrototypeSelection, AKGLVQ, DKMLD, MIDL, MKLDPL)
BANKS = (
    "per_feature_gaussian",
    "per_column",
    ["rbf", "laplacian"],
    PerFeatureGaussian(scales=(0.5, 2.0)),
    PerFeatureGaussian(dtype=np.float32),
)
RULES = ("margin", "ridge", "lp")
DECISIONS = ("calibrated", "joint", "residual", "share")


def draw_problem(source, *, smallest=12, largest=40, widest=6):
    """Classes that some features tell apart and others do not."""
    rng = source.generator()
    n, d, n_classes = source.whole(smallest, largest), source.whole(2, widest), source.whole(2, 3)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.standard_normal((n, d))
    X[:, : max(1, d // 2)] += rng.uniform(0, 3) * y[:, None]
    return X, y, rng


def draw_model(source):
    """One of the two models with some settings."""
    settings = {
        "sparsity": source.whole(1, 5),
        "decision": source.pick(DECISIONS),
        "discrimination": source.pick([0.5, 0.0, 5.0]),
        "interpretability": source.pick([1.2, 0.0, 10.0]),
        "learning_code_sparsity": source.pick([1, 2, 5]),
    }
    if source.chance(30):
        return ISKPL(**settings)
    return IMKPL(
        weight_rule=source.pick(RULES),
        n_neighbors=source.whole(1, 4),
        separation=source.pick([100.0, 0.0, 1.0]),
        **settings,
    )


def learned(model, X):
    """What a model has learned and says, as a list of arrays."""
    found = [model.kernel_weights_, model.prototypes_.toarray(), model.decision_function(X)]
    for name in ("codes_", "novelty_threshold_", "temperature_"):
        value = getattr(model, name, 0.0)
        found.append(value.toarray() if hasattr(value, "toarray") else np.asarray(value))
    history = model.history_
    found.append(history["total"] if isinstance(history, dict) else np.asarray(history))
    return found


def bits_case(source):
    """The same bits for 1, 2 and 4 threads, for small and large blocks, and when repeated."""
    X, y, _ = draw_problem(source, smallest=20, largest=400, widest=24)
    kernels = source.pick(BANKS)
    if source.chance(20) and len(X) < 100:
        model = source.pick(BASELINES)(kernels)
    elif source.chance(10) and len(X) < 60:
        model = IMKPLCV(kernels, sparsity=(1, 3), cv=2, n_neighbors=2)
    else:
        model = draw_model(source).set_params(kernels=kernels)
        if source.chance(30):
            model.set_params(solver="landmarks", n_landmarks=max(8, len(X) // 2))
    with watched(X, y):
        expected = learned(clone(model).set_params(n_jobs=1).fit(X, y), X)
        for n_jobs, memory in ((2, 1024), (4, 0.01), (None, 0.1)):
            with config_context(working_memory=memory):
                found = learned(clone(model).set_params(n_jobs=n_jobs).fit(X, y), X)
            same = all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))
            require(same, f"other bits with n_jobs={n_jobs} and {memory} MiB for {model!r}")
    return HELD


def order_case(source):
    """The same model for any order of samples and features, and any names of classes."""
    X, y, rng = draw_problem(source)
    # With one prototype per code the order in which prototypes are updated cannot matter.
    model = draw_model(source).set_params(learning_code_sparsity=1)
    with watched(X, y):
        plain = clone(model).fit(X, y)
        rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
        other = clone(model).fit(X[rows], y[rows])
        require(
            np.array_equal(other.decision_function(X), plain.decision_function(X)),
            f"another order of samples gives other bits for {model!r}",
        )
        turned = clone(model).fit(X[:, columns], y)
        require(
            np.allclose(turned.kernel_weights_, plain.kernel_weights_[columns], atol=1e-6),
            f"another order of features gives other weights for {model!r}",
        )
        require(
            np.allclose(
                turned.predict_proba(X[:, columns]), plain.predict_proba(X), rtol=0, atol=1e-6
            ),
            f"another order of features gives other probabilities for {model!r}",
        )
        names = np.array(["z", "\u202e", "", "a"])
        named = clone(model).fit(X, names[y])
        # Columns of probabilities are in the order of the names.
        places = [named.classes_.tolist().index(name) for name in names[: plain.classes_.size]]
        require(
            np.allclose(named.predict_proba(X)[:, places], plain.predict_proba(X), atol=1e-6),
            f"other names of classes give other probabilities for {model!r}",
        )
    return HELD


def monotone_case(source):
    """The objective never rises, IP and DR are percentages, and weights lie on the simplex."""
    X, y, rng = draw_problem(source, smallest=8)
    if source.chance(20):
        # Nearly equal samples: kernels of condition numbers up to 1e12 and beyond.
        X = X[rng.integers(0, len(X) // 2, len(X))] + 1e-7 * rng.standard_normal(X.shape)
    if source.chance(20):
        X = X.round()
    model = draw_model(source).set_params(tol=source.pick([1e-3, 0.0]), max_iter=30)
    if source.chance(25):
        model.set_params(class_weight="balanced")
    try:
        with watched(X, y):
            model.fit(X, y, rng.integers(1, 4, len(X)) if source.chance(25) else None)
    except ValueError as error:
        require("expected" in str(error), f"no sentence: {error}")
        return "refused"
    total = model.history_["total"]
    rise = np.diff(total) - 1e-9 * np.abs(total[:-1])
    require(np.all(rise <= 0), f"the objective rises by {rise.max()} for {model!r}")
    from fuzz.oracle import check_answers, check_learned, check_measures

    check_learned(model)
    check_measures(model, y)
    with watched(X):
        check_answers(model, X, len(X))
    return HELD


def scaling_case(source):
    """Features of sizes from 1 to 1e12 give the model of features of one size."""
    X, y, rng = draw_problem(source, widest=8)
    model = draw_model(source)
    powers = np.linspace(0, 40, X.shape[1]).round()[rng.permutation(X.shape[1])]
    with watched(X, y):
        plain = clone(model).fit(X, y)
        scaled = clone(model).fit(X * 2.0**powers, y)
        require(
            np.array_equal(scaled.decision_function(X * 2.0**powers), plain.decision_function(X)),
            f"powers of two give other bits for {model!r}",
        )
        factors = 10.0 ** np.linspace(-6, 6, X.shape[1])
        scaled = clone(model).fit(X * factors, y)
        same = np.allclose(scaled.predict_proba(X * factors), plain.predict_proba(X), atol=1e-6)
        require(same, f"features from 1e-6 to 1e6 give another model for {model!r}")
    return HELD


def gram_case(source):
    """Quadratic problems of condition numbers up to 1e12: feasible, stationary, batch as single."""
    rng = source.generator()
    n, condition = source.whole(2, 12), 10.0 ** source.whole(0, 12)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    H = (Q * np.logspace(0, -np.log10(condition), n)) @ Q.T
    H = (H + H.T) / 2
    c = -H @ np.abs(rng.standard_normal(n)) if source.chance(50) else rng.standard_normal(n)
    sparsity = source.whole(1, n)
    with watched(H, c):
        one = solve_nqp(H, c, sparsity)
        many = solve_nqp_batch(H, np.stack([c, 2 * c]), sparsity)
    x, other = one.x, many.x.toarray()
    require(np.all(x >= 0) and np.count_nonzero(x) <= sparsity, "not feasible")
    require(0.5 * x @ H @ x + c @ x <= 1e-12 * np.abs(c) @ x, "worse than zero")
    active = np.flatnonzero(x)
    gradient = (H @ x + c)[active]
    # The exact minimum on the active set, up to the rounding of H x.
    size = np.abs(H) @ np.abs(x) + np.abs(c)
    require(np.all(np.abs(gradient) <= 1e-10 * size[active] * n), "not stationary on its support")
    values = [0.5 * z @ H @ z + c @ z for z in (x, other[0], other[1] / 2)]
    scale = max(np.abs(values).max(), 1e-300)
    require(np.ptp(values) <= 1e-6 * scale, f"batch and single differ: {values}")
    return HELD


def precision_case(source):
    """Kernels combined in single precision are right to 1e-6 of their value for equal samples."""
    rng = source.generator()
    n, d = source.whole(2, 60), source.whole(1, 80)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-100, 100, d)
    X += 10.0 ** rng.uniform(-3, 3, d) * X.std(axis=0)
    if source.chance(30):
        X[:, 0] = 7.0
    Y = X[rng.integers(0, n, 5)] * rng.uniform(0.5, 2, d)
    weights = rng.random(d) * 10.0 ** rng.uniform(-6, 6)
    with watched(X, Y):
        bank = PerFeatureGaussian().adapt(X)
        for samples in ((X,), (X, Y)):
            exact = bank.combine(weights, *samples)
            single = bank._in_single_precision().combine(weights, *samples)
            gap = np.abs(exact - single).max() / weights.sum()
            require(gap <= 1e-6, f"single precision is wrong by {gap}")
    return HELD
