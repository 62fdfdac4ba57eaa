"""Opens mutated copies of model files in a process that is watched, and says what came of them."""

import argparse
import collections
import json
import pathlib
import resource
import sys
import tempfile
import warnings

import numpy as np

import imkpl
from imkpl.files import ModelFileError

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import jobs
import mutations

KINDS = ("vectors", "table", "series", "stack", "path", "landmarks", "selection", "one kernel")
# So much more memory than before may be in use, in bytes.
MEMORY = 2**30
# What code from a file would have to do to have an effect, by the names of Python's audit events.
# Reading the header of an array compiles its literals, and runs nothing.
DEEDS = (
    "code.__new__",
    "cpython.run_",
    "ctypes.",
    "exec",
    "import",
    "marshal.",
    "os.",
    "pickle.",
    "shutil.",
    "socket.",
    "subprocess.",
    "urllib.",
)
# Allowed in `predict` of a forged model: another type of numbers asks Numba for another loop.
COMPILER = ("code.__new__", "ctypes.", "exec", "import", "marshal.", "os.", "pickle.")


class Watch:
    """Counts what is done between `start` and `stop`; for the whole life of the process."""

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

    def start(self, *allowed):
        self.allowed, self.is_on = allowed, True

    def stop(self):
        self.is_on = False


def make_files(folder):
    """A model, its file, and data to ask it about, by kind."""
    made = {}
    for kind in KINDS:
        make_model, make_data = jobs.KINDS[kind]
        X, y = make_data(0)
        model = make_model().fit(X, y)
        path = folder / "model.imkpl"
        imkpl.save(model, path)
        made[kind] = path.read_bytes(), X, ask(imkpl.load(path), X)
        # What prints estimators in error messages is imported on its first use.
        repr(model)
    return made


def ask(model, X):
    """What a model says about samples."""
    return [
        np.asarray(getattr(model, method)(X))
        for method in ("predict", "decision_function")
        if hasattr(model, method)
    ]


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def open_copy(path, watch):
    """The model, or the sentence."""
    watch.start()
    try:
        return imkpl.load(path), None
    except ModelFileError as error:
        return None, str(error)
    finally:
        watch.stop()


def judge(name, model, sentence, expected, X, watch):
    """What came of a copy, in a word or two; a word with '!' breaks a promise."""
    if sentence is not None:
        is_whole = "cannot be loaded: " in sentence and sentence.endswith(".")
        return "refused" if is_whole else f"! no sentence: {sentence[:200]}"
    watch.start(*COMPILER)
    try:
        answers = ask(model, X)
    except MemoryError:
        return "! predict takes all memory"
    except Exception as error:
        word = "another model, which gives an error"
        return word if name != "change_bytes" else f"! {type(error).__name__}: {error}"
    finally:
        watch.stop()
    if same(answers, expected):
        return "same model"
    return "another model" if name != "change_bytes" else "! damaged, and not noticed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("n_copies", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    outcomes, broken = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = make_files(folder)
        size = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limit = size * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        watch, path = Watch(), folder / "copy.imkpl"
        for seed in range(options.first, options.first + options.n_copies):
            content, X, expected = files[KINDS[seed // 4 % len(KINDS)]]
            made_by, copied = mutations.make_copy(seed, content)
            path.write_bytes(copied)
            # Where a crash happened is the last number.
            sys.stderr.write(f"{seed}\n")
            try:
                model, sentence = open_copy(path, watch)
                outcome = judge(made_by, model, sentence, expected, X, watch)
            except BaseException as error:
                outcome = f"! {type(error).__name__}: {error}"
            outcomes[f"{made_by}: {outcome[:80]}"] += 1
            if outcome.startswith("!") or watch.seen:
                broken.append({"seed": seed, "by": made_by, "outcome": outcome, **watch.seen})
                watch.seen.clear()
    found = {"outcomes": dict(sorted(outcomes.items())), "broken": broken}
    sys.stdout.write(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
