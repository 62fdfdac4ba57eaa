"""Files as people have them: logs, tables on their side, spellings, orders and dates."""

import json

import numpy as np
import pandas as pd
import pytest

from imkpl.readers import InputError, ReadOptions, read_training_file

FIXED = ("--prototypes", 2)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Trials of unequal length of two sensors, one of which tells walking from running."""
    rng, rows = np.random.default_rng(0), []
    for trial in range(24):
        steps, is_run = int(rng.integers(20, 35)), trial % 2
        t = np.arange(steps) * 0.1
        speed = np.sin(t * (2 + 3 * is_run) + rng.random() * 6) + 0.2 * rng.standard_normal(steps)
        frame = pd.DataFrame({"trial": f"t{trial}", "t": t, "speed": speed})
        frame["noise"] = rng.standard_normal(steps)
        rows.append(frame.assign(activity=["walk", "run"][is_run]))
    path = tmp_path_factory.mktemp("log") / "log.csv"
    pd.concat(rows).to_csv(path, index=False)
    return path


def test_a_log_is_recognised_and_becomes_series(shell, log, tmp_path):
    checked = shell("check", log, "--target", "activity")
    assert "add --series trial --time t to imkpl fit" in checked.stdout
    roles = ["--target", "activity", "--series", "trial", "--time", "t"]
    model = tmp_path / "m.imkpl"
    answer = shell.ask(
        "fit", log, *roles, *FIXED, "--model", model, "--report", tmp_path / "r.html"
    )
    assert answer["n_training_rows"] == 20
    assert answer["provenance"]["held_out"]["accuracy"] >= 0.8
    # Its columns and trials are known to the model.
    frame = pd.read_csv(log)
    mixed = frame.sample(frac=1, random_state=0)[["noise", "t", "activity", "trial", "speed"]]
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    found = {name: shell.ask("predict", model, path)["rows"] for name, path in
             (("log", log), ("mixed", tmp_path / "mixed.csv"))}  # fmt: skip
    answers = [{row["id"]: row["prediction"] for row in rows} for rows in found.values()]
    assert answers[0] == answers[1]
    truth = frame.groupby("trial")["activity"].first()
    assert np.mean([truth[trial] == one for trial, one in answers[0].items()]) > 0.8
    card = shell("explain", model, log, "--row", "t3").stdout
    assert "speed" in card
    assert "like case t" in card
    # A control: rows that are no steps.
    mixed.drop(columns="t").to_csv(tmp_path / "mixed.csv", index=False)
    assert "time step" not in shell("check", tmp_path / "mixed.csv").stdout


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.assign(trial=f["trial"].mask(f.index == 4)), "'trial' .* is empty in row 5"),
        (lambda f: f.assign(activity=np.arange(len(f)) % 2), "'0' and '1' in trial 't0'"),
        (lambda f: f.drop(columns=["speed", "noise"]), "has no columns of numbers"),
        (lambda f: f.drop(columns="t"), "no column 't' .--time."),
    ],
)
def test_a_log_that_is_none_is_refused(change, sentence, log, tmp_path):
    change(pd.read_csv(log)).to_csv(tmp_path / "log.csv", index=False)
    options = ReadOptions(target="activity", series="trial", time="t")
    with pytest.raises(InputError, match=sentence):
        read_training_file(tmp_path / "log.csv", options)


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    """300 genes in rows, 40 samples in columns; and a list of samples in another order."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("genes")
    y = np.arange(40) % 2
    values = rng.standard_normal((300, 40)).round(3)
    values[:4] += 3 * y
    table = pd.DataFrame(values, [f"g{i}" for i in range(300)], [f"s{i}" for i in range(40)])
    table.rename_axis("gene").to_csv(folder / "genes.csv")
    labels = pd.Series(np.where(y, "ill", "well"), table.columns, name="state")
    labels.rename_axis("sample").sample(frac=1, random_state=0).to_csv(folder / "labels.csv")
    whole = pd.concat([table.astype(object), labels.to_frame().T])
    whole.rename_axis("gene").to_csv(folder / "whole.csv")
    table.T.assign(state=labels).to_csv(folder / "upright.csv", index=False)
    return folder


def test_a_table_on_its_side_is_noticed_and_turned(shell, genes, tmp_path):
    assert "Add --transpose, with the classes in a second file" in shell.fails(
        "check", genes / "genes.csv", "--target", "state"
    )
    assert shell.fails("check", genes / "whole.csv", "--target", "state").endswith("--transpose.")
    expected = read_training_file(genes / "upright.csv", ReadOptions(target="state"))
    for name, more in (("whole.csv", {}), ("genes.csv", {"labels": str(genes / "labels.csv")})):
        options = ReadOptions(target="state", transpose=True, id_column="sample", **more)
        found = read_training_file(genes / name, options)
        pd.testing.assert_frame_equal(
            found.samples.reset_index(drop=True), expected.samples.reset_index(drop=True)
        )
        assert found.y.tolist() == expected.y.tolist()
        assert found.ids.tolist() == [f"s{i}" for i in range(40)]
    model, labels = tmp_path / "m.imkpl", ["--labels", genes / "labels.csv"]
    shell("fit", genes / "whole.csv", "--transpose", "--target", "state", *FIXED, "--model", model)
    answer = shell.ask("predict", model, genes / "genes.csv", "--transpose", *labels)
    assert answer["measured"]["accuracy"] > 0.9
    pd.DataFrame({"who": ["a", "b"], "state": ["ill", "well"]}).to_csv(tmp_path / "x.csv")
    sentence = shell.fails(
        "check", genes / "genes.csv", "--transpose", "--labels", tmp_path / "x.csv"
    )
    assert "names 0 of 40 samples" in sentence


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    rng = np.random.default_rng(0)
    ill = np.arange(90) % 2
    step = np.clip((rng.standard_normal(90) * 0.6 + 1 + 0.8 * (2 * ill - 1)).round(), 0, 2)
    frame = pd.DataFrame({"pain": np.array(["Low", "Medium", "High"])[step.astype(int)]})
    for i in range(6):
        frame[f"q{i}"] = rng.choice(["yes", "Yes", "no"], 90)
    days = rng.integers(0, 500, 90) + 400 * ill
    frame["visit"] = (pd.Timestamp("2020-03-01") + pd.to_timedelta(days, "D")).astype(str)
    frame["state"] = np.where(ill, "ill", "well")
    frame.loc[3, "state"] = "Ill"
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    frame.to_csv(path, index=False)
    return path


def test_many_findings_of_a_kind_are_one(shell, answers):
    found = json.loads(shell("check", answers, "--target", "state", "--json").stdout)["findings"]
    (variants,) = [one for one in found if one["kind"] == "variants"]
    assert variants["text"].startswith("7 findings such as this one, in 'state', 'q0', 'q1'")
    assert variants["columns"] == ["state", *(f"q{i}" for i in range(6))]
    (order,) = [one for one in found if one["kind"] == "order"]
    assert order["advice"].endswith("--ordered pain=Low,Medium,High.")


def test_spellings_are_merged_orders_kept_and_dates_counted(shell, answers, tmp_path):
    model = tmp_path / "m.imkpl"
    options = ["--merge-spellings", "--ordered", "pain=Low,Medium,High", "--months", "visit"]
    command = ["fit", answers, "--target", "state", *options, "--require", "pain", *FIXED]
    answer = shell.ask(*command, "--model", model)
    assert [one["class"] for one in answer["classes"]] == ["ill", "well"]
    assert answer["provenance"]["reading"]["months"] == [
        f"visit={pd.read_csv(answers)['visit'].min()}"
    ]
    kept = {one["name"]: one for one in answer["features"]}
    assert kept["visit"]["evidence"] > 0.9
    # Another file has other spellings and dates, and months since the same day.
    new = pd.read_csv(answers).assign(state=lambda f: f["state"].str.upper())
    new["pain"] = new["pain"].str.lower()
    new[new["visit"] > "2021-01-01"].to_csv(tmp_path / "new.csv", index=False)
    found = shell.ask("predict", model, tmp_path / "new.csv")
    assert found["measured"]["accuracy"] > 0.75
    assert "not seen" not in " ".join(found["notes"])
    refused = shell.fails("fit", answers, "--target", "state", "--ordered", "pain=Low,High")
    assert "'Medium', which --ordered does not list" in refused
