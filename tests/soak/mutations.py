"""Copies of a model file that are not what was saved: damaged, or forged with fitting checksums."""

import copy
import hashlib
import io
import json
import struct
import zipfile

import numpy as np

from imkpl._archive import DIGITS
from imkpl.files import ESTIMATORS, MODEL_FILE, PARTS, SCALARS

SEAL_SIZE = len(MODEL_FILE.seal) + DIGITS
WRONG_NAMES = (
    "../../outside.npy",
    "/etc/passwd",
    "arrays/../model.json",
    "arrays/0.npy/",
    "arrays\\0.npy",
    "",
    "a" * 60_000,
    "arrays/\x00.npy",
    "CON",
)
WRONG_VALUES = (
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**63),
    10**400,
    1e308,
    0.5,
    "",
    "1",
    "os.system",
    "__import__('os').system('true')",
    "\ud800",
    "x" * 100_000,
    [],
    [[]],
    {},
    {"type": "array", "name": "0"},
    {"type": "float", "value": "nan"},
    {"type": "tuple", "items": []},
    {"type": "dict", "items": [[[], 1]]},
    {"type": "dtype", "value": "|O"},
    {"type": "part", "class": "Gaussian", "fields": {}},
    {"type": "estimator", "class": "IMKPL", "parameters": {}, "attributes": {}, "requests": {}},
    {"type": "objects", "shape": [2**40, 0], "items": []},
    {"type": "scalar", "name": "str_", "value": "a"},
)
WRONG_KEYS = ("__class__", "__dict__", "__reduce__", "fit", "predict", "_predictor", "x_", "type")
WRONG_TEXTS = ("NaN", "Infinity", "-Infinity", "1e999", "[" * 5000, "{" * 5000, '"\\ud800"')
WRONG_SHAPES = ([2**62, 4], [-1], [2**63], [10**400], [0], [], [1] * 70, [2.5], ["3"], [True])
WRONG_TYPES = ("|O", "<f2", "<f4", ">f8", "<c16", "<i8", "<u1", "|b1", "<U3", "|S8", "<M8[s]", "V8")


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
        archive.comment = MODEL_FILE.seal + bytes(64)
    return seal(stream.getvalue()[:-64])


def change_bytes(rng, content):
    """Other bytes: single bits, a stretch of noise or zeros, cut, added, moved or repeated."""
    changed = bytearray(content)
    start = int(rng.integers(len(content)))
    stop = min(len(content), start + int(rng.integers(1, 2000)))
    kind = rng.integers(8)
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
        del changed[start:stop]
    elif kind == 5:
        changed[start:start] = rng.bytes(stop - start)
    elif kind == 6:
        changed += content[start:stop]
    else:
        moved = bytes(changed[start:stop])
        del changed[start:stop]
        place = int(rng.integers(len(changed) + 1))
        changed[place:place] = moved
    return bytes(changed)


def forge_bytes(rng, content):
    """Changed bytes before the seal, and a seal that fits."""
    return seal(change_bytes(rng, content[:-SEAL_SIZE]) + content[-SEAL_SIZE:-64])


def forge_directory(rng, content):
    """Sizes, offsets, flags and methods in the headers of the archive that are not so."""
    changed = bytearray(content[:-64])
    headers = {
        b"PK\x01\x02": (46, (8, 10, 20, 24, 28, 30, 42)),
        b"PK\x03\x04": (30, (6, 8, 18, 22)),
    }
    mark = list(headers)[int(rng.integers(2))]
    places = [at for at in range(len(changed)) if changed.startswith(mark, at)]
    at = int(rng.choice(places))
    field = int(rng.choice(headers[mark][1]))
    value = int(rng.choice([0, 1, 8, 12, 14, 2**15, 2**16 - 1]))
    struct.pack_into("<H", changed, at + field, value)
    if field in (18, 20, 22, 24, 42):
        struct.pack_into("<H", changed, at + field + 2, int(rng.choice([0, 2**15, 2**16 - 1])))
    return seal(bytes(changed))


def forge_members(rng, content):
    """Members with other names, twice, missing, exchanged, or compressed beyond all measure."""
    members = read_members(content)
    one, other = (int(i) for i in rng.integers(1, len(members), 2))
    kind = rng.integers(7)
    if kind == 0:
        members[one] = (str(rng.choice(WRONG_NAMES)), members[one][1])
    elif kind == 1:
        members.append((str(rng.choice(WRONG_NAMES)), b"x"))
    elif kind == 2:
        members.append(members[one])
    elif kind == 3:
        del members[one]
    elif kind == 4:
        first, second = members[one], members[other]
        members[one], members[other] = (first[0], second[1]), (second[0], first[1])
    elif kind == 5:
        members[one] = (members[one][0], bytes(int(rng.integers(1, 30)) * 2**20))
        return write_members(members, zipfile.ZIP_DEFLATED)
    else:
        members[one] = (members[one][0], b"")
    return write_members(members)


def forge_document(rng, content):
    """One to three places of the document with another value, key or type."""
    members = read_members(content)
    document = json.loads(members[0][1])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _change_node(rng, document)
    return write_members([(members[0][0], _dump(document)), *members[1:]])


def forge_text(rng, content):
    """A document with something between its signs that is no value of a model."""
    members = read_members(content)
    text = bytearray(members[0][1])
    places = [at for at, sign in enumerate(text) if sign in b"0123456789"]
    at = int(rng.choice(places))
    text[at : at + 1] = str(rng.choice(WRONG_TEXTS)).encode()
    return write_members([(members[0][0], bytes(text)), *members[1:]])


def forge_array(rng, content):
    """An array with other values, another type or shape, and an entry that says the same."""
    members = read_members(content)
    document = json.loads(members[0][1])
    one = int(rng.integers(1, len(members)))
    entry = document["arrays"][members[one][0].removeprefix("arrays/").removesuffix(".npy")]
    array = np.load(io.BytesIO(members[one][1]), allow_pickle=False)
    kind = rng.integers(6)
    if kind == 0:
        shape, type_ = WRONG_SHAPES[rng.integers(len(WRONG_SHAPES))], array.dtype.str
        stored = _npy(type_, shape, array.tobytes())
    elif kind == 1:
        shape, type_ = list(array.shape), str(rng.choice(WRONG_TYPES))
        stored = _npy(type_, shape, array.tobytes())
    elif kind == 2:
        shape, type_ = list(array.shape), "|O"
        stored = _npy(type_, shape, b"\x80\x04N.")
    else:
        array = _change_values(rng, array) if kind < 5 else _change_shape(rng, array)
        shape, type_ = list(array.shape), array.dtype.str
        stored = _npy(type_, shape, array.tobytes())
    entry.update(dtype=type_, shape=shape, sha256=hashlib.sha256(stored).hexdigest())
    members[one] = (members[one][0], stored)
    return write_members([(members[0][0], _dump(document)), *members[1:]])


FORGERIES = (
    forge_bytes,
    forge_directory,
    forge_members,
    forge_document,
    forge_document,
    forge_text,
    forge_array,
    forge_array,
)


def make_copy(seed, content):
    """A copy of a file, and how it was made: three quarters of them are forged."""
    rng = np.random.default_rng(seed)
    make = change_bytes if seed % 4 == 0 else FORGERIES[rng.integers(len(FORGERIES))]
    return make.__name__, make(rng, content)


def _dump(document):
    # A name that stands twice, as no writer would leave it, is left to forge_text.
    return json.dumps(document).encode("ascii", "surrogatepass")


def _npy(type_, shape, data):
    header = f"{{'descr': {type_!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}}}"
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def _list_places(node, found):
    """Every container with every key or index in it."""
    keys = node.keys() if isinstance(node, dict) else range(len(node))
    for key in keys:
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
    node, key = places[rng.integers(len(places))]
    kind = rng.integers(6)
    if kind == 0 and isinstance(node, dict):
        node[str(rng.choice(WRONG_KEYS))] = node.pop(key)
    elif kind == 1:
        del node[key]
    elif kind == 2:
        other, place = places[rng.integers(len(places))]
        if place in other or isinstance(other, list):
            node[key] = copy.deepcopy(other[place])
    elif kind == 3 and isinstance(node, dict) and "class" in node:
        node["class"] = str(rng.choice([*ESTIMATORS, *PARTS, *SCALARS, "eval"]))
    elif kind == 4 and isinstance(node[key], int | float):
        node[key] = node[key] * int(rng.choice([-1, 2, 1000])) + int(rng.integers(-1, 2))
    else:
        node[key] = copy.deepcopy(WRONG_VALUES[rng.integers(len(WRONG_VALUES))])


def _change_values(rng, array):
    """Numbers that no fit gives, in some places of an array."""
    changed = array.copy().reshape(-1)
    if not changed.size:
        return array
    where = rng.integers(changed.size, size=rng.integers(1, 4))
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        changed[where] = rng.choice([limits.min, limits.max, limits.max // 2, 0, 99], where.size)
    elif array.dtype.kind == "f":
        changed[where] = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, 0, -1], where.size)
    elif array.dtype.kind == "b":
        changed[where] = ~changed[where]
    return changed.reshape(array.shape)


def _change_shape(rng, array):
    """Fewer or more rows or columns than belong together."""
    flat = array.reshape(-1)
    kind = rng.integers(4)
    if kind == 0:
        return flat
    if kind == 1 and array.ndim:
        return array[:-1]
    if kind == 2 and array.ndim:
        return np.concatenate([array, array])
    return array.T[None]
