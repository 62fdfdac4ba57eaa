"""Exported models: what another program reads, and a predictor that does without the library."""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import IMKPL, MultiLabelIMKPL, TimeSeriesIMKPL
from imkpl.files import ModelFileError, export
from imkpl.files.imkpl_predict import Model, main, pursue
from imkpl.files.portable import PREDICTOR, describe
from imkpl.kernels import PerFeatureGaussian
from imkpl.solvers import solve_nqp
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
    return IMKPL("per_column", n_prototypes=9, sparsity=3).fit(*draw_table(0))


def assert_same(answers, model, X):
    """Labels, probabilities, novelty and reasons are those of the library."""
    explanation = model.explain(X)
    found = np.array([list(one["probabilities"].values()) for one in answers])
    assert np.abs(found - model.predict_proba(X)).max() < 1e-9
    assert [one["answer"] for one in answers] == model.predict(X).tolist()
    assert np.abs([one["novelty"] for one in answers] - explanation.novelty).max() < 1e-9
    for row, one in enumerate(answers):
        card = explanation.card(row).to_dict()
        for key in ("runner_up", "runner_up_probability", "probability", "lead", "rest", "doubt"):
            assert one[key] == (approx(card[key]) if isinstance(card[key], float) else card[key])
        for side in ("supporting", "opposing"):
            assert one[side] == {
                key: approx(value) if isinstance(value, float) else value
                for key, value in card[side].items()
            }
        # Features that add the same come in any order.
        features = {feature["name"]: feature for feature in one["features"]}
        assert set(features) == {feature["name"] for feature in card["features"]}
        for feature in card["features"]:
            found = features[feature["name"]]
            assert found["for"] == approx(feature["for"])
            for key in ("value", "supporting", "opposing", "outside"):
                assert found[key] == feature[key]


def approx(value):
    return pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_it_predicts_tables_as_the_library_does(seed):
    kernels = "auto" if seed else "per_column"
    settings = {"n_prototypes": 3 * seed + 3, "max_kernels": None if seed < 2 else 10}
    model = IMKPL(kernels, sparsity=seed + 1, **settings).fit(*draw_table(seed))
    X = draw_new(seed + 10)
    answers = Model(json.loads(json.dumps(describe(model)))).predict(X.to_dict("records"))
    assert_same(answers, model, X)


def test_it_predicts_numbers_as_the_library_does():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    X = rng.normal(0, 1, (90, 6)) + np.outer(y, [2, 1, 1, 0, 0, 0])
    kernels = PerFeatureGaussian(scales=(0.5, 2.0))
    model = IMKPL(kernels, n_prototypes=6, max_kernels=5).fit(X[:45], y[:45])
    found = describe(model)
    names = [f"x{place}" for place in range(6)]
    assert {one["column"] for one in found["features"]} <= set(names)
    rows = [dict(zip(names, row, strict=True)) for row in X[45:].tolist()]
    assert_same(Model(found).predict(rows), model, X[45:])
    assert_same(Model(found).predict(rows[:1]), model, X[45:46])


def test_whether_a_cell_is_missing_can_be_all_that_is_read(patients):
    found = describe(patients)
    flags = [one for one in found["features"] if one["kind"] == "flag"]
    assert [(one["column"], one["name"]) for one in flags] == [("dose", "dose is missing")]
    blank = draw_new(10).iloc[[5]]
    (answer,) = Model(found).predict(blank.to_dict("records"))
    assert answer["doubt"] == "no evidence"
    card = patients.explain(blank).card()
    assert (card.doubt, card.notes) == ("no evidence", [])


def test_the_codes_are_those_of_the_solver():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 12):
        for _ in range(20):
            # Three numbers each: most of twelve depend on others.
            rows = np.abs(rng.normal(size=(size, 3)))
            gram, linear = rows @ rows.T, rows @ np.abs(rng.normal(size=3)) - 0.3
            for sparsity in (2, 5):
                expected = solve_nqp(gram, -linear, sparsity).x
                assert pursue(gram, linear, sparsity) == pytest.approx(expected, abs=1e-9)


def test_without_the_library_a_file_is_answered_as_with_it(patients, tmp_path):
    export(patients, tmp_path / "m.json", with_predictor=True)
    X = draw_new(20)
    X.to_csv(tmp_path / "new.csv", index_label="patient")
    # Nothing but NumPy can be imported.
    packages = pathlib.Path(np.__file__).parents[1]
    (tmp_path / "only").mkdir()
    for name in ("numpy", "numpy.libs"):
        if (packages / name).exists():
            os.symlink(packages / name, tmp_path / "only" / name)
    code = (
        "import sys, runpy; from importlib.util import find_spec\n"
        "sys.path.append('only'); sys.argv = sys.argv[1:]\n"
        "assert not any(map(find_spec, ('imkpl', 'scipy', 'sklearn', 'numba', 'pandas')))\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    words = ["imkpl_predict.py", "m.json", "new.csv", "--id", "patient", "--json"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = json.loads(done.stdout)
    assert [one["case"] for one in answers] == X.index.tolist()
    assert_same(answers, patients, X)


@pytest.fixture
def answer(patients, tmp_path, monkeypatch, capsys):
    """Writes a file and asks for the answers; the exit code and what was printed."""
    path = export(patients, tmp_path / "m.json")

    def ask(text, *more, model=path):
        (tmp_path / "new.csv").write_text(text)
        command = ["imkpl_predict.py", str(model), str(tmp_path / "new.csv"), *more]
        monkeypatch.setattr(sys, "argv", command)
        code = main()
        printed = capsys.readouterr()
        return code, printed.out if code == 0 else printed.err

    return ask


def test_the_table_has_a_line_per_row(patients, answer):
    X, _ = draw_table(30, 4)
    code, text = answer(X.to_csv(sep=";", index=False))
    assert code == 0
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["id"] for line in lines] == ["1", "2", "3", "4"]
    assert [line["prediction"] for line in lines] == patients.predict(X).tolist()
    for line, chances in zip(lines, patients.predict_proba(X), strict=True):
        found = [float(line[f"probability {name}"]) for name in patients.classes_]
        assert found == approx(chances)
        assert re.match(r"\w+( is missing)? = .* \([+-]0\.\d{3}\); ", line["reasons"])
        assert line["similar case"].startswith("patient ")


def test_texts_stand_for_what_they_stood_for_in_training(patients, answer):
    X, _ = draw_table(30, 4)
    X["smoker"] = ["TRUE", "false", "True", "no"]
    X["code"] = ["1", "2.0", "7", "8"]
    X["stage"] = ["NA", "?", "I", ""]
    code, text = answer(X.to_csv(), "--json")
    assert code == 0
    read = X.assign(smoker=[True, False, True, "no"], stage=["NA", None, "I", None])
    assert_same(json.loads(text), patients, read.assign(code=[1, 2, 7, 8]))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X: X.drop(columns="age"), "Row 1 has no column 'age', which the model reads"),
        (lambda X: X.assign(age="old"), "Column 'age' of row 1 is 'old', expected a number"),
        (lambda X: X.assign(age="inf"), "Column 'age' of row 1 is 'inf', expected a number"),
        (lambda X: X.rename(columns={"site": "age"}), "has two columns 'age'. Rename one"),
    ],
)
def test_a_file_that_does_not_fit_gets_a_sentence(answer, change, sentence):
    code, text = answer(change(draw_table(30, 4)[0]).to_csv(index=False))
    assert code == 1
    assert text.startswith("imkpl_predict: ")
    assert sentence in text


def test_other_mistakes_get_a_sentence(answer, tmp_path):
    assert "has 3 cells, expected 2 as in the first line" in answer("a,b\n1,2,3\n")[1]
    assert "has no column 'patient'. Correct --id" in answer("a\n1\n", "--id", "patient")[1]
    (tmp_path / "other.json").write_text('{"version": 1}')
    assert "not an exported model" in answer("a\n1\n", model=tmp_path / "other.json")[1]
    (tmp_path / "other.json").write_text("PK")
    assert "is not a JSON file" in answer("a\n1\n", model=tmp_path / "other.json")[1]


def test_models_of_numbers_take_no_missing_cell():
    X, y = draw_table(0)
    model = IMKPL(n_prototypes=3).fit(X[["far", "age"]], y)
    rows = [{"far": 1e5, "age": None}]
    with pytest.raises(ValueError, match=r"'age' of row 1 is missing, .* Correct it\.$"):
        Model(describe(model)).predict(rows)


def test_the_file_describes_the_model(patients, tmp_path):
    found = json.loads(export(patients, tmp_path / "m.json").read_text())
    assert (found["format"], found["version"]) == ("imkpl portable model", 1)
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
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    meta = session.get_modelmeta().custom_metadata_map
    meta = {key: json.loads(value) for key, value in meta.items()}
    outputs = session.run(None, {"X": X[meta["columns"]].to_numpy(float)})
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, outputs, strict=True)), meta


@pytest.mark.parametrize("columns", [["far", "age"], ["crp", "far", "age", "dose"]])
def test_a_graph_predicts_and_explains_numbers_as_the_library_does(columns, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    X, y = draw_table(0)
    labels = y if len(columns) > 2 else np.unique(y, return_inverse=True)[1]
    model = IMKPL(n_prototypes=7, sparsity=3).fit(X[columns], labels)
    new = draw_new(1)[columns].astype(float)
    new = new.dropna() if len(columns) == 2 else new
    found, meta = run_graph(export(model, tmp_path / "m.onnx"), new)
    assert found["label"].tolist() == model.predict(new).tolist()
    assert np.abs(found["probabilities"] - model.predict_proba(new)).max() < 1e-9
    explanation = model.explain(new)
    assert np.abs(found["scores"] - explanation.scores).max() < 1e-9
    assert meta["prototypes"] == explanation.prototype_classes.tolist()
    assert meta["features"] == explanation._comparison.names
    places = [meta["classes"].index(label) for label in meta["prototypes"]]
    for row, table in enumerate(found["contributions"]):
        # A prototype adds to the score of its own class only.
        whole = explanation.contributions(row)
        expected = whole[np.arange(len(places)), :, places] @ explanation._comparison.owners
        assert np.abs(table - expected).max() < 1e-9


def test_graphs_have_no_categories(patients, tmp_path, monkeypatch):
    with pytest.raises(ModelFileError, match=r"'site' holds categories, .* Export it to \.json"):
        export(patients, tmp_path / "m.onnx")
    with pytest.raises(ValueError, match=r"imkpl_predict\.py reads JSON"):
        export(patients, tmp_path / "m.onnx", with_predictor=True)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'imkpl\[onnx\]'"):
        export(patients, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_exported_is_refused_with_a_reason(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 3 * y[:, np.newaxis]
    target = tmp_path / "m.json"
    for model, sentence in (
        (IMKPL(decision="share", sparsity=2).fit(X, y), "only Python can solve"),
        (IMKPL("rbf", n_prototypes=2).fit(X, y), "only Python can evaluate"),
        (IMKPL("per_word", n_prototypes=2).fit(csr_array(np.round(np.abs(X))), y), "about words"),
        (
            TimeSeriesIMKPL("global_alignment", n_prototypes=2).fit(X[:, np.newaxis], y),
            "compares time series",
        ),
        (make_pipeline(StandardScaler(), IMKPL(n_prototypes=2)).fit(X, y), "last step"),
        (MultiLabelIMKPL(), "not a fitted classifier"),
        (IMKPL(), "not a fitted classifier"),
    ):
        with pytest.raises(ModelFileError, match=sentence):
            export(model, target, with_predictor=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"expected an ending of \.json or \.onnx"):
        export(IMKPL(), tmp_path / "m.pmml")


def test_the_documented_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DEPLOYMENT.read_text(), re.DOTALL)
    names = {}
    for block in blocks:
        exec(block, names)
    assert (tmp_path / "imkpl_predict.py").read_bytes() == PREDICTOR.read_bytes()
    assert names["answer"]["answer"] == "acute"
    assert imkpl.load("m.imkpl").classes_.tolist() == list(names["answer"]["probabilities"])
    sys.modules.pop("imkpl_predict", None)
