import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from imkpl import IMKPL
from imkpl.plots import (
    EffectsDisplay,
    EvidenceDisplay,
    PrototypesDisplay,
    ReliabilityDisplay,
)


def shares_of(model, prototype):
    row = model.prototypes_[[prototype]].toarray().ravel()
    return row / row.sum()


def test_profiles_are_the_weighted_means_and_those_of_contrasts(wine):
    _, X, y = wine
    model = IMKPL(n_prototypes=3, max_kernels=4, contrast=True).fit(X, y)
    display = PrototypesDisplay.from_estimator(model, X)
    columns = list(display.names)
    assert_array_equal(columns, X.columns[np.argsort(-model.feature_importances_)][: len(columns)])
    center, spread = X[columns].mean().to_numpy(), X[columns].std(ddof=0).to_numpy()
    for place, (panel, prototype) in enumerate(zip(display.axes_, display.prototypes, strict=True)):
        mean = shares_of(model, prototype) @ X[columns].to_numpy()
        assert_allclose(display.values[place], mean)
        other = model.contrasts_[[prototype]].toarray().ravel()
        other = other / other.sum() @ X[columns].to_numpy()
        contrast, own = (line.get_ydata() for line in panel.lines[:2])
        assert_allclose(own, (mean - center) / spread)
        assert_allclose(contrast, (other - center) / spread)
        n_like, n_unlike = model.prototypes_[[prototype]].nnz, model.contrasts_[[prototype]].nnz
        start = f"class {model.prototype_classes_[prototype]}, #{prototype}\nlike {n_like}"
        assert panel.get_ylabel() == f"{start}, unlike {n_unlike}"
    assert np.all(np.diff(display.owners) >= 0)


def test_effect_curves_are_means_of_scores_with_one_value_exchanged(wine):
    model, X, _ = wine
    display = EffectsDisplay.compute(model, X.iloc[::9], max_features=2)
    for name, grid, scores, data in zip(
        display.names, display.grids, display.scores, display.data, strict=True
    ):
        assert_allclose(data, X[name].iloc[::9])
        for place in (0, 7, len(grid) - 1):
            changed = X.iloc[::9].assign(**{name: grid[place]})
            assert_allclose(scores[place], model.decision_function(changed).mean(axis=0))
    assert display.labels == list(model.classes_)


def test_evidence_and_weights_are_those_of_the_features(wine):
    model, X, _ = wine
    display = EvidenceDisplay.from_estimator(model)
    weights = dict(zip(X.columns, model.feature_importances_, strict=True))
    assert_allclose(display.weights, [weights[name] for name in display.names])
    assert np.all(np.diff(display.weights) <= 0)
    evidence = dict(zip(model.kernel_names_, model.kernel_evidence_, strict=True))
    assert_allclose(display.evidence, [evidence[name] for name in display.names])


def test_reliability_counts_what_happened(wine):
    model, X, y = wine
    display = ReliabilityDisplay.compute(model, X[::2], y[::2])
    chances = model.predict_proba(X[::2])
    own = y[::2, np.newaxis] == model.classes_
    sizes = [one["n"] for one in display.curve]
    assert sum(sizes) == chances.size
    for key, values in (("predicted", chances), ("observed", own)):
        assert np.dot(sizes, [one[key] for one in display.curve]) == pytest.approx(values.sum())
    with pytest.raises(ValueError, match="All samples are of one class"):
        ReliabilityDisplay.compute(model, X[y == "Barolo"], y[y == "Barolo"])


def test_those_that_codes_use_most_are_kept_and_the_rest_is_counted(wine):
    model, X, _ = wine
    display = PrototypesDisplay.from_estimator(model, X, max_prototypes=1, max_features=2)
    use = model.codes_.sum(axis=0)
    for prototype, label in zip(display.prototypes, model.classes_, strict=True):
        members = np.flatnonzero(model.prototype_classes_ == label)
        assert prototype == members[np.argmax(use[members])]
    assert len(display.names) == 2
    whole = model.prototypes_.shape[0]
    assert f"3 of {whole} prototypes" in display.axes_[0].get_title()


def test_samples_that_a_prototype_is_like_and_unlike_are_named_with_their_shares(wine):
    _, X, y = wine
    model = IMKPL(n_prototypes=3, max_kernels=4, contrast=True).fit(X, y)
    display = PrototypesDisplay.from_estimator(model, X)
    labels = [panel.get_ylabel() for panel in display.axes_]
    for place, prototype in enumerate(display.prototypes):
        for mixes, named in (
            (model.prototypes_, display.samples),
            (model.contrasts_, display.unlike),
        ):
            row = mixes[[prototype]]
            expected = dict(zip(X.index[row.indices], row.data / row.sum(), strict=True))
            assert dict(named[place]) == pytest.approx(expected)
        assert labels[place].endswith(f", unlike {row.nnz}")


def test_series_are_drawn_one_by_one_the_wider_the_larger_their_share(series):
    model, X, _ = series
    display = PrototypesDisplay.from_estimator(model, max_prototypes=10)
    assert display.kind == "series"
    assert display.names[0] == "channel 1"
    panels = display.axes_.reshape(len(display.prototypes), len(display.names))
    for row, prototype in zip(panels, display.prototypes, strict=True):
        shares = shares_of(model, prototype)
        order = [i for i in np.argsort(shares, kind="stable") if shares[i] > 0]
        for ax, name in zip(row, display.names, strict=True):
            channel = int(name.removeprefix("channel "))
            n_unlike = len(display.contrasts[list(display.prototypes).index(prototype)])
            lines = ax.lines[n_unlike:]
            drawn = sorted(map(tuple, (line.get_ydata() for line in lines)))
            assert_allclose(drawn, sorted(map(tuple, X[order, channel])))
            widths = [line.get_linewidth() for line in lines]
            assert widths == sorted(widths)


def test_samples_without_features_cannot_be_drawn(wine):
    _, X, y = wine
    K = rbf_kernel(X / X.std())
    model = IMKPL(kernels="precomputed", sparsity=2, n_prototypes=6).fit(K, y)
    with pytest.raises(TypeError, match="read similarities, neither tables nor"):
        PrototypesDisplay.compute(model)


def test_tables_show_means_of_numbers_and_what_their_categories_do():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    numbers, words = rng.normal(4.0 * (y == "b")), np.where(y == "a", "$x$", "y")
    rows = [[float(v), str(w)] for v, w in zip(numbers, words, strict=True)]
    rows[3][0] = rows[40][1] = None
    model = IMKPL("per_column", n_prototypes=2, sparsity=40).fit(rows, y)
    display = PrototypesDisplay.from_estimator(model, rows)
    assert display.names == ["x0"]
    for place, prototype in enumerate(display.prototypes):
        shares = model.prototypes_[[prototype]].toarray().ravel()
        known = [i for i in np.flatnonzero(shares) if rows[i][0] is not None]
        mean = np.average(numbers[known], weights=shares[known])
        assert display.values[place, 0] == pytest.approx(mean)
    effects = EffectsDisplay.from_estimator(model, rows)
    assert effects.grids[effects.names.index("x1")] == ["$x$", "y"]
    assert effects.labels == ["b"]
    cells = [[row[1], "abcdefg"[i % 7]] for i, row in enumerate(rows)]
    words = IMKPL("per_column", n_prototypes=2).fit(cells, y)
    with pytest.raises(TypeError, match="no numeric column"):
        PrototypesDisplay.compute(words)
