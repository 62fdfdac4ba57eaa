"""Processes that are killed at random moments of a fit, and what a second one makes of the rest."""

import multiprocessing
import re
import signal
import sys
import time
from collections import Counter

import numpy as np
import pytest

from estimators.killed_fit import HOLD, N_ROUNDS, fit_in_a_process

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing can be killed")


class Fits:
    """Fits in a folder, each in a process of its own."""

    def __init__(self, folder):
        self.folder, self.n_fits = folder, 0

    def start(self, checkpoint, *, is_slow):
        """A process that is about to fit, and its log."""
        # Forked from a process that has imported everything once.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["estimators.killed_fit"])
        self.n_fits += 1
        log, model = (self.folder / f"{self.n_fits}.{ending}" for ending in ("log", "imkpl"))
        folder = None if checkpoint is None else self.folder / checkpoint
        arguments = (folder, log, model, is_slow)
        process = context.Process(target=fit_in_a_process, args=arguments)
        process.start()
        wait_for("ready\n", process, log)
        return process, log

    def finish(self, checkpoint, *, is_slow=False):
        """The model file of a fit that comes to its end, its log, and the seconds of two parts.

        The parts are those before the first round, and after it.
        """
        process, log = self.start(checkpoint, is_slow=is_slow)
        moments = [time.monotonic()]
        for pattern in (r"covering|resumed from|round 1/", r"done\n"):
            wait_for(pattern, process, log)
            moments.append(time.monotonic())
        process.join()
        assert process.exitcode == 0
        return log.with_suffix(".imkpl").read_bytes(), log.read_text(), np.diff(moments)

    def kill(self, checkpoint, seconds, *, is_slow, n_lines=0):
        """The log of a fit that is killed so many seconds after so many lines in it.

        None if it had come to its end.
        """
        process, log = self.start(checkpoint, is_slow=is_slow)
        wait_for(rf"(.*\n){{{n_lines}}}", process, log)
        time.sleep(seconds)
        process.kill()
        process.join()
        text = log.read_text()
        return None if "done\n" in text else text


def wait_for(pattern, process, log):
    """Until the pattern is in the log."""
    while not (log.exists() and re.search(pattern, log.read_text())):
        assert process.is_alive() or re.search(pattern, log.read_text())
        time.sleep(0.005)


def count_kept(log):
    """The rounds that are kept at the end of a log."""
    resumed = re.search(r"resumed from round (\d+) of", log)
    before = int(resumed[1]) if resumed else 0
    return before + log.count("written round")


STAGES = {
    "learning": "learning bandwidths",
    "weighing": "weighing kernels",
    "covering": "covering",
    "writing round": "writing a round",
    "written": "in a round",
    "round": "in a round",
    "resumed": "in a round",
    "calibrating": "calibrating",
}


def name_stage(log):
    """Where a log ends."""
    last = re.sub(r"^\[\w+\] ", "", log.splitlines()[-1])
    return next((name for start, name in STAGES.items() if last.startswith(start)), "reading")


def check_goes_on(fits, checkpoint, killed, expected):
    """A second fit goes on with the last round that was kept, and ends with the same file."""
    content, log, _ = fits.finish(checkpoint)
    resumed = re.search(r"resumed from round (\d+) of", log)
    n_found, n_kept = int(resumed[1]) if resumed else 0, count_kept(killed)
    # The last file may be there although the line that says so is not.
    assert n_found in (n_kept, n_kept + killed.endswith("writing round\n"))
    assert content == expected


def test_a_fit_that_is_killed_twice_ends_with_the_same_model(tmp_path):
    fits, rng = Fits(tmp_path), np.random.default_rng()
    expected, _, parts = fits.finish("whole", is_slow=True)
    whole = parts.sum()
    killed, n_killed, n_ended = "", 0, 0
    while n_killed < 2:
        text = fits.kill(f"killed{n_ended}", rng.uniform(0, whole / 4), is_slow=True)
        if text is None:
            # It had come to its end, because the machine has become faster: begin again.
            n_killed, n_ended, whole = 0, n_ended + 1, whole / 2
        else:
            killed, n_killed = text, n_killed + 1
    check_goes_on(fits, f"killed{n_ended}", killed, expected)


@pytest.mark.faults
def test_twenty_fits_that_are_killed_at_random_end_with_the_same_model(tmp_path, capsys):
    fits, rng, stages = Fits(tmp_path), np.random.default_rng(), Counter()
    expected, log, parts = fits.finish(None)
    # Compiled code is loaded before the rounds, and that takes most of the time. So every other
    # kill falls after any of the lines of the log, on a slow disk: into the writing of files, too.
    n_lines, whole, n_tried = 1 + log.count("\n") + 2 * N_ROUNDS, parts.sum(), 0
    while stages.total() < 20:
        n_tried += 1
        if stages.total() % 2 == 0:
            killed = fits.kill(str(n_tried), rng.uniform(0, whole), is_slow=False)
        else:
            after, seconds = int(rng.integers(1, n_lines)), rng.uniform(0, HOLD)
            killed = fits.kill(str(n_tried), seconds, is_slow=True, n_lines=after)
        if killed is None:
            # The machine has become faster.
            whole /= 2
            continue
        stages[name_stage(killed)] += 1
        check_goes_on(fits, str(n_tried), killed, expected)
    with capsys.disabled():
        sys.stdout.write(f"\n{n_tried} fits, {stages.total()} killed: {dict(stages)}\n")
