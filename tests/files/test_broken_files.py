"""A file that is not as it was written gives a sentence, and runs nothing."""

import hashlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import imkpl
from imkpl import IMKPL, _archive
from imkpl.files.store import MODEL_FILE, ModelFileError
from imkpl.kernels import PerFeatureGaussian

SEAL = MODEL_FILE.seal


@pytest.fixture(scope="module")
def content(two_blobs, tmp_path_factory):
    """The bytes of a small model file."""
    path = tmp_path_factory.mktemp("models") / "model.imkpl"
    imkpl.save(IMKPL(sparsity=1, n_prototypes=2, max_kernels=1).fit(*two_blobs), path)
    return path.read_bytes()


@pytest.fixture
def load(tmp_path):
    """Loads bytes as if they were a file."""

    def load_bytes(stored):
        path = tmp_path / "given.imkpl"
        path.write_bytes(stored)
        return imkpl.load(path)

    return load_bytes


def pack(members):
    return _archive.pack(members, MODEL_FILE)


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def edited(content, change):
    """The file with another document, and a seal that fits."""
    members = members_of(content)
    document = json.loads(members["model.json"])
    change(document)
    return pack({**members, "model.json": json.dumps(document).encode()})


def with_array(content, stored, **entry):
    """The file with other bytes for array 0, and checksums that fit."""

    def change(document):
        document["arrays"]["0"].update(sha256=hashlib.sha256(stored).hexdigest(), **entry)

    members = members_of(edited(content, change))
    return pack({**members, "arrays/0.npy": stored})


def sealed(archive):
    """Any archive with a seal that fits."""
    start = archive[:-2] + (len(SEAL) + 64).to_bytes(2, "little") + SEAL
    return start + hashlib.sha256(start).hexdigest().encode()


def zipped(*members, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, stored in members:
            archive.writestr(name, stored)
    return stream.getvalue()


def test_the_file_itself_loads(content, load):
    assert isinstance(load(content), IMKPL)
    assert isinstance(load(pack(members_of(content))), IMKPL)
    assert isinstance(load(edited(content, lambda document: None)), IMKPL)
    assert isinstance(load(sealed(zipped(*members_of(content).items()))), IMKPL)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.imkpl does not exist\. Pass a file"):
        imkpl.load(tmp_path / "none.imkpl")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Pass a file"):
        imkpl.load(tmp_path)


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"PK\x03\x04",
        np.random.default_rng(0).bytes(5000),
        pickle.dumps(IMKPL()),
        zipped(("readme.txt", b"hello")),
        b'{"format": "imkpl model", "format_version": 1}',
    ],
    ids=["empty", "short", "random", "pickle", "zip", "json"],
)
def test_another_file_is_not_a_model_file(stored, load):
    with pytest.raises(ModelFileError, match=r"given\.imkpl cannot be loaded: it is not a model"):
        load(stored)


def test_a_file_that_was_cut_short_anywhere_is_refused(content, load):
    lengths = np.random.default_rng(1).integers(50, len(content), 40)
    for length in [*lengths, len(content) - 1, len(content) - 64, len(content) - 65]:
        with pytest.raises(ModelFileError, match="cannot be loaded: its end is missing"):
            load(content[:length])


def test_a_file_that_was_added_to_is_refused(content, load):
    with pytest.raises(ModelFileError, match="its end is missing, so it was cut short or appended"):
        load(content + b"\n")
    with pytest.raises(ModelFileError, match="cannot be loaded: it is not a model file"):
        load(b"#" + content)


def test_any_altered_byte_is_noticed(content, load):
    generator = np.random.default_rng(2)
    places = [*range(60), *range(len(content) - 150, len(content))]
    places += generator.integers(0, len(content), 100).tolist()
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << int(generator.integers(8))
        with pytest.raises(ModelFileError, match=r"altered|not a model file|its end is missing"):
            load(bytes(changed))


def test_a_newer_file_asks_for_an_update(content, load):
    def change(document):
        document.update(format_version=2, imkpl_version="9.1")

    with pytest.raises(ModelFileError, match=r"imkpl 9\.1 wrote it in version 2 .* Update imkpl\."):
        load(edited(content, change))


def put(*path, value):
    """A change of one place of the document."""

    def change(document):
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = value

    return change


def test_what_an_older_file_does_not_set_has_its_default(content, load):
    def change(document):
        del document["model"]["parameters"]["tol"]
        bank = document["model"]["attributes"]["_predictor"]["fields"]["bank"]["fields"]
        del bank["tolerance"]
        # A field that is gone.
        bank["working_memory"] = 64.0

    model = load(edited(content, change))
    assert model.tol == IMKPL().tol
    assert model._predictor.bank.tolerance == PerFeatureGaussian().tolerance


ATTRIBUTES = ("model", "attributes")
DEEP = [[]]
for _ in range(100):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (put("format", value="other"), "model.json was not written by imkpl"),
        (put("format_version", value="1"), "its format version is '1', expected a whole number"),
        (put("format_version", value=True), "its format version is True"),
        (put("format_version", value=0), "its format version is 0"),
        (put("model", "class", value="Foo"), "it holds a 'Foo', which this version of imkpl does"),
        (put("model", "class", value="os.system"), "it holds a 'os.system'"),
        (put("model", value={"type": "tuple", "items": []}), "something that is not a model"),
        (put("model", value=None), "is inconsistent"),
        (
            put(*ATTRIBUTES, "feature_importances_", value=3),
            "it sets 'feature_importances_' of IMKPL",
        ),
        (put(*ATTRIBUTES, "__class__", value=3), "it sets '__class__' of IMKPL"),
        (put("model", "parameters", "depth", value=3), "it sets 'depth' of IMKPL, which this"),
        (put(*ATTRIBUTES, "predict", value=3), "it sets 'predict' of IMKPL"),
        (put(*ATTRIBUTES, "sparsity", value=3), "it sets 'sparsity' of IMKPL"),
        (put(*ATTRIBUTES, "_metadata_request", value=3), "it sets '_metadata_request' of IMKPL"),
        (
            put(*ATTRIBUTES, "temperature_", value={"type": "call"}),
            "a value of type 'call', which is not",
        ),
        (
            put(*ATTRIBUTES, "temperature_", value={"name": "0"}),
            "a value of type None, which is not known",
        ),
        (put(*ATTRIBUTES, "temperature_", value={"type": ["a"]}), r"is inconsistent \(TypeError"),
        (
            put(*ATTRIBUTES, "temperature_", value=DEEP),
            "values are nested more than 40 levels deep",
        ),
        (
            put(*ATTRIBUTES, "temperature_", value={"type": "array", "name": "99"}),
            "array '99' is missing",
        ),
        (
            put(
                *ATTRIBUTES,
                "temperature_",
                value={"type": "objects", "shape": [2**40, 0], "items": []},
            ),
            "0 values are declared to have the shape",
        ),
        (
            put(
                *ATTRIBUTES,
                "temperature_",
                value={
                    "type": "tuple",
                    "items": {"type": "part", "class": "Gaussian", "fields": {}},
                },
            ),
            "the items of a 'tuple' are not a list",
        ),
        (
            put(*ATTRIBUTES, "temperature_", value={"type": "objects", "shape": [1], "items": "a"}),
            "the items of a 'objects' are not a list",
        ),
        (
            put(*ATTRIBUTES, "temperature_", value={"type": "dtype", "value": "|O"}),
            "values of type '|O'",
        ),
        (
            put(*ATTRIBUTES, "temperature_", value={"type": "dtype", "value": "i4,O"}),
            "values of type 'i4,O'",
        ),
        (
            put(*ATTRIBUTES, "temperature_", value={"type": "float", "value": "1"}),
            "is inconsistent",
        ),
        (
            put(*ATTRIBUTES, "temperature_", value={"type": "number type", "name": "object"}),
            "is inconsistent",
        ),
        (
            put(
                *ATTRIBUTES, "temperature_", value={"type": "scalar", "name": "int64", "value": [1]}
            ),
            "it holds a 'int64' that is not a single value",
        ),
        (
            put(
                *ATTRIBUTES,
                "temperature_",
                value={"type": "objects", "shape": [10**12], "items": []},
            ),
            "0 values are declared to have the shape",
        ),
        (put(*ATTRIBUTES, "prototypes_", "shape", value=[10**12, 40]), "is inconsistent"),
        (put(*ATTRIBUTES, "prototypes_", "shape", value=[2, 3]), "is inconsistent"),
        (put(*ATTRIBUTES, "_predictor", "class", value="Popen"), "it holds a 'Popen'"),
        (put(*ATTRIBUTES, "_predictor", "fields", value={}), r"\(TypeError"),
        (
            put(*ATTRIBUTES, "_predictor", "fields", "code", value=1),
            "it sets 'code' of Predictor, which this version",
        ),
        (put("model", "requests", value={"fit": {"X": True}}), "is inconsistent"),
        (
            put("arrays", "0", "shape", value=[10**12]),
            "type and shape of array '0' are not those",
        ),
        (
            put("arrays", "0", "dtype", value="<f4"),
            "type and shape of array '0' are not those",
        ),
        (put("arrays", "0", "sha256", value="0" * 64), "the checksum of array '0' is not the one"),
        (put("arrays", "77", value={}), "array '77' is missing"),
        (put("arrays", value=3), "is inconsistent"),
    ],
)
def test_a_document_that_asks_for_something_else_is_refused(change, sentence, content, load):
    with pytest.raises(ModelFileError, match=f"cannot be loaded: .*{sentence}"):
        load(edited(content, change))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b'{"format": NaN}', "model.json holds NaN"),
        (b'{"format": 1, "format": 2}', "a name occurs twice in model.json"),
        (b"[" * 100_000, "consists of little more than brackets"),
        (b"[" * 9_000, "is inconsistent"),
        (b"\xff", "is inconsistent"),
        (b"[]", "model.json was not written by imkpl"),
        (b'{"format": "imkpl model"}', "is inconsistent"),
    ],
)
def test_a_document_that_is_not_one_is_refused(text, sentence, load):
    with pytest.raises(ModelFileError, match=f"cannot be loaded: .*{sentence}"):
        load(pack({"model.json": text}))


class Malicious:
    """What a pickle could do."""

    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was run')",)


def test_a_pickle_in_an_array_is_refused_without_running_it(content, load):
    stream = io.BytesIO()
    np.save(stream, np.array([Malicious()], dtype=object), allow_pickle=True)
    stored = stream.getvalue()
    with pytest.raises(SystemExit, match="a pickle was run"):
        np.load(io.BytesIO(stored), allow_pickle=True)
    with pytest.raises(ModelFileError, match="'0' is of type object, expected plain numbers"):
        load(with_array(content, stored, dtype="|O", shape=[1]))


def test_loading_never_unpickles(content, load, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a pickle was opened")

    for name in ("load", "loads", "Unpickler", "_Unpickler", "_load", "_loads"):
        monkeypatch.setattr(pickle, name, refuse)
    assert isinstance(load(content), IMKPL)
    with pytest.raises(ModelFileError):
        load(b"\x80\x04N.")


def npy(header, data=b""):
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    ("stored", "entry", "sentence"),
    [
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", bytes(8)),
            {"dtype": "<f8", "shape": [10**12]},
            "which does not match its 136 bytes",
        ),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}", bytes(8)),
            {"dtype": "<f8", "shape": [-1, -1]},
            "which does not match its 136 bytes",
        ),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 0)}"),
            {"dtype": "<f8", "shape": [10**12, 0]},
            "which does not match its 128 bytes",
        ),
        (
            npy("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,)}"),
            {"dtype": "<U0", "shape": [10**12]},
            "expected plain numbers or text",
        ),
        (
            npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", bytes(8)),
            {"dtype": "|V8", "shape": [1]},
            "expected plain numbers or text",
        ),
        (npy("__import__('os')"), {}, "is inconsistent"),
        (b"\x93NUMPY\x02\x00", {}, "'0' is not in version 1.0"),
        (b"nothing", {}, "is inconsistent"),
    ],
)
def test_an_array_that_is_not_what_it_declares_is_refused(stored, entry, sentence, content, load):
    with pytest.raises(ModelFileError, match=f"cannot be loaded: .*{sentence}"):
        load(with_array(content, stored, **entry))


def test_members_are_those_of_the_document(content, load):
    members = members_of(content)
    with pytest.raises(ModelFileError, match=r"a member '\.\./outside' that belongs to no array"):
        load(pack({**members, "../outside": b"x"}))
    del members["arrays/0.npy"]
    with pytest.raises(ModelFileError, match="array '0' is missing"):
        load(pack(members))


def test_archives_of_another_make_are_refused(content, load):
    members = list(members_of(content).items())
    with pytest.raises(ModelFileError, match="are compressed or declare sizes beyond"):
        load(sealed(zipped(*members, compression=zipfile.ZIP_DEFLATED)))
    with pytest.warns(UserWarning, match="Duplicate name"):
        doubled = zipped(*members, members[1])
    with pytest.raises(ModelFileError, match="two members have the same name"):
        load(sealed(doubled))


def test_a_declared_size_beyond_the_file_is_refused_before_it_is_read(load):
    archive = bytearray(zipped(("model.json", b"{}")))
    entry = archive.rindex(b"PK\x01\x02")
    # The two sizes in the directory of the archive.
    for place in (entry + 20, entry + 24):
        archive[place : place + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(ModelFileError, match="sizes beyond that of the file"):
        load(sealed(bytes(archive)))


def test_memory_that_is_short_is_not_called_a_broken_file(content, load, monkeypatch):
    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(_archive, "read_array", fail)
    with pytest.raises(MemoryError):
        load(content)
