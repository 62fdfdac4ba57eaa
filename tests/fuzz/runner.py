"""Many cases in child processes: a crash or a hang is a finding, and the next case follows."""

import argparse
import collections
import faulthandler
import subprocess
import sys
import traceback
import warnings

from fuzz.cases import KINDS, SHARES
from fuzz.inputs import from_seed

# Cases per child, and seconds for all of them. A case takes a fraction of a second, but compiling
# a loop for the first time takes many.
CHUNK, TIME_LIMIT = 20, 300.0


def write(*words):
    """Print a line at once: a crash must not lose it."""
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


def run_cases(kind, seeds):
    """Run cases in this process; a line is printed before each and after."""
    for seed in seeds:
        write("start", seed)
        try:
            with warnings.catch_warnings():
                outcome = KINDS[kind](from_seed(seed))
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)[-2:]
            where = " < ".join(f"{f.filename.split('/')[-1]}:{f.lineno}" for f in frames)
            outcome = f"finding {type(error).__name__}: {error} at {where}".replace("\n", " ")
        write("end", seed, outcome)


def run_in_children(kind, first, last):
    """Outcomes by seed; what crashes or hangs is a finding."""
    command = [sys.executable, "-m", "fuzz", "--child"]
    outcomes, seed = {}, first
    while seed < last:
        stop = min(seed + CHUNK, last)
        arguments = [*command, kind, str(seed), str(stop)]
        try:
            done = subprocess.run(arguments, capture_output=True, timeout=TIME_LIMIT, check=False)
            printed, ending = done.stdout, f"finding crash, {done.returncode}: {done.stderr[-300:]}"
        except subprocess.TimeoutExpired as expired:
            printed, ending = expired.stdout or b"", f"finding hang, more than {TIME_LIMIT} seconds"
        started = seed
        for line in printed.decode(errors="replace").splitlines():
            word, number, *outcome = line.split(" ", 2)
            started = int(number)
            if word == "end":
                outcomes[started] = outcome[0]
        if stop - 1 not in outcomes:
            # The case that was started last did not end.
            stop = started + 1
            outcomes.setdefault(started, ending)
        seed = stop
    return outcomes


def main(arguments=None):
    """Run cases and print how many ran; 1 if there were findings."""
    parser = argparse.ArgumentParser(prog="fuzz", description=main.__doc__)
    parser.add_argument("--cases", type=int, default=500, help="of most kinds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="all by default")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        faulthandler.enable()
        kind, first, last = options.child
        run_cases(kind, range(int(first), int(last)))
        return 0
    n_findings = 0
    for kind in options.kind or KINDS:
        last = options.first + max(1, round(options.cases * SHARES.get(kind, 1)))
        outcomes = run_in_children(kind, options.first, last)
        counts = collections.Counter(text.split(" ", 1)[0] for text in outcomes.values())
        write(f"{kind}: {len(outcomes)} cases ({dict(sorted(counts.items()))})")
        for seed, text in outcomes.items():
            if text.startswith("finding"):
                write(f"  seed {seed}: {text}")
        n_findings += counts["finding"]
    return 1 if n_findings else 0
