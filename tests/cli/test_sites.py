"""Sites that are left out in turn, and rows that are held out because they are later."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPL
from imkpl.readers import ReadOptions, read_training_file
from imkpl.report import sites as sites_module
from imkpl.report import summarize
from imkpl.report.sites import measure_sites

FIT = ("--prototypes", 4, "--repeats", 1)
CLINICS = np.array(["north", "south", "east", "west"])


def draw(kind="plain", n=120, seed=0):
    """Column a tells the class at all clinics; what b tells depends on the kind of table."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=list("abc"))
    clinic, y = CLINICS[np.arange(n) % 4], np.where(rng.random(n) < 0.5, "ill", "well")
    frame["a"] += 2.2 * (y == "ill")
    if kind == "flip":
        frame["b"] += 2.5 * np.where(y == "ill", 1, -1) * np.where(clinic == "west", -1, 1)
    if kind == "mark":
        frame["a"] += 6 * (clinic == "north")
    return frame.assign(clinic=clinic, visit=2018 + 8 * np.arange(n) // n, y=y)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    for kind in ("plain", "flip", "mark"):
        draw(kind).to_csv(folder / f"{kind}.csv", index=False)
    return folder


def ask_sites(shell, path, *more):
    words = ("fit", path, "--site", "clinic", "--drop", "visit", *FIT)
    return shell.ask(*words, *more)["provenance"]["sites"]


def test_a_site_where_a_feature_means_the_opposite_is_named(shell, tables):
    found = ask_sites(shell, tables / "flip.csv")
    by_site = {one["site"]: one for one in found["left_out"]}
    west = by_site.pop("west")
    assert (west["rows"], west["independent"]) == (30, 30)
    assert west["interval"][1] < west["pooled"]["accuracy"] - 0.2
    assert west["is_below"]
    assert west["pooled"]["rows"] == 30
    assert 0 < west["baseline"]["accuracy"] < 1
    # At the others, knowing the site adds nothing.
    for one in by_site.values():
        assert not one["is_below"]
        assert one["accuracy"] > one["baseline"]["accuracy"] + 0.1
        assert one["auc"] > 0.85
    assert [text for text in found["warnings"] if text.startswith("At site ")] == [
        f"At site west, a model of the other sites is right for {100 * west['accuracy']:.0f}% "
        f"(95% interval {100 * west['interval'][0]:.0f}% to {100 * west['interval'][1]:.0f}%); "
        f"models that know the site are right for {100 * west['pooled']['accuracy']:.0f}%."
    ]


def test_sites_that_are_alike_are_not_worth_a_look(shell, tables):
    found = ask_sites(shell, tables / "plain.csv")
    assert found["warnings"] == found["prototypes"] == []
    assert (found["column"], found["n_sites"], found["note"]) == ("clinic", 4, "")
    assert found["told"]["interval"][0] <= found["told"]["control"]
    for one in found["left_out"]:
        assert abs(one["accuracy"] - one["pooled"]["accuracy"]) < 0.15


def test_features_that_give_the_site_away_and_prototypes_of_one_site(shell, tables, tmp_path):
    page, model = tmp_path / "page.html", tmp_path / "m.imkpl"
    words = ("fit", tables / "mark.csv", "--site", "clinic", "--drop", "visit", "--prototypes", 4)
    shown = shell(*words, "--report", page, "--model", model).stdout
    found = shell.ask("inspect", model)["provenance"]["sites"]
    assert found["told"]["interval"][0] > found["told"]["control"] + 0.02
    assert found["prototypes"][0]["site"] == "north"
    assert found["prototypes"][0]["share"] < 0.5
    # The same sentences and numbers everywhere.
    north = next(one for one in found["left_out"] if one["site"] == "north")
    texts = [*found["warnings"], found["told"]["text"], found["prototypes"][0]["text"]]
    inspected, card = shell("inspect", model).stdout, shell("card", model).stdout
    for text in texts:
        for said in (shown, inspected, card, page.read_text()):
            assert text in said
    percents = [f"{100 * north[key]['accuracy']:.1f}" for key in ("pooled", "baseline")]
    for percent in (f"{100 * north['accuracy']:.1f}", *percents):
        assert f"{percent}%" in shown
        assert f"{percent}%" in inspected
        assert f"{percent}%" in card
        assert f"{percent}%" in page.read_text()


def test_persons_count_once_and_are_never_on_both_sides(shell, tables, tmp_path):
    frame = draw().drop(columns="visit")
    # Whoever is seen in the north is seen in the south on the next day.
    frame["patient"] = np.where(np.isin(frame["clinic"], ["north", "south"]), frame.index // 4, -1)
    frame.loc[frame["patient"] < 0, "patient"] = 100 + np.arange((frame["patient"] < 0).sum()) // 2
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ("fit", tmp_path / "a.csv", "--site", "clinic", "--group", "patient")
    words = (*words, "--prototypes", 4)
    answer = shell.ask(*words)["provenance"]
    independent = {one["site"]: one["independent"] for one in answer["sites"]["left_out"]}
    assert independent == {"north": 30, "south": 30, "east": 30, "west": 30}
    frame = frame[np.isin(frame["clinic"], ["north", "south"])]
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = shell.ask(*words)["provenance"]["sites"]["left_out"]
    assert found[0]["why_absent"] == "No other site has new cases of ill, well."
    assert found[0]["accuracy"] is None


def test_a_class_of_one_site_alone_and_a_row_without_one(shell, tables, tmp_path):
    frame = draw().drop(columns="visit")
    frame.loc[frame["clinic"] == "east", "y"] = "odd"
    frame.loc[frame.index[frame["clinic"] == "south"][:5], "clinic"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    result = shell("fit", tmp_path / "a.csv", "--site", "clinic", "--prototypes", 4)
    assert "(--site): 5 rows without one count as site 'missing'." in result.stderr
    assert "east: No other site has new cases of odd." in result.stdout
    assert "missing      5" in result.stdout


def test_of_many_sites_the_largest_are_left_out(shell, tmp_path, monkeypatch):
    monkeypatch.setattr(sites_module, "MOST_SITES", 2)
    frame = draw().drop(columns="visit")
    frame.loc[:20, "clinic"] = "south"
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ("fit", tmp_path / "a.csv", "--site", "clinic", "--prototypes", 4)
    found = shell.ask(*words)["provenance"]["sites"]
    assert [one["site"] for one in found["left_out"]] == ["south", "east"]
    assert found["note"] == "The largest 2 of 4 sites were left out."
    # Without folds, the pooled accuracy is that of held-out rows of the site.
    assert 0 < found["left_out"][0]["pooled"]["rows"] < 20


def test_python_measures_the_same_whatever_the_order(monkeypatch):
    monkeypatch.setattr(sites_module, "N_FOLDS", 2)
    frame = draw("flip", n=80)
    X, y, clinic = frame[["a", "b", "c"]], frame["y"].to_numpy(), frame["clinic"].to_numpy()
    order = np.random.default_rng(1).permutation(len(frame))
    found = []
    for rows in (np.arange(len(frame)), order):
        model = IMKPL(n_prototypes=4).fit(X.iloc[rows], y[rows])
        found.append(measure_sites(model, X.iloc[rows], y[rows], clinic[rows]))
    for one, other in zip(found[0]["left_out"], found[1]["left_out"], strict=True):
        assert one["site"] == other["site"]
        assert one["accuracy"] == other["accuracy"]
        assert one["baseline"] == other["baseline"]
    assert found[0]["told"]["accuracy"] == pytest.approx(found[1]["told"]["accuracy"], abs=0.02)
    assert any("At site west" in text for text in found[1]["warnings"])
    # A pipeline is fitted again as a whole, and scales are those of the other sites.
    pipeline = make_pipeline(StandardScaler(), IMKPL(n_prototypes=4)).fit(X, y)
    again = measure_sites(pipeline, X, y, clinic, groups=np.arange(80) // 8 * 4 + np.arange(80) % 4)
    assert [one["independent"] for one in again["left_out"]] == [10] * 4
    page = summarize(pipeline, X[:20], y[:20], train=(X, y), sites=again)
    assert any("At site west" in one["text"] for one in page["warnings"])


def test_wrong_sites_in_python(two_blobs, tmp_path):
    X, y = two_blobs
    model = IMKPL(n_prototypes=2).fit(X, y)
    path = tmp_path / "page.html"
    for sites, train, problem in (
        (["u", "v"] * 20, None, "but train is missing"),
        (["u", "v"] * 3, (X, y), "sites has 6 values, expected one for each of the 40"),
        (["u"] * 40, (X, y), "All of sites are 'u', expected at least two"),
    ):
        with pytest.raises(ValueError, match=problem):
            model.report(X, y, path, train=train, sites=sites)
    assert not path.exists()


def test_later_rows_are_judged(shell, tmp_path):
    """What told the classes apart before 2024 no longer does."""
    frame = draw(n=160)
    frame.loc[frame["visit"] >= 2024, "a"] = np.random.default_rng(3).standard_normal(40)
    data, model, page = (tmp_path / name for name in ("a.csv", "m.imkpl", "page.json"))
    frame.drop(columns="clinic").to_csv(data, index=False)
    words = ("fit", data, "--time", "visit", "--after", 2024, *FIT, "--model", model)
    shown = shell(*words, "--report", page).stdout
    origin = shell.ask("inspect", model)["provenance"]
    assert origin["after"] == {"column": "visit", "value": "2024"}
    assert origin["held_out_rows"] == list(range(120, 160))
    assert origin["held_out"]["accuracy"] < 0.7 < 0.8 < origin["folds"]["accuracy"]
    assert "In 5 folds of 120 earlier rows: accuracy " in shown
    assert "This model on 40 later rows (visit from 2024 on): accuracy " in shown
    found = json.loads(page.read_text())
    assert found["verdict"]["level"] != "better"
    assert found["verdict"]["headline"].endswith("of 40 later cases")
    assert "visit" not in [one["name"] for one in found["features"]["features"]]
    for said in (shown, *(shell(*one).stdout for one in (("inspect", model), ("card", model)))):
        assert found["verdict"]["text"] in said
    card = shell("card", model, data).stdout
    assert found["verdict"]["text"] in card
    assert "the 40 later rows (visit from 2024 on) of a.csv" in card


def test_persons_who_are_known_are_not_judged(shell, tmp_path):
    frame = draw().drop(columns="clinic")
    frame["patient"] = np.where(frame.index % 3 == 0, frame.index % 30, 100 + frame.index)
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ("fit", tmp_path / "a.csv", "--after", 2024, "--time", "visit", "--group", "patient")
    result = shell(*words, "--prototypes", 4, "--model", tmp_path / "m.imkpl")
    assert "note: 10 rows of 30 from 2024 on left out: their persons have earlier" in result.stderr
    assert "This model on 20 later rows" in result.stdout
    assert "the 20 later rows" in shell("card", tmp_path / "m.imkpl", tmp_path / "a.csv").stdout
    frame.assign(patient=frame.index % 30).to_csv(tmp_path / "a.csv", index=False)
    assert "All rows of a.csv from 2024 on are of persons with earlier" in shell.fails(*words)


@pytest.mark.parametrize(
    ("write", "after", "n_later"),
    [
        (lambda n: f"2024-{n // 28 + 1:02}-{n % 28 + 1:02}", "2024-02-01", 32),
        (lambda n: f"2024-{n // 28 + 1:02}-{n % 28 + 1:02} 09:30:00", "2024-02", 32),
        (lambda n: f"{n % 28 + 1}.{n // 28 + 1}.2024", "1.2.24", 32),
        (lambda n: f"{n // 28 + 1}/{n % 28 + 1}/2024", "2/1/2024", 32),
        (lambda n: f"{1990 + n}-06-30", "2040", 10),
        (lambda n: 1990 + n, "2040", 10),
    ],
)
def test_times_are_years_and_dates(tmp_path, write, after, n_later):
    frame = draw(n=60).drop(columns="clinic")
    frame["visit"] = [write(n) for n in range(60)]
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = read_training_file(tmp_path / "a.csv", ReadOptions(time="visit", after=after))
    assert data.later.tolist() == [False] * (60 - n_later) + [True] * n_later
    assert "visit" not in data.samples
    if isinstance(frame["visit"][0], str):
        data = read_training_file(tmp_path / "a.csv", ReadOptions(after=after))
        assert "Column 'visit' has the times: it is the only one of dates." in data.notes
        assert data.later.sum() == n_later


def test_wrong_sites_and_times(shell, tables, tmp_path):
    data, model = tmp_path / "a.csv", tmp_path / "m.imkpl"
    model.write_text("what was there")
    frame = draw(n=60)
    ends = ("--model", model, "--force")
    later = frame["visit"] >= 2023
    for change, words, problem in (
        ({}, ("--site", "ward"), "a.csv has no column 'ward' (--site)"),
        ({"clinic": "x"}, ("--site", "clinic"), "(--site) has always 'x', expected at least two"),
        ({"clinic": frame.index + 7}, ("--site", "clinic"), "has another value in every row"),
        ({}, ("--site", "clinic", "--group", "clinic"), "is both --group and --site"),
        ({}, ("--time", "visit"), "Add --after, such as --after 2024."),
        ({}, ("--after", 2024), "a.csv has none of dates. Name it with --time."),
        (
            {},
            ("--time", "visit", "--after", 2018),
            "No row of a.csv is before --after 2018: column",
        ),
        ({}, ("--time", "visit", "--after", 2030), "from 2018 to 2025. Choose an earlier one."),
        ({}, ("--time", "visit", "--after", "May"), "expected a number after --after as well"),
        ({}, ("--time", "clinic", "--after", 2020), "has 'north' in row 1, expected a year"),
        ({"visit": None}, ("--time", "visit", "--after", 2020), "has nothing in row 1"),
        (
            {"visit": "2024-02-30"},
            ("--time", "visit", "--after", 2020),
            "(--time) has '2024-02-30' in row 1, expected a year",
        ),
        ({"visit": "3/4/2024"}, ("--after", 2024), "may begin with the day or with the month"),
        ({"visit": "2024-02-03"}, ("--after", "May"), "--after May is no date, but column 'visit'"),
        (
            {"y": np.where(later, "ill", "well")},
            ("--time", "visit", "--after", 2023),
            "Class 'ill' has 0 rows before --after 2023, expected at least two",
        ),
    ):
        frame.assign(**change).to_csv(data, index=False)
        assert problem in shell.fails("fit", data, *words, *ends)
    assert model.read_text() == "what was there"


def test_check_knows_sites_and_times(shell, tables):
    words = ("check", tables / "plain.csv", "--site", "clinic", "--time", "visit", "--after", 2024)
    roles = {one["name"]: (one["role"], one["values"]) for one in shell.ask(*words)["columns"]}
    assert roles["clinic"] == ("sites", "4 different")
    assert roles["visit"] == ("times", "90 earlier, 30 later")
