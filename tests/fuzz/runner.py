"""Many cases in child processes: a crash or a hang is a finding, and the next case follows."""

import argparse
import collections
import faulthandler
import os
import subprocess
import sys
import time
import traceback
import warnings

from fuzz.kinds import KINDS, SHARES
from fuzz.source import from_seed

# A case takes a fraction of a second; compiling a loop for the first time takes many.
TIME_LIMIT = 300.0
START, END = "start", "end"


def run_cases(kind, seeds, out):
    """Run cases in this process; a line is written before each and after."""
    run = KINDS[kind]
    for seed in seeds:
        print(START, seed, file=out, flush=True)
        try:
            with warnings.catch_warnings():
                outcome = run(from_seed(seed))
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)[-1:]
            if error.__context__ is not None:
                frames = traceback.extract_tb(error.__context__.__traceback__)[-2:] + frames
            where = " < ".join(f"{f.filename.split('/')[-1]}:{f.lineno}" for f in frames)
            outcome = f"finding {type(error).__name__}: {error} at {where}".replace("\n", " ")
        print(END, seed, outcome, file=out, flush=True)


class Tally:
    """How many cases of a kind ran, and what came of them."""

    def __init__(self):
        self.outcomes = collections.Counter()
        self.findings = []

    def add(self, seed, outcome):
        """Count the outcome of a case."""
        is_finding = outcome.startswith("finding")
        self.outcomes["finding" if is_finding else outcome] += 1
        if is_finding:
            self.findings.append((seed, outcome))

    @property
    def n_cases(self):
        """How many cases ran."""
        return sum(self.outcomes.values())


def run_in_children(kind, first, last, *, time_limit=TIME_LIMIT, deadline=None, command=None):
    """Run the cases of a range of seeds, each under a time limit; a tally of what came of them."""
    tally, seed = Tally(), first
    while seed < last and (deadline is None or time.monotonic() < deadline):
        seed = _run_child(kind, seed, last, tally, time_limit, deadline, command)
    return tally


def _run_child(kind, first, last, tally, time_limit, deadline, command):
    """Run one child until it ends, dies or hangs; the seed to go on with."""
    command = command or [sys.executable, "-m", "fuzz", "--child"]
    child = subprocess.Popen(
        [*command, kind, str(first), str(last)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.set_blocking(child.stdout.fileno(), False)
    begun, current, rest = time.monotonic(), first - 1, b""
    running = False
    while True:
        ended = child.poll() is not None
        chunk = child.stdout.read() or b""
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        for line in lines:
            word, seed, *outcome = line.decode(errors="replace").split(" ", 2)
            current, running, begun = int(seed), word == START, time.monotonic()
            if word == END:
                tally.add(current, outcome[0])
        if ended and not chunk:
            if running or child.returncode:
                told = (child.stderr.read() or b"").decode(errors="replace")[-300:]
                tally.add(max(current, first), f"finding crash, {child.returncode}: {told}")
            child.stderr.close()
            child.stdout.close()
            return last if not child.returncode and not running else max(current, first) + 1
        if time.monotonic() - begun > time_limit:
            tally.add(max(current, first), f"finding hang, more than {time_limit} seconds")
            child.kill()
            child.wait()
            child.stdout.close()
            child.stderr.close()
            return max(current, first) + 1
        # The case that is under way does not count.
        if deadline is not None and time.monotonic() > deadline:
            child.kill()
            child.wait()
            child.stdout.close()
            child.stderr.close()
            return last
        time.sleep(0.02)


def _say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments=None):
    """Run cases and print how many ran; 1 if there were findings."""
    parser = argparse.ArgumentParser(prog="fuzz", description=main.__doc__)
    parser.add_argument(
        "--cases",
        type=int,
        default=500,
        help="of most kinds; of fast ones more, of slow ones fewer",
    )
    parser.add_argument("--seconds", type=float, default=None, help="for every kind, at most")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="all by default")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        faulthandler.enable()
        kind, first, last = options.child
        run_cases(kind, range(int(first), int(last)), sys.stdout)
        return 0
    n_findings = 0
    for kind in options.kind or KINDS:
        begun = time.monotonic()
        deadline = None if options.seconds is None else begun + options.seconds
        last = options.first + max(1, round(options.cases * SHARES.get(kind, 1)))
        tally = run_in_children(kind, options.first, last, deadline=deadline)
        parts = ", ".join(f"{count} {name}" for name, count in sorted(tally.outcomes.items()))
        took = time.monotonic() - begun
        _say(f"{kind}: {tally.n_cases} cases in {took:.0f} s ({parts})")
        for seed, what in tally.findings:
            _say(f"  seed {seed}: {what}")
        n_findings += len(tally.findings)
    return 1 if n_findings else 0
