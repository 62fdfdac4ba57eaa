"""What an expert marks on a page is obeyed by the next fit, and kept in the model."""

import json

import pytest
from sklearn.datasets import load_breast_cancer

from imkpl import load
from imkpl.report import render_report, summarize


@pytest.fixture(scope="module")
def tumours(tmp_path_factory):
    data = load_breast_cancer(as_frame=True)
    frame = data.data.iloc[:110, [0, 1, 7, 20, 23]]
    frame = frame.assign(diagnosis=data.target_names[data.target[:110]])
    path = tmp_path_factory.mktemp("review") / "tumours.csv"
    frame.assign(patient=[f"P{i}" for i in range(110)]).to_csv(path, index=False)
    return path


def options(path, *more):
    return ("fit", path, "--target", "diagnosis", "--id", "patient", "--prototypes", 2, *more)


@pytest.fixture(scope="module")
def first(shell, tumours, tmp_path_factory):
    """A model, its page, and the fingerprint in it."""
    folder = tmp_path_factory.mktemp("first")
    more = ("--repeats", 0, "--model", folder / "a.imkpl", "--report", folder / "a.html")
    assert shell(*options(tumours, *more)).exit_code == 0
    shell("report", folder / "a.imkpl", tumours, "--out", folder / "a.json")
    found = json.loads((folder / "a.json").read_text())
    return load(folder / "a.imkpl"), folder / "a.html", found["provenance"]["fingerprint"]


def write(path, fingerprint, *remarks):
    names = ("about", "name", "said", "note")
    found = [dict(zip(names, one, strict=False)) for one in remarks]
    model = {"title": "tumours", "fingerprint": fingerprint}
    review = {"format": "imkpl review", "version": 1, "model": model}
    path.write_text(json.dumps({**review, "reviewer": "Dr A", "remarks": found}))
    return path


def test_two_features_and_three_cases_are_left_out_and_remembered(shell, tumours, first, tmp_path):
    model, _, fingerprint = first
    shown = [str(name) for name in model.support_ids_[:3]]
    remarks = [("feature", "worst area", "wrong reason", "other scanner")]
    remarks += [("feature", "mean texture", "wrong reason"), ("feature", "worst radius", "agree")]
    remarks += [("prototype", shown[0], "not a good example"), ("case", shown[1], "wrong reason")]
    remarks += [("case", name, "not a good example") for name in shown[2:]]
    remarks.append(("case", str(model.support_ids_[3]), "not a good example"))
    review = write(tmp_path / "review.json", fingerprint, *remarks)
    more = ("--repeats", 0, "--model", tmp_path / "b.imkpl", "--review", review)
    result = shell(*options(tumours, *more))
    assert result.exit_code == 0
    assert "another model" not in result.stderr
    again = load(tmp_path / "b.imkpl")
    weights = dict(zip(again.kernel_names_, again.kernel_weights_, strict=True))
    assert weights["worst area"] == weights["mean texture"] == 0
    left_out = {shown[0], shown[2], str(model.support_ids_[3])}
    assert left_out <= set(map(str, model.support_ids_))
    assert not left_out & set(map(str, again.support_ids_))
    said = again.provenance_["review"]
    assert said["reviewer"] == "Dr A"
    assert said["is_of_this_model"]
    assert len(said["remarks"]) == len(remarks)
    assert [one["asked"] for one in said["costs"]] == [
        "exclude worst area",
        "exclude mean texture",
        *(f"do not show {name}" for name in (shown[0], shown[2], model.support_ids_[3])),
        "all of them",
    ]
    assert all(abs(one["cost"]) < 0.1 for one in said["costs"])
    inspected = shell("inspect", tmp_path / "b.imkpl").stdout
    page = render_report(summarize(again, again_samples(again, tumours), None))
    for text in (result.stdout, inspected):
        assert "Review review.json by Dr A:" in text
        assert "exclude worst area: " in text
    for text in (result.stdout, inspected, page):
        assert "other scanner" in text
    assert "What this model was told by <bdi>Dr A</bdi>" in page


def again_samples(model, path):
    import pandas as pd

    return pd.read_csv(path)[list(model.feature_names_in_)][:20]


def test_reviews_that_cannot_be_obeyed_are_refused(shell, tumours, first, tmp_path):
    _, _, fingerprint = first
    area, agreed = ("feature", "worst area", "wrong reason"), ("feature", "worst area", "agree")
    for remarks, more, said in (
        ([("feature", "worst aera", "wrong reason")], (), "marks the feature 'worst aera', which"),
        ([("case", "P900", "not a good example")], (), "marks the case 'P900', which the data do"),
        ([area, agreed], (), "contradicts itself: 'worst area' is marked 'wrong reason' and 'agr"),
        ([("feature", "worst area", "bad")], (), "says 'bad' about the feature 'worst area', exp"),
        ([area], ("--require", "worst area"), "--require worst area, but a.json calls it a wrong"),
    ):
        review = write(tmp_path / "a.json", fingerprint, *remarks)
        result = shell(*options(tumours, "--review", review, *more))
        assert result.exit_code == 1
        assert said in result.stderr
    (tmp_path / "a.json").write_text('{"format": "something"}')
    result = shell(*options(tumours, "--review", tmp_path / "a.json"))
    assert result.exit_code == 1
    assert "a.json is not a review" in result.stderr


def test_the_review_of_another_model_is_said(shell, tumours, tmp_path):
    review = write(tmp_path / "a.json", "0" * 32, ("feature", "worst area", "wrong reason"))
    result = shell(*options(tumours, "--repeats", 0, "--review", review))
    assert result.exit_code == 0
    assert "note: a.json is about another model than these data and options give" in result.stderr
