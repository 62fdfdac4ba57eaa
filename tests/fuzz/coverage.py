"""Coverage-guided fuzzing of the file readers and the model loader with atheris.

``python -m fuzz.coverage readers -runs=20000`` and ``python -m fuzz.coverage models -runs=20000``;
all other arguments are libFuzzer's. Bytes that fail are written to ``crash-*``. atheris is not
among the development dependencies: ``pip install atheris``. Without it ``python -m fuzz --kind
readers --kind "model files"`` alters files at random.
"""

import sys
import tempfile
from pathlib import Path


def main(arguments=None):
    """Fuzz one target until libFuzzer ends."""
    arguments = list(sys.argv if arguments is None else arguments)
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed. Install it with pip install atheris.")
    if len(arguments) < 2 or arguments[1] not in ("readers", "models"):
        sys.exit("Say what to fuzz: readers or models.")
    with atheris.instrument_imports(include=["imkpl.readers", "imkpl.files", "imkpl._archive"]):
        from fuzz import files
    with tempfile.TemporaryDirectory() as corpus:
        if arguments[1] == "readers":
            endings = [ending for ending in files.seeds() if ending != "ts" or files._has_aeon()]
            # The first byte says which ending the file has.
            for place, ending in enumerate(endings):
                Path(corpus, ending).write_bytes(bytes([place]) + files.seeds()[ending])

            def run(data):
                if data:
                    ending = endings[data[0] % len(endings)].split(".")[-1]
                    files.read_bytes(data[1:], ending)
        else:
            for place, (name, document) in enumerate(_documents(files)):
                Path(corpus, f"{place}-{name}").write_bytes(bytes([place]) + document)
            documents = _documents(files)

            def run(data):
                if data:
                    files.load_bytes(_with_member(files, documents, data))

        atheris.Setup([arguments[0], *arguments[2:], corpus], run)
        atheris.Fuzz()


def _documents(files):
    """Name and content of every member of the good model files."""
    from imkpl._archive import unpack
    from imkpl.files import MODEL_FILE

    return [pair for content in files.model_files() for pair in unpack(content, MODEL_FILE).items()]


def _with_member(files, documents, data):
    """The model file of a member, with that member replaced and the seal made anew."""
    from imkpl._archive import pack, unpack
    from imkpl.files import MODEL_FILE

    place, start = data[0] % len(documents), 0
    for content in files.model_files():
        members = unpack(content, MODEL_FILE)
        if place < start + len(members):
            members[documents[place][0]] = data[1:]
            return pack(members, MODEL_FILE)
        start += len(members)
    raise AssertionError("every member belongs to a file")


if __name__ == "__main__":
    main()
