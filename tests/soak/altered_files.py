"""Opens altered copies of model files in a process that is watched, and prints what came of them.

A quarter of the copies is damaged; the others are forged: their checksums match.
"""

import collections
import copy
import json
import pathlib
import resource
import sys
import tempfile
import warnings

import numpy as np

import imkpl
from imkpl.files import ESTIMATORS, PARTS, ModelFileError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import jobs
from forgeries import list_places, pack, unpack

KINDS = tuple(kind for kind in jobs.KINDS if kind != "single precision")
# Bytes of memory that loading may take.
MEMORY = 2**30
# Audit events of what code from a file would have to do to have an effect.
DEEDS = ("code.__new__", "compile", "cpython.run_", "ctypes.", "exec", "import", "marshal.", "os.",
         "pickle.", "shutil.", "socket.", "subprocess.", "urllib.")  # fmt: skip
# Allowed in `predict` of a forged model: another type of numbers asks Numba for another loop.
COMPILER = ("code.__new__", "compile", "ctypes.", "exec", "import", "marshal.", "os.", "pickle.")

MARKUP = "<b id=forged>"
WRONG_VALUES = (
    None, True, -1, 0, 2**63, 10**400, 1e308, 0.5, "", "1", "__import__('os').system('true')",
    "\ud800", "x" * 100_000, MARKUP, [], [[]], {}, {"array": "C"}, {"array": "text"},
    {"csr": [2, 2]}, {"float": "nan"}, {"tuple": []}, {"dict": [[[], 1]]},
    {"type": "object"}, {"Gaussian": {}},
    {"objects": []},
)  # fmt: skip
WRONG_KEYS = ("__class__", "__dict__", "__reduce__", "fit", "predict", "_predictor", "x_", "class",
              "_doc_link_module", "_doc_link_template", "__doc__", "n_channels_in_")  # fmt: skip
WRONG_TEXTS = ("NaN", "Infinity", "1e999", "[" * 5000, "{" * 5000, '"\\ud800"')
WRONG_NAMES = ("../../outside", "/etc/passwd", "", "a" * 60_000, "\x00", "__metadata__", "x_")
WRONG_TYPES = ("f2", "f4", "f8", "i8", "i1", "u4", "?")
WRONG_NUMBERS = {
    "f": [np.nan, np.inf, -np.inf, 1e300, -1e300, 0, -1],
    "i": [-(2**31), 2**31 - 1, 0, 99],
}


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


def forge_header(rng, content):
    """Other types, shapes, offsets and names in the list of arrays."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    node, key = pick(rng, list_places(header))
    node[key] = pick(rng, ["F64", "BF16", "I8", -1, 0, 2**62, 2**64, [], [0], [2**40, 0], [1] * 70])
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def forge_names(rng, content):
    """Arrays with other names, missing, or exchanged."""
    document, arrays = unpack(content)
    one, other = pick(rng, list(arrays)), pick(rng, list(arrays))
    kind = rng.integers(4)
    if kind == 0:
        arrays[pick(rng, WRONG_NAMES)] = arrays.pop(one)
    elif kind == 1:
        arrays[pick(rng, WRONG_NAMES)] = np.zeros(1)
    elif kind == 2:
        del arrays[one]
    else:
        arrays[one], arrays[other] = arrays[other], arrays[one]
    return pack(document, arrays)


def forge_document(rng, content):
    """One to three places of the document with another value, key or class."""
    document, arrays = unpack(content)
    for _ in range(pick(rng, [1, 1, 1, 2, 3])):
        _change_node(rng, document)
    return pack(document, arrays)


def forge_text(rng, content):
    """A text with something in the place of a digit that no model has."""
    document, arrays = unpack(content)
    text = bytearray(json.dumps(document).encode())
    at = pick(rng, [at for at, sign in enumerate(text) if sign in b"0123456789"])
    text[at : at + 1] = pick(rng, WRONG_TEXTS).encode()
    return pack(bytes(text), arrays)


def forge_array(rng, content):
    """An array with other values, another type or shape."""
    document, arrays = unpack(content)
    name = pick(rng, list(arrays))
    kind = rng.integers(4)
    if kind == 0:
        arrays[name] = np.zeros(pick(rng, [(2**40, 0), (0,), (), (1,) * 30]))
    elif kind == 1:
        with np.errstate(invalid="ignore"):
            arrays[name] = arrays[name].astype(pick(rng, WRONG_TYPES))
    elif kind == 2:
        arrays[name] = _change_values(rng, arrays[name])
    else:
        arrays[name] = _change_shape(rng, arrays[name])
    return pack(document, arrays)


FORGERIES = (forge_header, forge_names, forge_document, forge_document, forge_text, forge_array,
             forge_array)  # fmt: skip


def _change_node(rng, document):
    # What the model is made of, more often than what is beside it.
    is_inside = rng.random() < 0.85 and isinstance(document.get("model"), dict)
    places = list_places(document["model"] if is_inside else document)
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
    elif kind == 3 and isinstance(node, dict):
        node[pick(rng, [*ESTIMATORS, *PARTS, "eval"])] = node.pop(key)
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
