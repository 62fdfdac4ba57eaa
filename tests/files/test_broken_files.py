"""A file that is not as it was written gives a sentence, and runs nothing."""

import copy
import gc
import os
import pickle
import re
import struct
import time

import numpy as np
import pytest
from safetensors import numpy as safetensors

import imkpl
from imkpl import IMKPL
from imkpl import files as store
from imkpl.files import ModelFileError
from imkpl.kernels import Averaged, PerFeatureGaussian
from soak.forgeries import list_places, pack, unpack

MARKUP = "<b id=forged>"
SMALL = {"n_prototypes": 2, "sparsity": 2, "max_iter": 1, "contrast": True}
KINDS = ("vectors", "columns", "groups", "table", "words", "stack", "series", "views")


@pytest.fixture(scope="module")
def files(two_blobs):
    """The bytes of model files of many kinds."""
    X, y = two_blobs
    cells = [[row[0], "a" if row[1] > 0 else "b", None if row[2] > 1 else row[2]] for row in X]
    models = {
        "vectors": (["linear", "rbf"], X),
        "columns": ("per_feature_gaussian", X),
        "groups": (Averaged(PerFeatureGaussian(), {"first": [0, 1], "last": [2, 3]}), X),
        "table": ("per_column", cells),
        "words": ("per_word", np.round(np.abs(X))),
        "stack": ("precomputed", np.exp(-((X[:, None] - X) ** 2))),
        "series": ("global_alignment", X.reshape(40, 2, 2)),
        "views": ("per_view", X.reshape(40, 2, 2)),
    }
    labels = np.array(["a", "b"])[y]
    return {
        name: store.model_bytes(IMKPL(bank, **SMALL).fit(given, labels))
        for name, (bank, given) in models.items()
    }


@pytest.fixture
def content(files):
    return files["columns"]


@pytest.fixture
def load(tmp_path):
    """Loads bytes as if they were a file."""

    def load_bytes(stored):
        path = tmp_path / "given.imkpl"
        path.write_bytes(stored)
        return imkpl.load(path)

    return load_bytes


def edited(content, *path, value):
    """The file with another value at a place of its text, and a checksum that fits."""
    document, arrays = unpack(content)
    node = document
    for name in path[:-1]:
        node = node[name]
    node[path[-1]] = value
    return pack(document, arrays)


def test_the_file_itself_loads(files, load):
    for content in files.values():
        assert isinstance(load(pack(*unpack(content))), IMKPL)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.imkpl does not exist\. Pass a file"):
        imkpl.load(tmp_path / "none.imkpl")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Pass a file"):
        imkpl.load(tmp_path)


def test_pipes_and_devices_are_not_read(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    for path in (pipe, link):
        with pytest.raises(OSError, match=r"is a device, a pipe or a socket, expected a regular"):
            imkpl.load(path)


def header(text):
    return struct.pack("<Q", len(text)) + text


TEXT = b'{"imkpl.json":{"dtype":"%s","shape":[%d],"data_offsets":[0,4]}}'
OTHER_FILES = {
    "empty": b"",
    "zip": b"PK\x03\x04",
    "random": np.random.default_rng(0).bytes(5000),
    "pickle": pickle.dumps(IMKPL()),
    "json": b'{"format": "imkpl model", "version": 2}',
    "tensors": safetensors.save({"weight": np.zeros(3)}),
    "more values than there are": header(TEXT % (b"U8", 1099511627776)) + b"[]  ",
    "a negative size": header(TEXT % (b"U8", -1)) + b"[]  ",
    "no header": struct.pack("<Q", 2**63) + b"{}",
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_another_file_is_not_a_model_file(name, load):
    with pytest.raises(ModelFileError, match=r"given\.imkpl cannot be loaded: it is not a model"):
        load(OTHER_FILES[name])


def test_a_type_without_numbers_in_numpy_is_refused(load):
    with pytest.raises(ModelFileError, match="cannot be loaded: "):
        load(header(TEXT % (b"BF16", 2)) + b"[]  ")


def test_a_file_that_was_cut_or_added_to_is_refused(content, load):
    lengths = np.random.default_rng(1).integers(0, len(content), 40)
    for stored in [*(content[:n] for n in lengths), content[:-1], content + b"\n", b"#" + content]:
        with pytest.raises(ModelFileError, match="it is not a model file, or was cut short or"):
            load(stored)


def test_any_altered_byte_is_noticed(content, load):
    generator = np.random.default_rng(2)
    places = [*range(60), *range(len(content) - 50, len(content))]
    for place in [*places, *generator.integers(0, len(content), 200).tolist()]:
        changed = bytearray(content)
        changed[place] ^= 1 << int(generator.integers(8))
        with pytest.raises(ModelFileError, match="cannot be loaded: "):
            load(bytes(changed))


class Malicious:
    """What a pickle could do."""

    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was run')",)


def test_loading_never_unpickles(content, load, monkeypatch):
    stored = pickle.dumps(Malicious())

    def refuse(*args, **kwargs):
        raise AssertionError("a pickle was opened")

    for name in ("load", "loads", "Unpickler", "_Unpickler", "_load", "_loads"):
        monkeypatch.setattr(pickle, name, refuse)
    assert isinstance(load(content), IMKPL)
    with pytest.raises(ModelFileError):
        load(stored)


DEEP = [[]]
for _ in range(900):
    DEEP = [DEEP]
TEMPERATURE = ("model", "attributes", "temperature_")
FORM = ("model", "attributes", "_form", "Form")
KERNELS = ("model", "attributes", "_predictor", "Predictor", "kernels", "FeatureKernels")


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("format",), "other", "its text was not written by imkpl"),
        (("version",), 3, r"imkpl .* wrote it in version 3 .* reads version 2.*update imkpl\."),
        (("version",), "2", "wrote it in version '2'"),
        (("model",), None, "TypeError"),
        (("model", "class"), "os.system", "it holds a os.system, which this imkpl does not"),
        (("model", "parameters", "depth"), 3, r"IMKPL has \['depth'\], which this version"),
        (("model", "parameters", "sparsity"), 0, "sparsity"),
        (("model", "parameters", "sparsity"), "3", "sparsity is '3', expected int . None"),
        (("model", "parameters", "decision"), MARKUP, "decision"),
        (("model", "parameters", "kernels"), "unknown", "unknown"),
        (("model", "parameters", "kernels"), [1], "kernel"),
        (("model", "parameters", "class_weight"), MARKUP, "class_weight"),
        *(
            (("model", "attributes", name), MARKUP, rf"IMKPL has \['{name}'\], which this version")
            for name in ("_doc_link_template", "__module__", "predict", "sparsity", "x_")
        ),
        (("model", "attributes", "_predictor"), {"Popen": {}}, "holds a 'Popen', which this"),
        (("model", "attributes", "_predictor"), {"Predictor": {"code": 1}}, r"has \['code'\]"),
        (("model", "attributes", "_predictor"), {"Gaussian": {}}, "expected Predictor"),
        (("model", "attributes", "_predictor"), {"Predictor": {}}, "TypeError"),
        (("model", "attributes", "_predictor"), {"x" * 100_000: {}}, "holds a 'xxx"),
        (("model", "attributes", "prototypes_"), {"csr": [10**12, 40]}, "index pointer size"),
        (("model", "attributes", "prototypes_"), {"csr": [2, 3]}, "indices must be < 3"),
        ((*FORM, "n_features"), 2**50, "out of range"),
        ((*FORM, "owner"), MARKUP, "the form is that of <b id"),
        ((*FORM, "names"), {"objects": ["a", 1, "b", "c"]}, "not one name for each of 4"),
        ((*FORM, "n_channels"), 3, "not as many channels as features"),
        ((*KERNELS, "others"), [1], "there are kernels between different samples"),
        ((*KERNELS, "precision"), "object", "kernels are computed in float64 or float32"),
        ((*KERNELS, "samples"), None, "samples is None, expected"),
        (TEMPERATURE, {"float": "nan"}, "temperature_ is nan, expected float"),
        (TEMPERATURE, {"float": "1"}, "KeyError"),
        (TEMPERATURE, {"call": []}, "holds a 'call', which this version"),
        (TEMPERATURE, {"a": 1, "b": 2}, "has the entries .* expected one"),
        (TEMPERATURE, DEEP, "recursion depth|expected float"),
        (TEMPERATURE, {"array": "C"}, "the array 'temperature_' is missing"),
        (TEMPERATURE, {"tuple": {"Gaussian": {}}}, "has no list"),
        (TEMPERATURE, {"objects": "a"}, "has no list"),
        (TEMPERATURE, {"dict": [[1, 2], [1, 3]]}, "has a key twice"),
        (TEMPERATURE, {"dict": [[[], 1]]}, "has a key that is no single value"),
    ],
)
def test_a_text_that_asks_for_something_else_is_refused(path, value, sentence, content, load):
    with pytest.raises(
        ModelFileError, match=rf"given.imkpl cannot be loaded: .*{sentence}"
    ) as error:
        load(edited(content, *path, value=value))
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[" * 100_000, "RecursionError"),
        (b"\xff", "UnicodeDecodeError"),
        (b"[]", "its text was not written by imkpl"),
        (b"[" + b"1" * 4000 + b"]", "beyond 64 bits"),
        (b"[" + b"1" * 5000 + b"]", "Exceeds the limit"),
        (b"[18446744073709551616]", "beyond 64 bits"),
    ],
)
def test_a_text_that_is_none_is_refused(text, sentence, load):
    with pytest.raises(ModelFileError, match=f"cannot be loaded: .*{sentence}"):
        load(pack(text, {}))


def test_a_text_without_end_is_refused_before_it_is_parsed(load, monkeypatch):
    monkeypatch.setattr(store, "MAX_TEXT", 1000)
    with pytest.raises(ModelFileError, match="its text has 1001 bytes, expected 1000 at most"):
        load(pack(b"[" * 1001, {}))


HOSTILE = {
    "brackets": lambda n: b"[" + b"[]," * (n // 3) + b"[]]",
    "an unclosed quote": lambda n: b'"' + rb"\"" * (n // 2),
    "digits": lambda n: b"[" + b"1" * n,
    "numbers with the same hash": lambda n: (
        b'{"format": "imkpl model", "version": 2, "model": {"class": "IMKPL", "attributes": {}, '
        b'"parameters": {"sparsity": 0, "class_weight": {"dict": ['
        + b",".join(b"[%d,1]" % (i * 2**44) for i in range(n // 20))
        + b"]}}}}"
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_refusing_takes_time_in_proportion_to_the_size(name, load):
    def measure(size):
        stored = pack(HOSTILE[name](size), {})
        seconds = []
        for _ in range(3):
            start = time.process_time()
            with pytest.raises(ModelFileError):
                load(stored)
            seconds.append(time.process_time() - start)
        return min(seconds)

    # The collector of garbage looks at all objects of the process, not only at those of the file.
    gc.disable()
    try:
        # Sixteen times the size; if time grew with its square, 256 times the time.
        assert measure(1_600_000) < 64 * max(measure(100_000), 1e-3)
    finally:
        gc.enable()


def test_arrays_have_one_place_each(content, load):
    document, arrays = unpack(content)
    with pytest.raises(ModelFileError, match=r"its array '\.\./outside' has no place"):
        load(pack(document, {**arrays, "../outside": np.zeros(1)}))
    with pytest.raises(ModelFileError, match="kernel_weights_ declares the shape"):
        load(pack(document, {**arrays, "kernel_weights_": np.zeros((2**40, 0))}))
    del arrays["kernel_weights_"]
    with pytest.raises(ModelFileError, match="the array 'kernel_weights_' is missing"):
        load(pack(document, arrays))


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_file_becomes_markup(kind, files, load):
    document, arrays = unpack(files[kind])
    n_loaded = 0
    for node, key in list_places(document["model"]):
        if isinstance(node[key], str):
            before, node[key] = node[key], MARKUP
            try:
                model = load(pack(document, arrays))
            except ModelFileError:
                continue
            finally:
                node[key] = before
            n_loaded += 1
            assert MARKUP not in model._repr_html_(), key
    assert n_loaded > 0


def test_every_attribute_is_needed_and_none_takes_another_value(content, load):
    document, arrays = unpack(content)
    attributes = document["model"]["attributes"]
    for name in list(attributes):
        before = attributes.pop(name)
        inside = {key: one for key, one in arrays.items() if re.split(r"[.\[]", key)[0] != name}
        with pytest.raises(ModelFileError, match=f"lacks .'{name}'., which every fit sets"):
            load(pack(document, inside))
        for value in ("text", -1.5, [], [1, 2], {"tuple": []}, {"dict": []}, {"Gaussian": {}}):
            if isinstance(before, float) and isinstance(value, float):
                continue
            attributes[name] = value
            with pytest.raises(ModelFileError, match="cannot be loaded: "):
                load(pack(document, inside))
        attributes[name] = before


CHANGES = {
    "a row more": ("biufU", lambda a: np.concatenate([a, a[-1:]])),
    "a row less": ("biufU", lambda a: a[:-1].copy()),
    "another axis": ("biufU", lambda a: a[None]),
    "complex": ("if", lambda a: a.astype(np.complex64)),
    "NaN": ("f", lambda a: np.full_like(a, np.nan)),
    "large": ("i", lambda a: np.full_like(a, 10**9)),
    "negative": ("i", lambda a: np.full_like(a, -1)),
}
# Labels, and numbers that are shown only, may be any.
FREE = ("classes_", "prototype_classes_", "support_classes_", "support_ids_", "history_",
        "_predictor.ranges", "_predictor.kernels.fills")  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_another_type_shape_or_range_are_refused(kind, change, files, load):
    document, arrays = unpack(files[kind])
    kinds, alter = CHANGES[change]
    for name, array in arrays.items():
        if array.dtype.kind not in kinds or array.size == 0:
            continue
        try:
            load(pack(document, {**arrays, name: alter(array)}))
        except ModelFileError:
            continue
        assert name.startswith(FREE) or ".samples" in name, name
        assert change in ("NaN", "large", "negative"), name


def test_negative_contrasts_are_refused(content, load):
    document, arrays = unpack(content)
    name = "_predictor.contrasts.data"
    assert arrays[name].size
    with pytest.raises(ModelFileError, match="Some contrasts are negative"):
        load(pack(document, {**arrays, name: -arrays[name]}))


def test_names_may_consist_of_brackets_and_digits(content, load):
    names = unpack(content)[0]["model"]["attributes"]["kernel_names_"]
    forged = copy.deepcopy(names)
    forged[0] = "[" * 100_000 + '\\"{' + "1" * 5000
    stored = edited(content, "model", "attributes", "kernel_names_", value=forged)
    assert load(stored).kernel_names_ == forged


def test_memory_that_is_short_is_not_called_a_broken_file(content, load, monkeypatch):
    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(store.safetensors, "load", fail)
    with pytest.raises(MemoryError):
        load(content)
