"""Opens altered copies of model files in a process that is watched, and prints what came of them.

A quarter of the copies is damaged; the others are forged: their checksums match.
"""

import collections
import copy
import hashlib
import io
import json
import pathlib
import resource
import struct
import sys
import tempfile
import warnings
import zipfile

import numpy as np
from imkpl.files.schema import ATTRIBUTES

import imkpl
from imkpl._archive import DIGITS
from imkpl.files.store import MODEL_FILE, PARTS, SCALARS, ModelFileError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import jobs

KINDS = ("vectors", "table", "series", "stack", "path", "landmarks", "selection", "one kernel")
# Bytes of memory that loading may take.
MEMORY = 2**30
# Audit events of what code from a file would have to do to have an effect. Reading the header of
# an array compiles its literals, and runs nothing.
DEEDS = ("code.__new__", "cpython.run_", "ctypes.", "exec", "import", "marshal.", "os.", "pickle.",
         "shutil.", "socket.", "subprocess.", "urllib.")  # fmt: skip
# Allowed in `predict` of a forged model: another type of numbers asks Numba for another loop.
COMPILER = ("code.__new__", "ctypes.", "exec", "import", "marshal.", "os.", "pickle.")

MARKUP = "<b id=forged>"
WRONG_NAMES = ("../../outside.npy", "/etc/passwd", "arrays/../model.json", "arrays/0.npy/",
               "arrays\\0.npy", "", "a" * 60_000, "arrays/\x00.npy", "CON")  # fmt: skip
WRONG_VALUES = (
    None, True, -1, 0, 2**63, 10**400, 1e308, 0.5, "", "1", "__import__('os').system('true')",
    "\ud800", "x" * 100_000, MARKUP, [], [[]], {},
    {"type": "array", "name": "0"},
    {"type": "float", "value": "nan"},
    {"type": "tuple", "items": []},
    {"type": "dict", "items": [[[], 1]]},
    {"type": "dtype", "value": "|O"},
    {"type": "part", "class": "Gaussian", "fields": {}},
    {"type": "estimator", "class": "IMKPL", "parameters": {}, "attributes": {}, "requests": {}},
    {"type": "objects", "shape": [2**40, 0], "items": []},
    {"type": "scalar", "name": "str_", "value": "a"},
)  # fmt: skip
WRONG_KEYS = ("__class__", "__dict__", "__reduce__", "fit", "predict", "_predictor", "x_", "type",
              "_doc_link_module", "_doc_link_template", "__doc__", "n_channels_in_")  # fmt: skip
WRONG_TEXTS = ("NaN", "Infinity", "1e999", "[" * 5000, "{" * 5000, '"\\ud800"')
WRONG_SHAPES = ([2**62, 4], [-1], [2**63], [10**400], [0], [], [1] * 70, [2.5], ["3"], [True])
WRONG_TYPES = ("|O", "<f2", "<f4", ">f8", "<c16", "<i8", "|b1", "<U3", "|S8", "<M8[s]", "V8")
WRONG_NUMBERS = {
    "f": [np.nan, np.inf, -np.inf, 1e300, -1e300, 0, -1],
    "i": [-(2**31), 2**31 - 1, 0, 99],
}


def seal(start):
    """Any bytes with the checksum that a reader expects at their end."""
    return start + hashlib.sha256(start).hexdigest().encode()


def read_members(content):
    """Names and bytes of all members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def write_members(members, compression=zipfile.ZIP_STORED):
    """A sealed archive of these members, whatever their names."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, stored in members:
            info = zipfile.ZipInfo("x")
            info.filename = name
            archive.writestr(info, stored, compression)
        archive.comment = MODEL_FILE.seal + bytes(DIGITS)
    return seal(stream.getvalue()[:-DIGITS])


def pick(rng, options):
    return options[rng.integers(len(options))]


def damage(rng, content):
    """Single bits, a stretch of noise or zeros, cut, added, or repeated."""
    changed = bytearray(content)
    start = int(rng.integers(len(content)))
    stop = min(len(content), start + int(rng.integers(1, 2000)))
    kind = rng.integers(6)
    if kind == 0:
        for place in rng.integers(len(content), size=rng.integers(1, 9)):
            changed[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        changed[start:stop] = rng.bytes(stop - start)
    elif kind == 2:
        changed[start:stop] = bytes(stop - start)
    elif kind == 3:
        del changed[start:]
    elif kind == 4:
        changed[start:start] = rng.bytes(stop - start)
    else:
        changed += content[start:stop]
    return bytes(changed)


def forge_bytes(rng, content):
    """Damaged bytes before the seal."""
    size = len(MODEL_FILE.seal) + DIGITS
    return seal(damage(rng, content[:-size]) + content[-size:-DIGITS])


def forge_directory(rng, content):
    """Wrong sizes, offsets, flags and methods in the headers of the archive."""
    changed = bytearray(content[:-DIGITS])
    mark, fields = pick(
        rng, [(b"PK\x01\x02", (8, 10, 20, 24, 28, 30, 42)), (b"PK\x03\x04", (6, 8, 18, 22))]
    )
    at = pick(rng, [at for at in range(len(changed)) if changed.startswith(mark, at)])
    field = pick(rng, fields)
    struct.pack_into("<H", changed, at + field, pick(rng, [0, 1, 8, 12, 14, 2**15, 2**16 - 1]))
    if field in (18, 20, 22, 24, 42):
        struct.pack_into("<H", changed, at + field + 2, pick(rng, [0, 2**15, 2**16 - 1]))
    return seal(bytes(changed))


def forge_members(rng, content):
    """Members with other names, twice, missing, exchanged, or compressed beyond all measure."""
    members = read_members(content)
    one, other = (int(i) for i in rng.integers(1, len(members), 2))
    kind = rng.integers(6)
    if kind == 0:
        members[one] = (pick(rng, WRONG_NAMES), members[one][1])
    elif kind == 1:
        members.append((pick(rng, WRONG_NAMES), b"x"))
    elif kind == 2:
        members.append(members[one])
    elif kind == 3:
        del members[one]
    elif kind == 4:
        first, second = members[one], members[other]
        members[one], members[other] = (first[0], second[1]), (second[0], first[1])
    else:
        members[one] = (members[one][0], bytes(int(rng.integers(1, 30)) * 2**20))
        return write_members(members, zipfile.ZIP_DEFLATED)
    return write_members(members)


def forge_document(rng, content):
    """One to three places of the document with another value, key or type."""
    (name, text), *members = read_members(content)
    document = json.loads(text)
    for _ in range(pick(rng, [1, 1, 1, 2, 3])):
        _change_node(rng, document)
    return write_members([(name, _dump(document)), *members])


def forge_text(rng, content):
    """A document with something in the place of a digit that no model has."""
    (name, text), *members = read_members(content)
    text = bytearray(text)
    at = pick(rng, [at for at, sign in enumerate(text) if sign in b"0123456789"])
    text[at : at + 1] = pick(rng, WRONG_TEXTS).encode()
    return write_members([(name, bytes(text)), *members])


def forge_array(rng, content):
    """An array with other values, another type or shape, and an entry that says the same."""
    members = read_members(content)
    document = json.loads(members[0][1])
    one = int(rng.integers(1, len(members)))
    entry = document["arrays"][members[one][0].removeprefix("arrays/").removesuffix(".npy")]
    array = np.load(io.BytesIO(members[one][1]), allow_pickle=False)
    kind = rng.integers(6)
    if kind > 2:
        array = _change_values(rng, array) if kind < 5 else _change_shape(rng, array)
    shape, type_, data = list(array.shape), array.dtype.str, array.tobytes()
    if kind == 0:
        shape = pick(rng, WRONG_SHAPES)
    elif kind == 1:
        type_ = pick(rng, WRONG_TYPES)
    elif kind == 2:
        type_, data = "|O", b"\x80\x04N."
    header = f"{{'descr': {type_!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}}}"
    text = header.encode().ljust(117) + b"\n"
    stored = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data
    entry.update(dtype=type_, shape=shape, sha256=hashlib.sha256(stored).hexdigest())
    members[one] = (members[one][0], stored)
    return write_members([(members[0][0], _dump(document)), *members[1:]])


FORGERIES = (forge_bytes, forge_directory, forge_members, forge_document, forge_document,
             forge_text, forge_array, forge_array)  # fmt: skip


def _dump(document):
    return json.dumps(document).encode("ascii", "surrogatepass")


def _list_places(node, found):
    """Every container with every key or index in it."""
    for key in node.keys() if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list):
            _list_places(node[key], found)
    return found


def _change_node(rng, document):
    # What the model is made of, more often than the list of arrays beside it.
    is_inside = rng.random() < 0.85 and isinstance(document.get("model"), dict)
    places = _list_places(document["model"] if is_inside else document, [])
    if not places:
        return
    node, key = pick(rng, places)
    kind = rng.integers(6)
    if kind == 0 and isinstance(node, dict):
        node[pick(rng, WRONG_KEYS)] = node.pop(key)
    elif kind == 1:
        del node[key]
    elif kind == 2:
        other, place = pick(rng, places)
        if place in other or isinstance(other, list):
            node[key] = copy.deepcopy(other[place])
    elif kind == 3 and isinstance(node, dict) and "class" in node:
        node["class"] = pick(rng, [*ATTRIBUTES, *PARTS, *SCALARS, "eval"])
    elif kind == 4 and isinstance(node[key], int | float):
        node[key] = node[key] * pick(rng, [-1, 2, 1000]) + int(rng.integers(-1, 2))
    else:
        node[key] = copy.deepcopy(pick(rng, WRONG_VALUES))


def _change_values(rng, array):
    """Numbers that no fit gives, in some places of an array."""
    changed = array.copy().reshape(-1)
    if not changed.size:
        return array
    where = rng.integers(changed.size, size=rng.integers(1, 4))
    if array.dtype.kind == "b":
        changed[where] = ~changed[where]
    elif array.dtype.kind in WRONG_NUMBERS:
        wrong = np.array(WRONG_NUMBERS[array.dtype.kind])
        changed[where] = rng.choice(wrong, where.size).astype(array.dtype)
    return changed.reshape(array.shape)


def _change_shape(rng, array):
    """Fewer or more rows or columns than belong together."""
    kind = rng.integers(4)
    if kind == 0:
        return array.reshape(-1)
    if kind == 1 and array.ndim:
        return array[:-1]
    if kind == 2 and array.ndim:
        return np.concatenate([array, array])
    return array.T[None]


class Watch:
    """Counts deeds while it is on; an audit hook stays for the life of the process."""

    def __init__(self):
        self.seen, self.allowed, self.is_on = collections.Counter(), (), False
        sys.addaudithook(self.see)

    def see(self, event, details):
        if not self.is_on:
            return
        is_writing = event == "open" and (
            (details[1] is not None and set(details[1]) & set("wax+")) or (details[2] or 0) & 3
        )
        is_deed = event.startswith(DEEDS) and not event.startswith(self.allowed or "\0")
        if is_deed or (is_writing and not self.allowed):
            self.seen[f"{event} {details[:1]}"[:80]] += 1

    def run(self, action, *allowed):
        """The result of an action, watched."""
        self.allowed, self.is_on = allowed, True
        try:
            return action()
        finally:
            self.is_on = False


def ask(model, X):
    """What a model says about samples."""
    methods = [name for name in ("predict", "decision_function") if hasattr(model, name)]
    return [np.asarray(getattr(model, name)(X)) for name in methods]


def open_copy(path, is_forged, expected, X, watch):
    """What came of a copy, in a few words; those with '!' break a promise."""
    try:
        model = watch.run(lambda: imkpl.load(path))
    except ModelFileError as error:
        is_sentence = "cannot be loaded: " in str(error) and str(error).endswith(".")
        return "refused" if is_sentence else f"! no sentence: {error}"
    if MARKUP in model._repr_html_():
        return "! text of the file became markup"
    try:
        answers = watch.run(lambda: ask(model, X), *COMPILER)
    except MemoryError:
        return "! predict takes all memory"
    except Exception as error:
        return "another model, which gives an error" if is_forged else f"! {error!r}"
    if all(np.array_equal(a, b) for a, b in zip(answers, expected, strict=True)):
        return "same model"
    return "another model" if is_forged else "! damaged, and not noticed"


def make_files(folder):
    """Content of a model file, samples and answers of the model, by kind."""
    made = {}
    for kind in KINDS:
        make_model, make_data = jobs.KINDS[kind]
        X, y = make_data(0)
        model, path = make_model().fit(X, y), folder / "model.imkpl"
        imkpl.save(model, path)
        made[kind] = path.read_bytes(), X, ask(imkpl.load(path), X)
        # What prints estimators in error messages is imported on its first use.
        repr(model)
    return made


def main(n_copies):
    """Open so many copies and print the outcomes."""
    warnings.simplefilter("ignore")
    outcomes, broken = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files, path = make_files(folder), folder / "copy.imkpl"
        size = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limit = size * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        watch = Watch()
        for seed in range(n_copies):
            content, X, expected = files[KINDS[seed // 4 % len(KINDS)]]
            rng = np.random.default_rng(seed)
            alter = damage if seed % 4 == 0 else pick(rng, FORGERIES)
            path.write_bytes(alter(rng, content))
            # The last number tells where a crash happened.
            sys.stderr.write(f"{seed}\n")
            try:
                outcome = open_copy(path, alter is not damage, expected, X, watch)
            except BaseException as error:
                outcome = f"! {error!r}"
            outcomes[f"{alter.__name__}: {outcome[:80]}"] += 1
            if outcome.startswith("!") or watch.seen:
                broken.append({"seed": seed, "outcome": outcome, **watch.seen})
                watch.seen.clear()
    sys.stdout.write(json.dumps({"outcomes": dict(sorted(outcomes.items())), "broken": broken}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
