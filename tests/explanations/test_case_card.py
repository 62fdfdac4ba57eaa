import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from imkpl import IMKPL
from imkpl.explanations.case_card import ALIKE, _find_span, choose_rows, find_doubts
from imkpl.explanations.show import percent, show_cell, write_side
from imkpl.kernels import GlobalAlignment


@pytest.fixture(scope="session")
def patients():
    """A table with numbers, categories and missing cells, a model, and new rows."""
    rng = np.random.default_rng(0)
    ill = np.repeat([False, True], 60)
    frame = pd.DataFrame(
        {
            "age": (40 + 15 * ill + rng.normal(0, 8, 120)).round(),
            "marker": 1 + 2 * ill + rng.normal(0, 1.2, 120),
            "smoker": np.where(rng.random(120) < 0.25 + 0.5 * ill, "yes", "no"),
        },
        index=[f"P{i}" for i in range(120)],
    )
    frame.loc[rng.random(120) < 0.15, "marker"] = np.nan
    frame.loc[rng.random(120) < 0.1, "smoker"] = None
    y = np.where(ill, "ill", "healthy")
    model = IMKPL(n_prototypes=8, sparsity=3, contrast=True).fit(frame[::2], y[::2])
    return model, frame[1::2]


def read(model, X, rows):
    explanation = model.explain(X)
    return [explanation.card(row).to_dict() for row in rows]


def test_what_is_shown_adds_up_to_the_lead(voters, patients, fitted_two):
    for model, X in (voters, patients, fitted_two):
        explanation = model.explain(X)
        scores = np.sort(explanation.scores, axis=1)
        for row in range(0, len(explanation), 9):
            card = json.loads(json.dumps(explanation.card(row).to_dict()))
            parts = [feature["for"] for feature in card["features"]]
            assert card["lead"] == pytest.approx(scores[row, -1] - scores[row, -2], abs=1e-12)
            total = sum(parts) + sum(one["for"] for one in card["rest"])
            assert total == pytest.approx(card["lead"], abs=1e-10)
            assert_told_alike(explanation, row, card)
            assert parts == sorted(parts, key=lambda part: -abs(part))
            assert card["answer"] == explanation.predicted[row]
            assert card["probability"] == pytest.approx(explanation.probabilities[row].max())
            assert card["supporting"]["prototype"] == explanation.main_prototypes[row]


def draw_tables():
    """Eight tables, one of them with far more features than rows."""
    rng = np.random.default_rng(0)
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        yield IMKPL(n_prototypes=2 * len(set(y))), X[:400], y[:400]
    wide = rng.standard_normal((90, 400))
    wide[:, :60] += 0.9 * (np.arange(90) % 2)[:, np.newaxis]
    yield IMKPL(n_prototypes=6), wide, np.arange(90) % 2
    rare = (np.arange(90) % 5 == 0).astype(int)
    seldom = wide[:, 60:110] + 0.8 * rare[:, np.newaxis]
    yield IMKPL(n_prototypes=8, costs={1: 30.0}), seldom, rare
    X, y = load_breast_cancer(return_X_y=True)
    yield IMKPL(n_prototypes=6, decision="share"), X[:200], y[:200]
    words = np.array(["a", "b", None], dtype=object)[rng.integers(0, 3, 200)]
    mixed = pd.DataFrame(X[:200, :6], columns=list("uvwxyz")).assign(word=words)
    mixed = mixed.mask(rng.random((200, 7)) < 0.2)
    yield IMKPL(n_prototypes=6, contrast=True), mixed, y[:200]


def test_nothing_unnamed_decides():
    """The rest is never the largest row, and features speak for the answer, or it is said."""
    n_against = n_folded = 0
    for model, X, y in draw_tables():
        order = np.random.default_rng(1).permutation(len(y))
        samples = X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]
        explanation = model.fit(samples[40:], y[order][40:]).explain(samples[:40])
        for row in range(len(explanation)):
            card = explanation.card(row)
            if card.doubt == "no evidence":
                continue
            rows = [one["for"] for one in card.features]
            named = [one["for"] for one in card.rest if one["kind"] != "features"]
            hidden = card.lead - sum(rows) - sum(named)
            n_folded += any(one["kind"] == "features" for one in card.rest)
            assert abs(hidden) < max(abs(add) for add in rows + named)
            assert abs(hidden) <= max(0.1 * card.lead, max(abs(add) for add in rows))
            is_against = sum(rows) <= 0
            said = any(note.startswith("The features speak for") for note in card.notes)
            assert said == is_against
            n_against += is_against
            if card.change is not None:
                changed = {one["name"] for one in card.change["features"]}
                assert changed <= {one["name"] for one in card.features}
    assert n_against > 3
    assert n_folded > 100


@given(
    adds=arrays(float, st.integers(1, 40), elements=st.floats(-1, 1)),
    extra=st.floats(-1, 1),
    seed=st.integers(0, 2**16),
)
def test_rows_are_chosen_by_what_they_leave(adds, extra, seed):
    lead, is_needed = adds.sum() + extra, np.random.default_rng(seed).random(adds.size) < 0.1
    if lead <= 1e-6:
        adds, extra, lead = -adds, -extra, -lead
    shown = choose_rows(adds, is_needed, lead, [extra])
    hidden = adds.sum() - adds[shown].sum()
    if len(shown) < adds.size:
        assert abs(hidden) <= 0.1 * lead + 1e-12
        assert abs(hidden) < max(np.abs([*adds[shown], extra])) + 1e-12
    assert set(np.flatnonzero(is_needed)) <= set(shown)
    assert np.abs(adds).argmax() in shown or np.abs(adds).max() in np.abs(adds[shown])
    assert adds.size - len(shown) != 1
    # None of those left out is larger than one that is shown and not needed.
    others = [abs(adds[i]) for i in shown if not is_needed[i]]
    left = np.delete(np.abs(adds), shown)
    assert not others or not left.size or min(others) >= left.max()


def assert_told_alike(explanation, row, card):
    """A card says of the lead what the table of contributions says."""
    winner, runner_up = explanation.winners[row], explanation.runners_up[row]
    table = explanation.feature_contributions()[row]
    by_kernel = table[:, winner] - table[:, runner_up]
    rest = {one["kind"]: one["for"] for one in card["rest"]}
    assert rest.get("bonus", 0.0) == pytest.approx(by_kernel[-2], abs=1e-9)
    assert rest.get("prototypes", 0.0) == pytest.approx(by_kernel[-1], abs=1e-9)
    by_feature = dict(
        zip(
            explanation.comparison.names,
            by_kernel[:-2] @ explanation.comparison.owners,
            strict=True,
        )
    )
    for feature in card["features"]:
        assert feature["for"] == pytest.approx(by_feature[feature["name"]], abs=1e-10)


def test_the_cases_beside_it_are_the_nearest_of_their_prototypes(patients):
    model, X = patients
    nearness = model.predictor_.kernel(model.read_new(X))
    places = {name: place for place, name in enumerate(model.explain(X[:1]).support_ids)}
    rows, unlike = range(0, 60, 7), 0
    for row, card in zip(rows, read(model, X, rows), strict=True):
        for side, label in (("supporting", card["answer"]), ("opposing", card["runner_up"])):
            one = card[side]
            place = model.support_ids_.tolist().index(one["case"])
            assert one["label"] == label == model.support_classes_[place]
            mix = model.prototypes_[[one["prototype"]]]
            assert one["n_cases"] == mix.nnz
            part = mix[[0], [model.support_[place]]][0] / mix.sum()
            assert one["part"] == pytest.approx(part)
            behind = model.predictor_.mixes[[one["prototype"]]].indices
            assert nearness[row, places[one["case"]]] >= nearness[row, behind].max() - 1e-9
            assert 0 < one["share"] <= 1
            contrast = model.predictor_.contrasts[[one["prototype"]]]
            assert (one["unlike"] is None) == (contrast.nnz == 0)
            if one["unlike"] is not None:
                other, unlike = one["unlike"], unlike + 1
                assert other["label"] != label
                assert other["n_cases"] == contrast.nnz
                found = nearness[row, places[other["case"]]]
                assert found >= nearness[row, contrast.indices].max() - 1e-9
                total = contrast.data @ nearness[row, contrast.indices]
                assert other["similarity"] == pytest.approx(total)
            for feature in card["features"]:
                shown, value = feature[side], feature["value"]
                if isinstance(shown, str):
                    assert feature[f"near_{side}"] >= (shown == value)
                elif feature["name"] == "age":
                    ages = [X[:1].assign(age=age) for age in (value, shown)]
                    (alike,) = 1 - measure(model, *ages)[:, 0]
                    assert feature[f"near_{side}"] == (alike >= ALIKE)
    assert unlike > 3


def apply(X, row, change):
    changed = X.iloc[[row]].copy()
    for feature in change["features"]:
        cell = changed[feature["name"]].iloc[0]
        assert cell == feature["from"] or (feature["from"] is None and pd.isna(cell))
        changed[feature["name"]] = feature["to"]
    return changed


def test_the_change_really_changes_the_answer(fitted, patients):
    sizes = set()
    for model, X in (fitted, patients):
        for row, card in enumerate(read(model, X, range(len(X)))):
            if card["change"] is not None:
                sizes.add(len(card["change"]["features"]))
                found = model.predict(apply(X, row, card["change"]))[0]
                assert found == card["change"]["to"] != card["answer"]
    assert sizes == {1, 2}


def test_no_smaller_change_of_one_feature_is_found_by_trying_all(patients):
    model, X = patients
    support = model.support_values_
    names = list(support[0])
    tried = {(name, row[name]) for name in names for row in support if row[name] is not None}
    n_single = 0
    for row in range(0, 60, 6):
        (card,) = read(model, X[row : row + 1], [0])
        options = pd.concat([X.iloc[[row]].assign(**{name: value}) for name, value in tried])
        sizes, answers = measure(model, X.iloc[[row]], options), model.predict(options)
        flips = {
            option: sizes[i, names.index(option[0])]
            for i, option in enumerate(tried)
            if answers[i] != card["answer"]
        }
        change = card["change"]
        assert (change is not None and len(change["features"]) == 1) == bool(flips)
        if flips:
            n_single += 1
            (only,) = change["features"]
            assert flips[only["name"], only["to"]] == pytest.approx(min(flips.values()))
    assert n_single > 3


def measure(model, one, others):
    """How unlike the values of a row those of others are, in the kernels of each column."""
    kernels, weights = model.predictor_.kernels, model.predictor_.weights
    between = kernels.moved_to(model.read_new(others)).cross(model.read_new(one))
    (values,) = between.compare_mixes(np.eye(len(others)))
    owners = np.eye(kernels.input_columns.size)[kernels.kernel_columns] * weights[:, np.newaxis]
    return 1 - values @ owners / owners.sum(axis=0)


def test_doubt_is_said(patients):
    model, X = patients
    explanation = model.explain(X)
    cards = [explanation.card(row) for row in range(len(X))]
    assert {card.doubt for card in cards} >= {"clear", "close"}
    for row, card in enumerate(cards):
        if card.doubt == "clear":
            assert card.runner_up_probability < 0.25
            assert not explanation.is_novel[row]
        if card.doubt == "close":
            is_fragile = "a small change makes it" in card.doubt_text
            assert is_fragile or card.runner_up_probability >= 0.25
            assert f"{card.runner_up_probability:.0%}" in card.doubt_text
        assert ("\n! " in str(card)) == (card.doubt != "clear")
    blank = model.explain(pd.DataFrame([[np.nan, np.nan, None]], columns=X.columns))
    assert blank.card().doubt == "no evidence"
    assert "All that the model reads is missing" in blank.card().doubt_text
    assert len(str(blank.card()).splitlines()) == 2
    assert "dashed" not in blank._repr_html_()
    assert "<table" not in blank._repr_html_()


def test_values_that_training_does_not_have_are_named(patients):
    model, X = patients
    odd = X.iloc[[0]].copy()
    odd["age"], odd["smoker"] = 500.0, "pipe"
    (card,) = read(model, odd, [0])
    expected = {"age": "far above", "smoker": "unseen", "marker": None}
    assert all(one["outside"] == expected[one["name"]] for one in card["features"])
    low, high = model.predictor_.ranges[0]
    assert f"age = 500 is far above all training values ({low:.4g} to {high:.4g})." in card["notes"]
    assert "smoker = pipe did not occur in training." in card["notes"]
    odd["marker"] = np.nan
    (card,) = read(model, odd, [0])
    comparison = model.explain(X).comparison
    share = comparison.weights[comparison.names.index("marker")]
    note = f"Missing, 1 of 3 values that the model reads: marker ({share:.0%} of the weight)."
    assert note in card["notes"]


def test_words_name_the_cases_and_mark_differences(patients):
    model, X = patients
    card = next(card for card in map(model.explain(X).card, range(60)) if card.change is not None)
    text, lines = str(card), str(card).splitlines()
    assert lines[0].startswith(f"Sample {card.case} is {card.answer} (")
    for side, label in ((card.supporting, card.answer), (card.opposing, card.runner_up)):
        like, unlike = write_side(card, side)
        assert f"  For {label}: like case {side['case']}, {', '.join(like)}\n" in text
        assert f"similarity {side['similarity']:.2f}" in like
        assert f"{percent(side['share'])} of the votes" in like
        if side["unlike"] is not None:
            assert f"\n    unlike case {side['unlike']['case']} (" in text
            assert unlike[-1] == f"less {side['unlike']['similarity']:.2f}"
    for one in card.rest:
        is_shown = one["kind"] == "features" or abs(one["for"]) >= 0.0005
        for shown in (text, card._repr_html_()):
            assert (one["name"] in shown) == is_shown
    for feature in card.features:
        line = next(line for line in lines if line.startswith(f"  {feature['name']} "))
        assert f"{abs(feature['for']):.3f}" in line
        n_near = feature["near_supporting"] + feature["near_opposing"]
        assert line.count("\N{NOT EQUAL TO}") == 2 - n_near
        assert ("\N{FULL BLOCK}" in line) <= (feature["for"] > 0)
        assert ("\N{MEDIUM SHADE}" in line) <= (feature["for"] < 0)
    assert f"It would be {card.change['to']} if " in text
    assert repr(card) == f"CaseCard({card.case}: {card.answer}, {card.doubt})"


def test_a_notebook_shows_names_as_they_are_and_never_as_markup():
    bad = "<img src=x onerror=alert(1)>"
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :3].rename(columns={"alcohol": bad}).assign(kind=[bad, "b"] * 89)
    X.index = [f"{bad}{i}" for i in range(178)]
    labels = np.array([bad, "&amp;", "c"])[y]
    explanation = IMKPL(n_prototypes=6).fit(X, labels).explain(X[:5])
    page = explanation._repr_html_()
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert page.count("border-left:5px") == 3
    assert "2 more: see card(index)" in page
    assert not any(word in page for word in ("<script", "<link", "http", "url("))


def test_a_series_says_when_it_decides():
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((30, 2, 40))
    X[15:, 1, 18:24] += 3
    model = IMKPL("global_alignment", n_prototypes=4, sparsity=3).fit(
        X, np.repeat(["flat", "bump"], 15)
    )
    card = model.explain(X[20:21]).card()
    series = json.loads(json.dumps(card.to_dict()))["series"]
    assert sum(series["shares"]) == pytest.approx(1)
    assert 14 <= series["from"] <= 19
    assert 22 <= series["to"] <= 27
    assert len(series["times"]) == len(series["aligned"]) == len(series["shares"])
    assert np.all(np.diff(series["aligned"]) >= 0)
    assert_allclose(series["values"], X[20, 1])
    assert_allclose(series["supporting"], X[int(card.supporting["case"]), 1])
    where = f"steps {series['from']} to {series['to']} of channel 1"
    assert f" mostly in {where}" in str(card)
    assert f"Decides mostly in {where}" in card._repr_html_()
    assert "<svg" in card._repr_html_()
    X[20, 1, 5:9] = np.nan
    card = model.explain(X[20:21]).card()
    assert card.series["values"][4:10].count(None) == 4
    assert "this case" in str(card)
    assert "nan" not in card._repr_html_()


def draw_bumps(seed, n=80, n_steps=90):
    """Noise in two channels, in every second series with a bump somewhere in one of them."""
    rng = np.random.default_rng(seed)
    X, y = 0.3 * rng.standard_normal((n, 2, n_steps)), np.arange(n) % 2
    starts, size, channel = rng.integers(2, n_steps - 18, n), rng.integers(10, 17), rng.integers(2)
    for row in np.flatnonzero(y):
        bump = 2.0 * np.sin(np.linspace(0, np.pi, size))
        X[row, channel, starts[row] : starts[row] + size] += bump
    return X, y, starts, size


def test_the_stretch_of_a_card_covers_bumps_at_random_places():
    """In nine of ten cases at least their inner half; a random stretch as long hardly ever."""
    rng, n_cases, covered, by_chance = np.random.default_rng(0), 0, 0, 0
    for seed in range(4):
        X, y, starts, size = draw_bumps(seed)
        model = IMKPL(n_prototypes=2, contrast=True).fit(X[:50], y[:50])
        assert model.predictor_.kernels.is_located.all()
        for row in 50 + np.flatnonzero(y[50:]):
            found = model.explain(X[row : row + 1]).card().series
            inner = starts[row] + size // 4, starts[row] + size - 1 - size // 4
            length = found["to"] - found["from"]
            other = rng.integers(0, X.shape[2] - length)
            n_cases += 1
            covered += found["from"] <= inner[0] and found["to"] >= inner[1]
            by_chance += other <= inner[0] and other + length >= inner[1]
            assert length < 3 * size
    assert covered >= 0.9 * n_cases
    assert by_chance < 0.2 * n_cases


def test_a_summary_says_what():
    rng = np.random.default_rng(0)
    X, y = 0.3 * rng.standard_normal((30, 2, 20)), np.repeat([0, 1], 15)
    X[15:, 1] += 3
    level = IMKPL(GlobalAlignment(views=("level",)), n_prototypes=4).fit(X, y)
    card = level.explain(X[20:21]).card(0)
    assert card.series["summary"] == "level"
    assert (card.series["from"], card.series["to"]) == (None, None)
    assert "over the whole length of channel 1 (level)" in str(card)
    assert "over the whole length of channel 1 (level)" in card._repr_html_()
    assert "<rect" not in card._repr_html_()
    assert "alike in level" in str(card)
    assert "at the same part of the time" in card._repr_html_()
    gains = np.array([0.1, -0.2, 0.1, 0.0, 0.9, 0.8, 1.1, 0.7, -0.1, 0.1, 0.2, -0.3])
    assert _find_span(gains) == (3, 8)
    assert _find_span(np.zeros(4)) == (0, 0)


def test_numbers_are_written_as_people_read_them():
    cells = [show_cell(value) for value in (15.1412, 12345.6, "f", True, None)]
    assert cells == ["15.14", "12346", "f", "yes", "missing"]
    written = [show_cell(value) for value in (1184.5, 121.35, -0.0179, 15.0, 1.66, 1e-5, 2.5e11)]
    assert written == ["1184.5", "121.35", "-0.0179", "15", "1.66", "1e-05", "2.5e+11"]
    shares = [percent(share) for share in (0.0, 0.001, 0.62, 0.998)]
    assert shares == ["0%", "less than 1%", "62%", "over 99%"]


def test_samples_are_shown_by_a_function_of_the_user(patients, voters):
    model, X = patients
    shown = [f"{age:.0f} <years>" for age in X["age"]]
    card = model.explain(X, render=lambda row: f"{row['age']:.0f} <years>")[2].card()
    assert card.pictures["case"] == shown[2]
    assert set(card.to_dict()["pictures"]) == {"case", "supporting", "opposing"}
    assert f"  case: {shown[2]}" in str(card)
    assert shown[2].replace("<", "&lt;").replace(">", "&gt;") in card._repr_html_()
    image = model.explain(X, render=lambda row: b"\x89PNG123").card()
    assert 'src="data:image/png;base64,iVBORzEyMw=="' in image._repr_html_()
    drawing = SimpleNamespace(_repr_svg_=lambda: "<svg></svg>")
    assert "<svg></svg>" in model.explain(X, render=lambda row: drawing).card()._repr_html_()
    assert "<i>" in model.explain(X, render=lambda row: "<i>drawn</i>").card()._repr_html_()
    # Samples of other kinds are given as they are, and by name if only similarities are known.
    model, X = voters
    explanation, given = model.explain(X, render=lambda sample: given.append(sample)), []
    explanation.card(1)
    if model.predictor_.kernels.input_kind == "similarities":
        assert given[0] == 1
    elif explanation.cells(0) is None:
        assert_allclose(np.asarray(given[0]), X[1])
    else:
        assert set(given[0]) >= {one["name"] for one in explanation.card(1).features}


def test_doubts_of_all_cases_are_those_of_their_cards(patients, voters):
    for model, X in (patients, voters):
        if isinstance(X, pd.DataFrame):
            X = X.copy()
            X.iloc[0] = None
            X.iloc[1, 0] = 1e6
        explanation = model.explain(X)
        found = find_doubts(explanation, explanation.comparison)
        assert found.tolist() == [explanation.card(row).doubt for row in range(len(explanation))]
