"""Exported models: what another program reads."""

import json
import pathlib
import re
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import IMKPL
from imkpl.files import ModelFileError, export
from imkpl.tables import MISSING_TEXTS

DEPLOYMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "deployment.md"


def draw_table(seed, n=72):
    """Numbers, codes, texts and truth values with missing cells, some of which tell classes."""
    rng = np.random.default_rng(seed)
    place = np.arange(n) % 3
    X = pd.DataFrame(
        {
            "crp": rng.gamma(2, 2, n) + 3 * (place == 1),
            "far": 1e5 + rng.normal(0, 1, n) + 2 * (place == 0),
            "age": rng.integers(20, 60, n) + 15 * place,
            "site": rng.choice(["north", "south", "<b>"], n),
            "code": rng.choice([1, 2, 7], n) + 1 * (place == 2),
            "smoker": (rng.random(n) < 0.2 + 0.5 * (place == 2)).astype(object),
            "stage": np.where(rng.random(n) < 0.6, np.array(["I", "II", "NA"])[place], "I"),
            "dose": rng.normal(0, 1, n),
        }
    )
    X.loc[rng.random(n) < 0.2, "crp"] = np.nan
    X.loc[rng.random(n) < 0.1, "stage"] = None
    X.loc[rng.random(n) < 0.1 + 0.6 * (place == 0), "dose"] = np.nan
    X.index = [f"patient {i}" for i in range(n)]
    return X, np.array(["healthy", "acute", "chronic"])[place]


def draw_new(seed):
    """New rows, some of them with categories and numbers beyond training, or blank."""
    X, _ = draw_table(seed)
    X.iloc[::9, 3] = "moon"
    X.iloc[1::11, 0] = 900.0
    X.iloc[3::17, [0, 6]] = None
    X.iloc[5] = None
    return X


@pytest.fixture(scope="module")
def patients():
    return IMKPL("per_column", n_prototypes=9, sparsity=3, contrast=True).fit(*draw_table(0))


def test_the_file_describes_the_model(patients, tmp_path):
    found = json.loads(export(patients, tmp_path / "m.json").read_text())
    assert (found["format"], found["version"]) == ("imkpl portable model", 2)
    assert any(one["contrast_samples"] for one in found["prototypes"])
    assert set(found["missing_texts"]) == MISSING_TEXTS
    X, _ = draw_table(0)
    for place, feature in enumerate(found["features"]):
        for one in found["support"]:
            cell = X.loc[one["case"], feature["column"]]
            if feature["kind"] == "flag":
                assert one["cells"][place] == pd.isna(cell)
            else:
                assert one["cells"][place] == (None if pd.isna(cell) else cell)
    # Every entry is in the table of the documentation.
    text = DEPLOYMENT.read_text()
    for key, value in found.items():
        assert f"`{key}`" in text
        if isinstance(value, list) and isinstance(value[0], dict):
            for name in {name for one in value for name in one}:
                assert f"`{name}`" in text


def run_graph(path, X):
    """Outputs of an ONNX file, and its metadata."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    meta = session.get_modelmeta().custom_metadata_map
    meta = {key: json.loads(value) for key, value in meta.items()}
    outputs = session.run(None, {"X": X[meta["columns"]].to_numpy(float)})
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, outputs, strict=True)), meta


@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize("columns", [["far", "age"], ["crp", "far", "age", "dose"]])
def test_a_graph_predicts_and_explains_numbers_as_the_library_does(columns, contrast, tmp_path):
    X, y = draw_table(0)
    labels = y if len(columns) > 2 else np.unique(y, return_inverse=True)[1]
    model = IMKPL(n_prototypes=7, sparsity=3, contrast=contrast).fit(X[columns], labels)
    assert (model.contrasts_.nnz > 0) == contrast
    new = draw_new(1)[columns].astype(float)
    new = new.dropna() if len(columns) == 2 else new
    found, meta = run_graph(export(model, tmp_path / "m.onnx"), new)
    assert found["label"].tolist() == model.predict(new).tolist()
    assert np.abs(found["probabilities"] - model.predict_proba(new)).max() < 1e-9
    explanation = model.explain(new)
    assert np.abs(found["scores"] - explanation.scores).max() < 1e-9
    assert meta["prototypes"] == explanation.prototype_classes.tolist()
    assert meta["features"] == [*explanation.comparison.names, "bonus", "several prototypes"]
    owners = explanation.comparison.owners
    places = [meta["classes"].index(label) for label in meta["prototypes"]]
    for row, table in enumerate(found["contributions"]):
        # A prototype adds to the score of its own class only.
        whole = explanation.contributions(row)
        expected = whole[np.arange(len(places)), :, places]
        assert np.abs(table[:, :-2] - expected[:, :-2] @ owners).max() < 1e-9
        assert np.abs(table[:, -2:] - expected[:, -2:]).max() < 1e-9


def test_graphs_have_no_categories(patients, tmp_path, monkeypatch):
    with pytest.raises(
        ModelFileError, match=r"'(site|stage)' holds categories, .* Export it to \.json"
    ):
        export(patients, tmp_path / "m.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'imkpl\[onnx\]'"):
        export(patients, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_exported_is_refused_with_a_reason(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 3 * y[:, np.newaxis]
    words = csr_array(rng.poisson(1 + 5 * np.column_stack([y, 1 - y, np.ones(40)])))
    target = tmp_path / "m.json"
    for model, sentence in (
        (
            IMKPL(decision="share", n_prototypes=2, contrast=False).fit(X, y),
            "only Python can solve",
        ),
        (IMKPL("rbf", n_prototypes=2, contrast=False).fit(X, y), "only Python can evaluate"),
        (IMKPL("per_word", n_prototypes=2, contrast=False).fit(words, y), "about words"),
        (
            IMKPL("global_alignment", n_prototypes=2, contrast=False).fit(X[:, np.newaxis], y),
            "compares time series",
        ),
        (
            make_pipeline(StandardScaler(), IMKPL(n_prototypes=2, contrast=False)).fit(X, y),
            "last step",
        ),
        (IMKPL(), "not a fitted classifier"),
    ):
        with pytest.raises(ModelFileError, match=sentence):
            export(model, target)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"expected an ending of \.json or \.onnx"):
        export(IMKPL(), tmp_path / "m.pmml")


def test_the_documented_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", DEPLOYMENT.read_text(), re.DOTALL):
        exec(block, names)
    found = json.loads((tmp_path / "m.json").read_text())
    assert imkpl.load("m.imkpl").classes_.tolist() == found["classes"] == ["acute", "healthy"]
