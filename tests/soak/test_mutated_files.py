"""Model files that were altered, also by somebody who can compute checksums."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parent / "open_copies.py"
# A file that keeps its reader busy for ever is a failure.
PATIENCE = 7200


def open_copies(n_copies):
    """What came of so many copies, after all promises were checked."""
    done = subprocess.run(
        [sys.executable, SCRIPT, str(n_copies)],
        env=os.environ | {"NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    # A crash of the interpreter is a negative number; the copy is the last line of stderr.
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    # No other exception, no code, no file written, no memory beyond the limit.
    assert found["broken"] == []
    assert sum(found["outcomes"].values()) == n_copies
    return found["outcomes"]


def check_reach(outcomes):
    """The copies are of all kinds: without forgeries that load, the reader was not tested."""
    assert outcomes["change_bytes: refused"] > 0
    assert outcomes["forge_array: refused"] > 0
    assert outcomes["forge_array: another model"] > 0
    assert outcomes["forge_document: refused"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="Memory is limited by Linux.")
def test_two_hundred_altered_files_give_a_model_or_a_sentence():
    check_reach(open_copies(200))


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="Memory is limited by Linux.")
def test_ten_thousand_altered_files_give_a_model_or_a_sentence():
    outcomes = open_copies(10_000)
    check_reach(outcomes)
    assert sum(n for name, n in outcomes.items() if name.startswith("forge_")) == 7500
