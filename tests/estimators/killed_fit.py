"""A fit in a process of its own that writes down where it is, for tests that kill it."""

import os
import sys
import time
import warnings

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import imkpl
from imkpl import IMKPL
from imkpl._threads import limited_threads
from imkpl.estimators import _checkpoint

N_SAMPLES, N_ROUNDS = 200, 12
# Seconds for which a slow disk holds a file back, twice per file.
HOLD = 0.02


class Log:
    """A file with a line per stage; what was written is there when the process is killed."""

    def __init__(self, path):
        self.handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, text):
        os.write(self.handle, text.encode())

    def flush(self):
        """Nothing is held back."""


def fit_in_a_process(folder, log_path, model_path, is_slow):
    """Fit with a checkpoint, and save the model."""
    log = sys.stderr = Log(log_path)
    warnings.simplefilter("ignore", ConvergenceWarning)
    write_file, fsync = _checkpoint.write_file, os.fsync

    def write_and_say(path, content):
        stage = path.stem.split("-")[-1]
        log.write(f"writing {stage}\n")
        write_file(path, content)
        log.write(f"written {stage}\n")

    def hold(handle):
        time.sleep(HOLD)
        fsync(handle)

    _checkpoint.write_file = write_and_say
    if is_slow:
        os.fsync = hold
    X, y = load_digits(return_X_y=True)
    log.write("ready\n")
    with limited_threads(1):
        model = IMKPL(
            sparsity=5, n_prototypes=15, max_iter=N_ROUNDS, tol=0.0, checkpoint=folder, verbose=1
        )
        model.fit(X[:N_SAMPLES], y[:N_SAMPLES])
    log.write("done\n")
    imkpl.save(model.set_params(checkpoint=None, verbose=0), model_path)
