"""Takes model files apart, and puts them together with a checksum that fits."""

import json

import numpy as np
from safetensors import numpy as safetensors

from imkpl.files import DIGEST, TEXT, _digest


def unpack(content):
    """The document and the arrays of a model file."""
    arrays = safetensors.load(content)
    del arrays[DIGEST]
    return json.loads(arrays.pop(TEXT).tobytes()), arrays


def pack(document, arrays):
    """A model file; the document may be any bytes."""
    if not isinstance(document, bytes):
        document = json.dumps(document).encode("ascii")
    arrays = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    arrays[TEXT] = np.frombuffer(document, np.uint8)
    return safetensors.save({**arrays, DIGEST: np.frombuffer(_digest(arrays), np.uint8)})


def list_places(node):
    """Every container in a document, with every key or index in it."""
    found = []
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list):
            found += list_places(node[key])
    return found
