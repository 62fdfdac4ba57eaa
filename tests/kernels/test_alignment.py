"""Global alignment kernels: laws, the recursion against its twins, tables, expected alignments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl._progress import listening
from imkpl._threads import limited_threads
from imkpl.kernels import GlobalAlignment, alignment
from imkpl.kernels.alignment import (
    SeriesKernels,
    align_cross,
    align_pairs,
    expected_alignment,
    find_self_similarities,
    split_losses,
)
from imkpl.kernels.forms import Form
from imkpl.series import VIEWS, SeriesSet
from reference.alignment import (
    alignment_kernel,
    alignment_stack,
    all_alignments,
    log_alignment,
    log_local,
    log_long_alignment,
)

# Lengths below, at and above those of a tile; more series than lanes.
LENGTHS = [5, 1, 9, 40, 33, 7, 12, 20, 64, 17, 16, 5, 6, 32, 8, 9, 10, 11, 35]


def random_series(rng, lengths, n_channels=3, missing=0.1):
    arrays = []
    for length in lengths:
        values = rng.standard_normal((n_channels, length)).cumsum(axis=1)
        is_missing = rng.random(values.shape) < missing
        is_missing[:, 0] = False
        values[is_missing] = np.nan
        arrays.append(values)
    return SeriesSet.from_list(arrays)


def widths_of(kernels):
    return [kernel.rate**-2 for kernel in kernels.each]


def scaled(*arrays):
    """One channel, local kernel exp(-(x - y)**2)."""
    return SeriesSet.from_list([np.asarray(a, dtype=np.float64)[np.newaxis] for a in arrays])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"length": None},
        {"length": 7, "views": ("values", "differences")},
        {"length": None, "scales": (0.1, 1.0), "views": ("values", "differences")},
        {"length": None, "groups": {"a": [0, 2], "b": [1]}},
        {"length": None, "views": ("level", "patterns"), "groups": {"a": [1]}},
        {"length": 9, "views": ("spectrum", "trend"), "groups": {"a": [0, 2]}},
        {"length": 9, "views": ("values", "spread"), "groups": "weighed", "scales": (0.5, 2.0)},
    ],
)
def test_the_laws_of_banks_hold(rng, settings):
    lengths = LENGTHS if len(settings) < 3 else LENGTHS[:7]
    X, Y = random_series(rng, lengths), random_series(rng, [4, 6, 50])
    bank = GlobalAlignment(**settings)
    kernels = bank.on(X)
    check_bank(bank, X, Y, lambda A, B: alignment_stack(kernels, A, B))


@pytest.mark.parametrize("weights", [[1.0, 0.0, 0.0], [0.2, 0.0, 0.8], [0.5, 0.3, 0.2]])
def test_weighed_channels_add_up_their_distances(rng, weights):
    X = random_series(rng, [9] * 8)
    views = ("level", "distribution", "patterns")
    each = GlobalAlignment(views=views, length=9).on(X)
    bank = GlobalAlignment(views=views, length=9, groups="weighed")
    kernels = bank.weighed(np.array(weights)).on(X)

    def distances(values):
        return -np.log(2 * values / (1 + values))

    for index in range(kernels.n_kernels):
        channels = [distances(each.evaluate(3 * index + c)) for c in range(3)]
        expected = np.tensordot(weights, channels, axes=1)
        assert_allclose(distances(kernels.evaluate(index)), expected, atol=1e-10)
    assert_allclose(kernels.share_out(np.array([0.5, 0.0, 1.5]), 3), 2 * np.array(weights))
    assert_array_equal(kernels.input_columns, np.flatnonzero(weights))


def test_a_weighed_channel_alone_is_aligned_as_ever(rng):
    X = random_series(rng, LENGTHS[:8])
    settings = {"scales": (0.2, 1.0), "views": ("values", "differences"), "length": 12}
    alone = GlobalAlignment(groups="weighed", channel_weights=[0.0, 1.0, 0.0], **settings).on(X)
    each = GlobalAlignment(**settings).on(X)
    assert alone.kernel_names() == [name for name in each.kernel_names() if "channel 1" in name]
    own = np.flatnonzero(each.kernel_columns == 1)
    for index, kernel in enumerate(own):
        assert_allclose(alone.evaluate(index), each.evaluate(kernel), atol=1e-12)


def test_channels_are_weighed_by_a_mean_of_views_for_each(rng):
    X = random_series(rng, LENGTHS[:5])
    bank = GlobalAlignment(groups="weighed", scales=(0.2, 1.0, 5.0), views=("values", "level"))
    each, means = GlobalAlignment(views=("values", "level")).on(X), bank.by_channel(3).on(X)
    for channel in range(3):
        expected = (each.evaluate(channel) + each.evaluate(3 + channel)) / 2
        assert_allclose(means.evaluate(channel), expected, rtol=1e-12)
    assert bank.by_channel(1) is None
    assert bank.weighed(np.ones(3)).by_channel(3) is None
    assert GlobalAlignment().by_channel(3) is None


def test_what_similarities_lack_is_shared_among_channels(rng):
    X = random_series(rng, [9] * 6, missing=0.0)
    kernels = GlobalAlignment(views=("differences", "level"), groups="weighed").on(X)
    for index in range(2):
        parts = split_losses(kernels, index, X[:1], X)
        assert parts.shape == (6, 3)
        assert np.all(parts >= 0)
        assert_allclose(parts.sum(axis=1), 1 - kernels.evaluate(index)[0], atol=1e-12)
        # The only channel that differs has nearly all of it; alignments change with it.
        other = X[0].copy()
        other[2] += np.arange(9)
        (parts,) = split_losses(kernels, index, X[:1], SeriesSet.from_list([other]))
        assert parts[2] > 0.9 * parts.sum() > 0.01


def test_the_recursion_sums_over_all_alignments(rng):
    x, y = rng.standard_normal((2, 5)), rng.standard_normal((2, 4))

    def kernel(a, b):
        local = np.exp(log_local(a, b, 1.0))
        paths = all_alignments(a.shape[1], b.shape[1])
        return sum(np.prod([local[cell] for cell in path]) for path in paths)

    expected = kernel(x, y) / np.sqrt(kernel(x, x) * kernel(y, y))
    pair = SeriesSet.from_list([x, y])
    assert_allclose(align_cross(pair, pair)[0, 1], expected, rtol=1e-13)


@pytest.mark.parametrize("bandwidth", [0.1, 30.0, 4000.0])
def test_long_series_agree_with_log_space(rng, bandwidth):
    times = np.linspace(0, 1, 600)
    arrays = [
        np.zeros(600),
        np.ones(600),
        rng.standard_normal(600),
        np.sin(40 * times),
        np.sin(40 * times**1.5),
        # A level of its own for 150 steps, and an outlier that no step of another series is near.
        np.where(times < 0.25, 8.0, np.sin(40 * times)),
        np.where(np.arange(600) == 350, 1e9, 0.0),
        np.sin(40 * times[:75]),
        [0.5],
    ]
    series = scaled(*(np.asarray(a) / np.sqrt(bandwidth) for a in arrays))
    found = align_cross(series, series)
    assert np.all((found >= 0) & (found <= 1))
    assert_allclose(np.diag(found), 1.0, rtol=1e-15)
    norms = [log_alignment(log_local(one, one, 1.0)) for one in series]
    for i, j in [(0, 1), (0, 2), (2, 3), (3, 4), (4, 5), (0, 6), (3, 7), (7, 8)]:
        cross = log_alignment(log_local(series[i], series[j], 1.0))
        expected = np.exp(cross - (norms[i] + norms[j]) / 2)
        assert_allclose(found[i, j], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [0.02, 0.04, 0.3])
def test_every_level_and_reach_agrees_with_log_space(rng, size, monkeypatch):
    arrays = [size * rng.standard_normal(length).cumsum() / 8 for length in (150, 150, 140, 90, 30)]
    series = scaled(*arrays, 3 * size * rng.standard_normal(150))
    pairs = np.arange(6).repeat(6), np.tile(np.arange(6), 6)
    assert np.ptp(alignment._find_levels(series, series, *pairs)) > 0
    norms = find_self_similarities(series)
    assert np.any(norms.reaches > 0)
    assert norms.reaches[4] == 0
    found = align_cross(series, series)
    expected = [[alignment_kernel(x, y, 1.0) for y in series] for x in series]
    assert_allclose(found, expected, rtol=0, atol=1e-12)
    # Without a reach: what is beyond it is less than 1e-13.
    monkeypatch.setattr(alignment, "MOST_BELOW", 1e9)
    assert_allclose(found, align_cross(series, series), rtol=0, atol=2e-13)


def test_two_thousand_steps_agree_with_log_space(rng):
    walk = rng.standard_normal(2000).cumsum() / 1200
    noise = rng.standard_normal(2000) / 60
    arrays = [np.zeros(2000), np.full(2000, 0.01), noise, walk, walk[600:1800]]
    series = scaled(*arrays)
    norms = find_self_similarities(series)
    # Identical, constant, unrelated, and of unequal lengths.
    rows, columns = np.array([3, 0, 2, 3]), np.array([3, 1, 3, 4])
    found = align_pairs(series, series, rows, columns, (norms, norms))
    assert np.all((found >= 0) & (found <= 1))
    own = {i: log_long_alignment(arrays[i], arrays[i]) for i in (0, 2, 3, 4)}
    # All constant series have the same local kernels with themselves.
    own[1] = own[0]
    for value, i, j in zip(found, rows, columns, strict=True):
        cross = own[i] if i == j else log_long_alignment(arrays[i], arrays[j])
        # Small and large parts of the logarithms apart, for the digits.
        parts = [c - (a + b) / 2 for c, a, b in zip(cross, own[i], own[j], strict=True)]
        # Series of unequal lengths have 1e-100 or so: its digits are compared as well.
        assert_allclose(value, np.exp(sum(parts)), rtol=1e-9)


@pytest.mark.threads
def test_results_do_not_depend_on_threads_or_on_the_grouping_of_pairs(rng):
    series = random_series(rng, [*LENGTHS, 100, 130, 90] * 2, 2, 0.0)
    n = len(series)
    # Some pairs are near and some are not; some have a reach.
    sizes = np.repeat(rng.choice([0.01, 0.2], n), series.lengths)
    series = SeriesSet(series.values * sizes, series.starts)
    norms = find_self_similarities(series)
    rows, columns = (part.ravel() for part in np.mgrid[:n, :n])
    whole = align_pairs(series, series, rows, columns, (norms, norms))
    few = rng.permutation(n * n)[:40]
    part = align_pairs(series, series, rows[few], columns[few], (norms, norms))
    assert_array_equal(part, whole[few])
    with limited_threads(1):
        assert_array_equal(align_cross(series, series).ravel(), whole)


def test_a_missing_step_is_left_out():
    with_gap = SeriesSet.from_list([[[0.0, np.nan, 2.0, 1.0]], [[1.0, 0.0, 2.0, 2.0]]])
    without = SeriesSet.from_list([[[0.0, 2.0, 1.0]], [[1.0, 0.0, 2.0, 2.0]]])
    kernels = GlobalAlignment(length=None).on(without)
    assert_array_equal(kernels.cross(with_gap).evaluate(0), kernels.cross(without).evaluate(0))


def test_bandwidth_is_the_mean_squared_difference_times_the_length(rng):
    X = random_series(rng, [6, 6, 6, 6], 2, 0.0)
    kernels = GlobalAlignment(scales=(1.0, 0.5)).on(X)
    steps = X.values[0]
    expected = 6 * np.mean((steps[:, None] - steps) ** 2)
    assert_allclose(widths_of(kernels)[:2], [expected, expected / 2], rtol=1e-12)
    group = GlobalAlignment(groups={"g": [0, 1]}).on(X)
    assert_allclose(widths_of(group)[0], widths_of(kernels)[0] + widths_of(kernels)[2], rtol=1e-12)


def test_a_constant_channel_is_the_constant_kernel(rng):
    X = random_series(rng, [5, 9, 14, 6], 2, 0.0)
    flat = SeriesSet(np.stack([X.values[0], np.full(X.values.shape[1], 7.0)]), X.starts)
    kernels = GlobalAlignment(length=None, views=("values", "differences")).on(flat)
    assert_array_equal(kernels.evaluate(1), 1.0)
    assert_array_equal(kernels.cross(X).evaluate(3), 1.0)
    assert kernels.each[1].rate == 0


def test_lengths_are_made_equal_where_they_differ_much(rng):
    assert GlobalAlignment().on(random_series(rng, [99, 100, 101])).length is None
    assert GlobalAlignment().on(random_series(rng, [60, 100, 140])).length == 100
    X = random_series(rng, [60, 100, 140])
    assert GlobalAlignment(length=None).on(X).length is None
    assert GlobalAlignment(length=30).on(X).length == 30


def test_names_tell_channel_view_and_width(rng):
    X = random_series(rng, [4, 5], 2)
    named = SeriesSet(X.values, X.starts, ("u", "v"))
    kernels = GlobalAlignment(scales=(1.0, 0.5), views=("values", "differences")).on(named)
    assert kernels.kernel_names()[:2] == ["u (width x1)", "u (width x0.5)"]
    assert kernels.kernel_names(["a", "b"])[-1] == "b (differences, width x0.5)"
    assert GlobalAlignment().on(X).kernel_names() == ["channel 0", "channel 1"]
    group = GlobalAlignment(groups={"hand": ["v", "u"]}).on(named)
    assert group.kernel_names(["a", "b"]) == ["hand"]
    assert group.kernel_columns is None
    assert_array_equal(kernels.kernel_columns, [0, 0, 1, 1, 0, 0, 1, 1])


def test_kept_kernels_know_their_channels_among_all(rng):
    X = random_series(rng, [4, 5])
    for groups, inputs, names in ((None, [2], ["z"]), ({"g": [2, 0]}, [0, 2], ["g"])):
        kernels = GlobalAlignment(groups=groups).on(X)
        narrow = kernels.select([kernels.n_kernels - 1]).narrowed()
        assert narrow.samples.n_channels == len(inputs)
        assert_array_equal(narrow.input_columns, inputs)
        assert narrow.channel_names == [f"channel {channel}" for channel in inputs]
        assert narrow.kernel_names(["x", "y", "z"]) == names
        shares = np.isin(np.arange(3), inputs) * 6.0 / len(inputs)
        assert_array_equal(narrow.share_out(np.array([6.0]), 3), shares)
        assert_array_equal(narrow.cross(X).narrowed().evaluate(0), narrow.cross(X).evaluate(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scales": ()}, "tuple of positive"),
        ({"scales": (0.0,)}, "tuple of positive"),
        ({"length": 0}, "positive whole"),
        ({"length": "always"}, "'auto'"),
        ({"length": True}, "positive whole"),
        ({"groups": {}}, "with at least one"),
        ({"views": "values"}, "must be a tuple of different names among values, differences"),
        ({"views": ("values", "mood")}, "must be a tuple of different names"),
        ({"views": ()}, "must be a tuple of different names"),
        ({"groups": "all"}, "must be 'weighed' or a mapping"),
        ({"channel_weights": [1.0, 1.0]}, "need groups='weighed'"),
    ],
)
def test_bad_settings_are_explained(settings, message):
    with pytest.raises(ValueError, match=message):
        GlobalAlignment(**settings)


def test_bad_samples_are_explained(rng):
    X = random_series(rng, [4, 5], 2)
    with pytest.raises(ValueError, match="channels \\[0, 2\\]"):
        GlobalAlignment(groups={"a": [0, 2]}).on(X)
    with pytest.raises(ValueError, match="Group 'a'"):
        GlobalAlignment(groups={"a": ["u"]}).on(X)
    with pytest.raises(ValueError, match=r"values up to .* expected at most 1e\+150"):
        GlobalAlignment().on(SeriesSet(X.values * 1e200, X.starts))
    for weights in ([1, 1, 1], [1, -1], [0, 0]):
        with pytest.raises(ValueError, match="must be 2 numbers of at least 0, one per channel"):
            GlobalAlignment(groups="weighed").weighed(np.array(weights)).on(X)
    kernels = GlobalAlignment().on(X)
    for some in (kernels, kernels.select([1]).narrowed()):
        with pytest.raises(ValueError, match="reads channel 1"):
            some.cross(X[:, [0]])
    for length in (None, 3):
        gap = SeriesSet.from_list([[[1.0, np.nan], [1.0, 2.0]], [[np.nan, np.nan], [1.0, 2.0]]])
        with pytest.raises(ValueError, match="Series 1 has no values in channel 0"):
            GlobalAlignment(length=length).on(gap)


def test_new_series_have_the_channels_of_the_training_part(rng):
    X = random_series(rng, [4, 5], 2)
    samples, form = SeriesKernels.read(SeriesSet(X.values, X.starts, ("u", "v")), Form("Model"))
    assert samples == SeriesSet(X.values, X.starts, ("u", "v"))
    assert form.n_channels == form.n_features == 2
    assert SeriesKernels.read(X.to_padded(), form)[0] == X
    with pytest.raises(ValueError, match="have 1 channels, but Model was fitted to 2"):
        SeriesKernels.read(X[:, [0]], form)
    with pytest.raises(ValueError, match="are named v, u, expected u, v"):
        SeriesKernels.read(samples[:, [1, 0]], form)


def test_equal_series_are_found(rng):
    X = random_series(rng, [4, 5, 4], 2)
    twice = X[[2, 0, 1, 0, 2]]
    # Another of the many NaN.
    values = np.where(np.isnan(twice.values), -np.float64(np.nan), twice.values)
    rows, labels = np.array([4, 3, 2, 1, 0]), np.array([0, 0, 0, 0, 1])
    first, groups = SeriesKernels.find_equal(SeriesSet(values, twice.starts), rows, labels)
    assert sorted(first) == [0, 1, 2, 4]
    assert groups[1] == groups[3]
    keys = GlobalAlignment().on(twice).keys()
    assert [keys.index(key) for key in keys] == [0, 1, 2, 1, 0]


def test_a_table_holds_the_values_of_all_pairs(rng, monkeypatch):
    arrays = [rng.standard_normal((2, length)).cumsum(axis=1) for length in (5, 9, 12, 6, 9, 7, 11)]
    kernels = GlobalAlignment().on(arrays)
    whole, told = kernels.tabulated(), []
    assert_array_equal(whole.evaluate(1), kernels.evaluate(1))
    monkeypatch.setattr(alignment, "BLOCK_PAIRS", 3)
    assert_array_equal(kernels.tabulated().table, whole.table)
    monkeypatch.setattr(alignment, "BLOCK_CELLS", 200)
    with listening(told.append):
        assert_array_equal(kernels.tabulated().table, whole.table)
    shares = [progress.done / progress.total for progress in told]
    assert len(shares) > 4
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


# The expected alignment is the gradient of the log kernel


@pytest.fixture
def pair(rng):
    return rng.standard_normal((2, 6)), rng.standard_normal((2, 8))


def test_visits_are_the_gradient_by_finite_differences(pair):
    x, y = pair
    kernels = GlobalAlignment(length=None, groups={"both": [0, 1]}).on([x, y])
    local = log_local(x, y, widths_of(kernels)[0])
    gradient, step = np.zeros(local.shape), 1e-5
    for cell in np.ndindex(local.shape):
        change = np.zeros(local.shape)
        change[cell] = step
        rise = log_alignment(local + change) - log_alignment(local - change)
        gradient[cell] = rise / (2 * step)
    found = expected_alignment(kernels, 0, x, y)
    assert_allclose(found.visits, gradient, atol=1e-8)
    assert_allclose(found.similarity, kernels.evaluate(0)[0, 1], rtol=1e-14)


def test_two_thousand_unlike_steps_are_safe(rng):
    x, y = rng.standard_normal((1, 2000)), rng.standard_normal((1, 1500)) + 30
    kernels = GlobalAlignment(scales=(1e-4,), length=None).on([x, y])
    found = expected_alignment(kernels, 0, x, y)
    assert np.all(np.isfinite(found.visits))
    assert_allclose(found.visits[-1, -1], 1.0)
    assert found.visits.sum(axis=1).min() > 1 - 1e-9


def test_agreement_shows_where_series_differ(rng):
    x = np.sin(np.arange(40) / 4)[np.newaxis]
    y = x.copy()
    y[0, 20:25] += 3
    kernels = GlobalAlignment().on([x, y, rng.standard_normal((1, 40))])
    found = expected_alignment(kernels, 0, x, y)
    assert 20 <= np.argmin(found.y_agreement) < 25
    assert found.x_agreement[:10].min() > found.y_agreement[20:25].max()
    assert np.all((found.x_agreement >= 0) & (found.x_agreement <= 1))


def test_times_are_those_of_the_given_series():
    x = np.array([[0.0, np.nan, 2.0, 4.0]])
    y = np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    raw = GlobalAlignment(length=None, views=("values", "differences")).on([x, y])
    assert_array_equal(expected_alignment(raw, 0, x, y).x_times, [0, 2, 3])
    assert_array_equal(expected_alignment(raw, 1, x, y).x_times, [1, 2.5])
    even = GlobalAlignment(length=4).on([x, y])
    assert_array_equal(expected_alignment(even, 0, x, y).y_times, [0, 2, 4, 6])
    one = GlobalAlignment(length=1).on([x, y])
    assert_array_equal(expected_alignment(one, 0, x, y).y_times, [3])


def test_a_bad_pair_is_explained(pair):
    x, y = pair
    kernels = GlobalAlignment().on([x, y])
    with pytest.raises(IndexError, match="out of bounds"):
        expected_alignment(kernels, 2, x, y)
    with pytest.raises(ValueError, match=r"Series 0 .* has shape \(6,\)"):
        expected_alignment(kernels, 0, x[0], y)
    with pytest.raises(ValueError, match="1 channels, but a kernel reads channel 1"):
        expected_alignment(kernels, 1, x[:1], y[:1])


def test_no_view_depends_on_the_units_of_a_channel(rng):
    X = rng.standard_normal((9, 2, 30)).cumsum(axis=2)
    bank = GlobalAlignment(views=VIEWS)
    here, there = bank.on(X), bank.on(1000 * X + 5)
    for index in range(here.n_kernels):
        assert_allclose(here.evaluate(index), there.evaluate(index), rtol=1e-6, atol=1e-9)


def test_series_of_a_single_step_have_all_views():
    single = SeriesSet.from_list([[[3.0]], [[5.0]]])
    values = GlobalAlignment(length=None, views=VIEWS).on(single).pairs([0], [1])
    assert np.all((values > 0) & (values <= 1))
