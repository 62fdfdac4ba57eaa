import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from imkpl import IMKPL
from imkpl.plots import PrototypesDisplay


def shares_of(model, prototype):
    row = model.prototypes_[[prototype]].toarray().ravel()
    return row / row.sum()


def test_the_heat_map_is_the_weighted_means_with_their_names(wine):
    model, X, _ = wine
    display = PrototypesDisplay.from_estimator(model, X)
    columns = list(display.names)
    assert_array_equal(columns, X.columns[np.argsort(-model.feature_importances_)][: len(columns)])
    means = np.array([shares_of(model, p) @ X[columns].to_numpy() for p in display.prototypes])
    assert_allclose(display.values, means)
    expected = (means - X[columns].mean().to_numpy()) / X[columns].std(ddof=0).to_numpy()
    assert_allclose(display.axes_[0].images[0].get_array(), expected)
    counts = np.diff(model.prototypes_.indptr)
    for label, prototype in zip(
        display.axes_[0].get_yticklabels(), display.prototypes, strict=True
    ):
        start = f"class {model.prototype_classes_[prototype]}, #{prototype} ({counts[prototype]} "
        assert label.get_text().startswith(start)
    assert np.all(np.diff(display.owners) >= 0)


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
    labels = [label.get_text() for label in display.axes_[0].get_yticklabels()]
    for place, prototype in enumerate(display.prototypes):
        for mixes, named in (
            (model.prototypes_, display.samples),
            (model.contrasts_, display.unlike),
        ):
            row = mixes[[prototype]]
            expected = dict(zip(X.index[row.indices], row.data / row.sum(), strict=True))
            assert dict(named[place]) == pytest.approx(expected)
        assert labels[place].endswith(f", unlike {row.nnz})")


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
            drawn = sorted(map(tuple, (line.get_ydata() for line in ax.lines)))
            assert_allclose(drawn, sorted(map(tuple, X[order, channel])))
            widths = [line.get_linewidth() for line in ax.lines]
            assert widths == sorted(widths)


def test_samples_without_features_cannot_be_drawn(wine):
    _, X, y = wine
    K = rbf_kernel(X / X.std())
    model = IMKPL(kernels="precomputed", sparsity=2, n_prototypes=6).fit(K, y)
    with pytest.raises(TypeError, match="read similarities, neither tables nor"):
        PrototypesDisplay.compute(model)


def test_tables_show_means_of_numbers_and_the_most_frequent_category():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    numbers, words = rng.normal(4.0 * (y == "b")), np.where(y == "a", "$x$", "y")
    rows = [[float(v), str(w)] for v, w in zip(numbers, words, strict=True)]
    rows[3][0] = rows[40][1] = None
    model = IMKPL("per_column", n_prototypes=2, sparsity=40).fit(rows, y)
    display = PrototypesDisplay.from_estimator(model, rows)
    number, word = display.names.index("x0"), display.names.index("x1")
    assert np.isnan(display.standardized[:, word]).all()
    for place, prototype in enumerate(display.prototypes):
        shares = model.prototypes_[[prototype]].toarray().ravel()
        known = [i for i in np.flatnonzero(shares) if rows[i][0] is not None]
        mean = np.average(numbers[known], weights=shares[known])
        assert display.values[place, number] == pytest.approx(mean)
        assert display.texts[place][number] == f"{mean:.4g}"
        assert display.texts[place][word].startswith("$x$" if y[known[0]] == "a" else "y")
