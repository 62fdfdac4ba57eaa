"""A file with a valid checksum still holds nothing but a model: known names, types and shapes."""

import copy
import io
import json
from dataclasses import fields

import numpy as np
import pytest

import imkpl
from imkpl import IMKPL, IMKPLCV, IMKPLSelector, MultiLabelIMKPL, TimeSeriesIMKPL, _archive
from imkpl._archive import write_array
from imkpl.files.schema import ATTRIBUTES, OPTIONAL, PART_FIELDS
from imkpl.files.store import MODEL_FILE, PARTS, ModelFileError
from imkpl.kernels import Averaged, PerFeatureGaussian, VarianceNormalized

MARKUP = "<b id=forged>"


@pytest.fixture(scope="module")
def files(two_blobs, tmp_path_factory):
    """The members of model files of many kinds, the document read."""
    X, y = two_blobs
    cells = [[row[0], "a" if row[1] > 0 else "b", None if row[2] > 1 else row[2]] for row in X]
    labels = np.stack([np.ones_like(y), y, X[:, 0] > 0], axis=1)
    K = np.exp(-((X[:, None] - X) ** 2))
    groups = Averaged(PerFeatureGaussian(), {"first": [0, 1], "last": [2, 3]})
    small = IMKPL(sparsity=2, max_iter=2, tol=1.0)
    models = {
        "vectors": IMKPL(["linear", "rbf"], sparsity=2, max_iter=1).fit(X, y),
        "columns": IMKPL(sparsity=2, max_iter=1).fit(X, np.array(["a", "b"])[y]),
        "variance": IMKPL(VarianceNormalized(PerFeatureGaussian()), max_iter=1).fit(X, y),
        "groups": IMKPL(groups, sparsity=2, max_iter=1).fit(X, y),
        "table": IMKPL("per_column", sparsity=2, max_iter=1).fit(cells, y),
        "stack": IMKPL("precomputed", sparsity=2, max_iter=1).fit(K, y),
        "series": TimeSeriesIMKPL("global_alignment", sparsity=2, max_iter=1).fit(
            X.reshape(40, 2, 2), y
        ),
        "path": IMKPLCV(sparsity=(1, 2), max_kernels=(1, 2), cv=2).fit(X, y),
        "selector": IMKPLSelector(small).fit(X, y),
        "labels": MultiLabelIMKPL(small).fit(X, labels),
    }
    path = tmp_path_factory.mktemp("models") / "model.imkpl"
    found = {}
    for name, model in models.items():
        imkpl.save(model, path)
        found[name] = _archive.unpack(path.read_bytes(), MODEL_FILE)
    return found


KINDS = ("vectors", "columns", "variance", "groups", "table", "stack", "series", "path",
         "selector", "labels")  # fmt: skip


@pytest.fixture
def load(tmp_path):
    def load_members(members, document=None):
        if document is not None:
            members = {**members, "model.json": json.dumps(document).encode()}
        path = tmp_path / "forged.imkpl"
        path.write_bytes(_archive.pack(members, MODEL_FILE))
        return imkpl.load(path)

    return load_members


def read(members):
    return json.loads(members["model.json"])


def test_the_table_lists_every_part_and_field():
    # What the samples are depends on the bank.
    listed = {(kind, name) for kind, rules in PART_FIELDS.items() for name in rules}
    exist = {(kind, field.name) for kind in PARTS for field in fields(PARTS[kind])}
    assert listed == exist - {("Predictor", "samples")}


@pytest.mark.parametrize(
    "name",
    ["_doc_link_module", "_doc_link_template", "_BaseEstimator__doc_link_template", "__module__",
     "__doc_link_template", "__doc__", "_parameter_constraints", "__sklearn_tags__", "x_"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["columns", "path", "selector", "labels"])
def test_attributes_that_no_fit_sets_are_refused(name, kind, files, load):
    document = read(files[kind])
    document["model"]["attributes"][name] = MARKUP
    with pytest.raises(ModelFileError, match=f"it sets '{name}' of .*, which this version"):
        load(files[kind], document)


def list_places(node, found):
    for key in node.keys() if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list):
            list_places(node[key], found)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_file_becomes_markup(kind, files, load):
    document = read(files[kind])
    n_loaded = 0
    for node, key in list_places(document["model"], []):
        if not isinstance(node[key], str):
            continue
        before, node[key] = node[key], MARKUP
        try:
            model = load(files[kind], document)
        except ModelFileError:
            continue
        finally:
            node[key] = before
        n_loaded += 1
        assert MARKUP not in model._repr_html_(), key
    assert kind == "selector" or n_loaded > 0


# One file of every estimator: the rules are theirs, whatever the kernels.
@pytest.mark.parametrize("kind", ["columns", "series", "path", "selector", "labels"])
def test_every_attribute_is_needed_and_none_takes_another_value(kind, files, load):
    document = read(files[kind])
    attributes = document["model"]["attributes"]
    rules = ATTRIBUTES[document["model"]["class"]]
    values = [
        "text",
        -1.5,
        [],
        [1, 2],
        {"type": "tuple", "items": []},
        {"type": "dict", "items": []},
    ]
    values.append({"type": "part", "class": "Gaussian", "fields": {}})
    for name in rules:
        if name not in attributes:
            assert name in OPTIONAL
            continue
        before = attributes.pop(name)
        if name not in OPTIONAL:
            with pytest.raises(ModelFileError, match=f"lacks '{name}', which every fit sets"):
                load(files[kind], document)
        for value in values:
            if isinstance(before, float) and isinstance(value, float):
                continue
            if name in ("threshold_",) and isinstance(value, float):
                continue
            attributes[name] = value
            with pytest.raises(ModelFileError, match="is inconsistent"):
                load(files[kind], document)
        attributes[name] = before


CHANGES = {
    "a row more": lambda a: np.concatenate([a, a[-1:]]),
    "a row less": lambda a: a[:-1],
    "another axis": lambda a: a[None],
    "complex": lambda a: a.astype(complex),
    "NaN": lambda a: np.full_like(a, np.nan),
    "large": lambda a: np.full_like(a, 10**9),
    "negative": lambda a: np.full_like(a, -1),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_another_type_shape_or_range_are_refused(kind, change, files, load):
    members = files[kind]
    document = read(members)
    for name, entry in document["arrays"].items():
        member = f"arrays/{name}.npy"
        array = np.load(io.BytesIO(members[member]))
        if entry["dtype"][1] not in (
            "if"
            if change == "complex"
            else "f"
            if change == "NaN"
            else "i"
            if change in ("large", "negative")
            else "ifbU"
        ):
            continue
        stored, other = write_array(CHANGES[change](array))
        forged = copy.deepcopy(document)
        forged["arrays"][name] = other
        try:
            load({**members, member: stored}, forged)
        except ModelFileError:
            continue
        assert is_free(document["model"], name, change), (name, entry)


def is_free(model, name, change):
    """Whether any value will do: labels, and numbers that are shown only."""
    node = {"type": "array", "name": name}
    free = ("classes_", "prototype_classes_", "support_classes_", "support_ids_", "history_",
            "path_", "samples", "ranges")  # fmt: skip
    found = [
        key for parent, key in list_places(model, []) if key in free and holds(parent[key], node)
    ]
    return bool(found) and change in ("NaN", "large", "negative")


def holds(tree, node):
    return tree == node or (
        isinstance(tree, dict | list)
        and any(tree[key] == node for tree, key in list_places(tree, []))
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sparsity", 0),
        ("decision", MARKUP),
        ("kernels", "unknown"),
        ("kernels", [1]),
        ("class_weight", MARKUP),
        ("checkpoint", 3),
        ("n_jobs", []),
    ],
)
def test_parameters_that_fit_would_refuse_are_refused(name, value, files, load, tmp_path):
    document = read(files["columns"])
    document["model"]["parameters"][name] = value
    with pytest.raises(ModelFileError, match=r"forged\.imkpl cannot be loaded: .*is inconsistent"):
        load(files["columns"], document)
    with pytest.raises(ModelFileError, match="IMKPL cannot be saved: "):
        imkpl.save(IMKPL(**{name: value}), tmp_path / "model.imkpl")


def test_an_attribute_of_the_users_own_cannot_be_saved(tmp_path):
    model = IMKPL()
    model.note = "mine"
    with pytest.raises(ModelFileError, match="IMKPL has the attribute 'note', which no fit sets"):
        imkpl.save(model, tmp_path / "model.imkpl")


@pytest.mark.parametrize("filler", [b"[],", b"{},", b"[[]],", b"[[],[]],"])
def test_documents_of_brackets_are_refused_before_they_are_parsed(filler, load, monkeypatch):
    text = b"[" + filler * (31_000_000 // len(filler)) + b"[]]"

    def parse(*arguments, **more):
        raise AssertionError("parsed")

    monkeypatch.setattr(_archive.json, "loads", parse)
    with pytest.raises(ModelFileError, match=r"model\.json consists of little more than brackets"):
        load({"model.json": text})


def test_names_may_consist_of_brackets(files, load):
    document = read(files["columns"])
    names = document["model"]["attributes"]["kernel_names_"]
    names[0] = "[" * 100_000 + '\\"{'
    assert load(files["columns"], document).kernel_names_[0] == names[0]


@pytest.mark.parametrize("number", ["1" * 401, "-" + "1" * 4000, "1." + "0" * 400, "-1e999"])
def test_numbers_beyond_all_measure_are_refused(number, files, load):
    document = read(files["columns"])
    document["model"]["parameters"]["tol"] = "NUMBER"
    text = json.dumps(document).replace('"NUMBER"', number)
    with pytest.raises(ModelFileError, match=r"holds the number -1e999|holds a number of more"):
        load({**files["columns"], "model.json": text.encode()})


def test_text_may_consist_of_digits(files, load):
    document = read(files["columns"])
    document["model"]["attributes"]["kernel_names_"][0] = "1" * 5000
    assert load(files["columns"], document).kernel_names_[0] == "1" * 5000


@pytest.mark.parametrize("place", ["class", "type"])
def test_errors_quote_little_of_a_file(place, files, load):
    document = read(files["columns"])
    document["model"]["attributes"]["_predictor"][place] = "x" * 100_000
    with pytest.raises(ModelFileError, match=r"cannot be loaded: .*\.$") as caught:
        load(files["columns"], document)
    assert len(str(caught.value)) < 1000


def test_an_array_cannot_be_mentioned_without_end(files, load, monkeypatch):
    document = read(files["columns"])
    document["model"]["parameters"]["class_weight"] = [{"type": "array", "name": "0"}] * 100_000
    monkeypatch.setattr("imkpl.files.store.MAX_VALUES", 1000)
    with pytest.raises(ModelFileError, match="array '0' occurs over and over again"):
        load(files["columns"], document)


def test_estimators_cannot_be_listed_without_end(files, load):
    document = read(files["columns"])
    nothing = {"type": "estimator", "class": "IMKPL", "parameters": {}, "attributes": {}}
    document["model"]["parameters"]["kernels"] = [{**nothing, "requests": {}}] * 100_000
    with pytest.raises(ModelFileError, match="it holds more than 8 estimators"):
        load(files["columns"], document)
