"""Cases for files: good ones that were altered at random, read as anyone's file would be."""

import functools
import io
import pathlib
import tempfile

import numpy as np
import scipy.sparse as sp

from fuzz import oracle
from fuzz.estimators import FITTED, REFUSED
from imkpl import IMKPL, ISKPL, load, save
from imkpl.readers import ReadOptions, read_training_file

N = 12
# What often stands at a border of what is allowed.
EDGES = [b"\x00", b"\xff", b"\x7f", b"\x80", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00" * 8]
WORDS = [b"nan", b"inf", b"1e999", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"\r\n", b"?", b"@",
         b"{", b"}", b"%", b"\xef\xbb\xbf", b"\xff\xfe", b"@data", b"-", b"9" * 400, b"0x1",
         b"None", b"\xe2\x80\xae", b"=1+1", b":"]  # fmt: skip

ARFF = """@relation a
@attribute a numeric
@attribute b real
@attribute colour {red, blue}
@attribute kind {cat, dog}
@data
""" + "".join(
    f"{i}.5,{i % 3},{'red' if i % 2 else '?'},{'cat' if i % 3 else 'dog'}\n" for i in range(N)
)
TS = "@problemName p\n@timestamps false\n@univariate true\n@equalLength true\n"
TS += "@classLabel true a b\n@data\n" + "".join(f"{i},{i + 1},3:{'ab'[i % 2]}\n" for i in range(N))


@functools.cache
def seeds():
    """Good files by their endings."""
    import pandas as pd
    from scipy.io import savemat

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((N, 3)).round(3), np.arange(N) % 2
    frame = pd.DataFrame(X, columns=["a", "b", "c d"]).assign(
        colour=np.where(y, "red", None), kind=np.where(y, "cat", "dog")
    )
    out = {}
    for ending, write in {
        "csv": lambda f: f.write(frame.to_csv(index=False).encode()),
        "tsv": lambda f: f.write(frame.to_csv(index=False, sep="\t").encode()),
        "arff": lambda f: f.write(ARFF.encode()),
        "npz": lambda f: np.savez(f, X=X, y=y, feature_names=["a", "b", "c"]),
        "mat": lambda f: savemat(f, {"X": X, "Y": y, "names": "abc"}),
        "compressed.mat": lambda f: savemat(f, {"X": X, "Y": y}, do_compression=True),
        "sparse.mat": lambda f: savemat(f, {"X": sp.csc_array(X), "Y": y}),
        "cells.mat": lambda f: savemat(f, {"X": X, "Y": frame["kind"].to_numpy(object)}),
        "v4.mat": lambda f: savemat(f, {"X": X, "Y": y}, format="4"),
        "parquet": frame.to_parquet,
        "feather": frame.to_feather,
        "ts": lambda f: f.write(TS.encode()),
    }.items():
        stream = io.BytesIO()
        write(stream)
        out[ending] = stream.getvalue()
    return out


@functools.cache
def model_files():
    """Good model files of several kinds."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((16, 3)), np.arange(16) % 2
    table = [[float(a), "red" if b > 0 else None] for a, b, _ in X]
    models = [
        IMKPL(sparsity=2, n_neighbors=2).fit(X, y),
        ISKPL("rbf", sparsity=2, decision="share").fit(X, np.where(y, "a", "\u202e")),
        IMKPL("per_column", sparsity=2, n_neighbors=2).fit(table, y),
    ]
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            path = pathlib.Path(folder) / "m.imkpl"
            save(model, path)
            out.append(path.read_bytes())
    return out


def mutate(source, content):
    """The bytes with one to eight alterations."""
    data = bytearray(content)
    kinds = ["byte", "bit", "edge", "swap"]
    # Half of the files keep their length, so that readers come further than the first size.
    if source.chance(50):
        kinds += ["word", "cut", "drop", "repeat"]
    for _ in range(source.whole(1, 8)):
        place = source.whole(0, max(len(data) - 1, 0))
        kind = source.pick(kinds)
        if kind == "byte" and data:
            data[place] = source.whole(0, 255)
        elif kind == "bit" and data:
            data[place] ^= 1 << source.whole(0, 7)
        elif kind == "edge":
            edge = source.pick(EDGES)
            data[place : place + len(edge)] = edge
        elif kind == "word":
            data[place:place] = source.pick(WORDS)
        elif kind == "cut" and source.chance(30):
            del data[place:]
        elif kind == "drop":
            del data[place : place + source.whole(1, 16)]
        elif kind == "repeat":
            data[place:place] = data[place : place + source.whole(1, 64)] * source.whole(1, 4)
        elif kind == "swap":
            other = source.whole(0, max(len(data) - 1, 0))
            data[place : place + 4], data[other : other + 4] = (
                data[other : other + 4],
                data[place : place + 4],
            )
    return bytes(data)


def read_bytes(content, ending):
    """Read a data file; a finding unless it is data or a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"a.{ending}"
        path.write_bytes(content)
        target = None if ending.split(".")[-1] in ("mat", "npz", "ts", "arff") else "kind"
        options = ReadOptions(target=target)
        data, error = oracle.attempt(lambda: read_training_file(path, options))
    if error is not None:
        return REFUSED
    oracle.require(len(data) > 0, "no rows")
    oracle.require(data.y is None or len(data.y) == len(data), "another number of labels")
    oracle.require(len(data.ids) == len(data), "another number of names")
    oracle.require(all(isinstance(note, str) for note in data.notes), "notes that are no text")
    return FITTED


def reader_case(source):
    """A data file that was altered."""
    endings = list(seeds())
    ending = source.pick(endings)
    if ending == "ts" and not _has_aeon():
        ending = "csv"
    return read_bytes(mutate(source, seeds()[ending]), ending.split(".")[-1])


def load_bytes(content):
    """Load a model file; a finding unless it is a model or a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.imkpl"
        path.write_bytes(content)
        model, error = oracle.attempt(lambda: load(path))
    if error is not None:
        return REFUSED
    oracle.require(hasattr(model, "get_params"), "not a model")
    return FITTED


def model_case(source):
    """A model file that was altered, its seal broken or made anew."""
    import hashlib

    content = source.pick(model_files())
    altered = mutate(source, content)
    if source.chance(80) and len(altered) > 64:
        # Under a fitting seal the alterations reach what lies behind it.
        altered = altered[:-64] + hashlib.sha256(altered[:-64]).hexdigest().encode()
    if source.chance(40):
        altered = _alter_document(source, content)
    return load_bytes(altered)


def _alter_document(source, content):
    """The same members with a document that was altered as text, sealed as `save` does it."""
    from imkpl._archive import pack, unpack
    from imkpl.files import MODEL_FILE

    members = unpack(content, MODEL_FILE)
    name = source.pick(sorted(members))
    members[name] = mutate(source, members[name])
    return pack(members, MODEL_FILE)


@functools.cache
def _has_aeon():
    import importlib.util

    return importlib.util.find_spec("aeon") is not None
