"""Tables and the picture of docs/scaling.md, from what was measured and simulated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from scaling.passes import Size, client_arrays, draw_rounds, list_passes

PAGE, PICTURE = Path("docs/scaling.md"), Path("docs/images/scaling.svg")
STAGES = {
    "persist": "read once and keep",
    "read": "read",
    "order": "distinct and sorted",
    "bandwidths": "bandwidths",
    "landmarks": "landmarks",
    "learning": "learning from landmarks",
    "calibration": "calibration",
    "codes": "codes",
}
# What the end of a stage waits for, in the words of the page.
WAITS = {
    "read": "reading partitions",
    "client": "the client",
    "scheduler": "the scheduler",
    "transfer": "transfers",
    "gather": "transfers",
    "job": "transfers",
}
WORDS = {"sort": "the first sample is fetched (sorting)", "rest": "the end"}
COLORS = {
    "computing": "#4477aa",
    "reading partitions": "#66ccee",
    "the client": "#ee6677",
    "the scheduler": "#ccbb44",
    "transfers": "#228833",
}


def write_page(measured: dict[str, Any]) -> None:
    """Put the tables between their marks, and draw the picture.

    Parameters
    ----------
    measured : dict
        What was measured and simulated.
    """
    text = PAGE.read_text()
    tables = {
        "constants": constants_table(measured),
        "client": client_table(measured),
        "validation": validation_table(measured),
        "stages": stages_table(measured),
        "simulated": simulated_table(measured),
        "critical": critical_table(measured),
        "held": held_table(measured),
    }
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text)
    draw(measured)


def say_seconds(seconds: float) -> str:
    """Seconds in a unit that reads well.

    Parameters
    ----------
    seconds : float
        How many.

    Returns
    -------
    str
        Such as "3.2 h".

    Examples
    --------
    >>> say_seconds(11520.0), say_seconds(12.3), say_seconds(3e-9)
    ('3.2 h', '12 s', '3 ns')
    """
    units = {"d": 86400.0, "h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 0.0}
    fitting = (unit for unit, n in units.items() if seconds >= (2 * n if n > 1 else n))
    unit = next(fitting)
    number = seconds / (units[unit] or 1e-9)
    return f"{number:.2g} {unit}" if number < 99.5 else f"{number:.0f} {unit}"


def say_bytes(number: float) -> str:
    """Bytes in a unit that reads well.

    Parameters
    ----------
    number : float
        How many.

    Returns
    -------
    str
        Such as "800 MB".

    Examples
    --------
    >>> say_bytes(8e8), say_bytes(0.0)
    ('800 MB', '0')
    """
    for length, unit in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")]:
        if number >= length:
            return f"{number / length:.3g} {unit}"
    return f"{number:.0f}"


def constants_table(measured: dict[str, Any]) -> str:
    """Constants of the workers, with the ratios measured / predicted."""
    units = {
        "summarize": "value: digests, smallest, largest",
        "columns": "value: rows taken out, 8 columns returned",
        "take": "value of the rows that are fetched",
        "largest": "value: largest magnitude",
        "moments": "value: exact sums of values and squares",
        "nearest": "kernel value: sample, feature, new landmark",
        "similarity": "kernel value: sample, live kernel, support sample",
        "pursuit": "the same, with the code of the sample",
    }
    lines = [
        "| term | per | constant | measured / predicted | held / formula |",
        "|---|---|---|---|---|",
    ]
    for term, unit in units.items():
        row = measured["workers"][term]
        ratios = ", ".join(f"{case['ratio']:.2f}" for case in row["cases"])
        lines.append(
            f"| `{term}` | {unit} | {say_seconds(row['seconds'])} | {ratios} | {row['held']:.2f} |"
        )
    scheduler = measured["scheduler"]
    ratios = ", ".join(f"{case['ratio']:.2f}" for case in scheduler["cases"])
    lines += [
        f"| scheduler and client | task | {say_seconds(scheduler['seconds'])} | {ratios} | |",
        "| the same | byte that travels with a task | "
        f"{say_seconds(scheduler['seconds_per_byte'])} | | |",
        f"| disk | | {say_bytes(measured['disk']['bytes_per_second'])}/s | | |",
    ]
    return "\n".join(lines)


def client_table(measured: dict[str, Any]) -> str:
    """What the client does per sample before it asks the cluster."""
    lines = [
        "| before | per sample | at 10^8 samples | measured / predicted |",
        "|---|---|---|---|",
    ]
    for name, row in measured["client"].items():
        ratios = ", ".join(f"{case['ratio']:.2f}" for case in row["cases"])
        label = WORDS.get(name, f"`{name}`")
        total = say_seconds(row["seconds"] * 1e8)
        lines.append(f"| {label} | {say_seconds(row['seconds'])} | {total} | {ratios} |")
    return "\n".join(lines)


def validation_table(measured: dict[str, Any]) -> str:
    """Sleeping tasks on a real cluster beside the simulation."""
    lines = [
        "| partitions | reading | computing | found | simulated | found / simulated |",
        "|---|---|---|---|---|---|",
    ]
    for row in measured["validation"]:
        lines.append(
            f"| {row['n_parts']} | {row['read']} s | {row['work']} s | {row['found']:.1f} s | "
            f"{row['simulated']:.1f} s | {row['ratio']:.2f} |"
        )
    return "\n".join(lines)


def stages_table(measured: dict[str, Any]) -> str:
    """Passes of every stage at the real size: work, bytes moved and held."""
    from scaling.__main__ import real_size

    size = real_size(measured)
    lines = [
        "| stage | call | times | tasks | seconds of one task | to workers | to the client | "
        "held by a task |",
        "|---|---|---|---|---|---|---|---|",
    ]
    steps: Counter[Any] = Counter(list_passes(size))
    for step, times in steps.items():
        constant = measured["workers"][step.term]
        sent = step.n_tasks * step.sent_bytes + 100 * step.common_bytes
        held = size.part_bytes + constant["held"] * step.held_bytes + step.result_bytes
        lines.append(
            f"| {STAGES[step.stage]} | `{step.name}` | {times} | {step.n_tasks:,} | "
            f"{say_seconds(constant['seconds'] * step.count)} | {say_bytes(sent)} | "
            f"{say_bytes(step.n_tasks * step.result_bytes)} | {say_bytes(held)} |"
        )
    return "\n".join(lines)


def simulated_table(measured: dict[str, Any]) -> str:
    """Stages against numbers of workers."""
    runs = measured["simulated"]
    heads = [f"{r['n_workers']:,}{', kept' if r['is_persisted'] else ''}" for r in runs]
    lines = [f"| workers | {' | '.join(heads)} |", "|---" * (len(runs) + 1) + "|"]
    for name, label in STAGES.items():
        cells = [
            say_seconds(r["stages"][name]["seconds"]) if name in r["stages"] else "" for r in runs
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    totals = [sum(s["seconds"] for s in r["stages"].values()) for r in runs]
    busy = [sum(s["busy"] for s in r["stages"].values()) for r in runs]
    rows = {
        "**whole fit**": [f"**{say_seconds(total)}**" for total in totals],
        "any number of workers, no transfers": [
            say_seconds(sum(s["unbounded"] for s in r["stages"].values())) for r in runs
        ],
        "workers are busy": [
            f"{100 * b / t / r['n_workers']:.0f} %"
            for b, t, r in zip(busy, totals, runs, strict=True)
        ],
        "tasks": [f"{sum(s['n_tasks'] for s in r['stages'].values()):,}" for r in runs],
        "to the client": [_sum_bytes(r, "client_bytes") for r in runs],
        "from the scheduler": [_sum_bytes(r, "scheduler_bytes") for r in runs],
        "among workers": [_sum_bytes(r, "worker_bytes") for r in runs],
        "most that a worker holds": [
            say_bytes(max(s["peak_bytes"] for s in r["stages"].values())) for r in runs
        ],
    }
    return "\n".join(lines + [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()])


def _sum_bytes(run: dict[str, Any], what: str) -> str:
    return say_bytes(sum(stage[what] for stage in run["stages"].values()))


def _waits(stage: dict[str, Any]) -> Counter[str]:
    waits: Counter[str] = Counter()
    for what, seconds in stage["chain"].items():
        waits[WAITS.get(what, "computing")] += seconds
    return waits


def critical_table(measured: dict[str, Any]) -> str:
    """What the end of every stage waits for, with 100 workers that read partitions anew."""
    run = _run_of(measured, 100)
    lines = [
        f"| stage | {' | '.join(COLORS)} | the longest link |",
        "|---" * (len(COLORS) + 2) + "|",
    ]
    for name, stage in run["stages"].items():
        waits = _waits(stage)
        what, seconds = max(stage["chain"].items(), key=lambda pair: pair[1])
        cells = [say_seconds(waits[color]) if waits[color] >= 0.1 else "" for color in COLORS]
        share = 100 * seconds / stage["seconds"]
        lines.append(f"| {STAGES[name]} | {' | '.join(cells)} | `{what}`, {share:.0f} % |")
    return "\n".join(lines)


def held_table(measured: dict[str, Any]) -> str:
    """Arrays of the client."""
    from scaling.__main__ import real_size

    size: Size = real_size(measured)
    lines = ["| what | formula at 10^8 samples |", "|---|---|"]
    lines += [f"| {what} | {say_bytes(number)} |" for what, number in client_arrays(size)]
    per_sample = measured["client_held"]["bytes_per_sample"]
    lines.append(
        f"| largest sum of all, measured: {per_sample:.0f} bytes per sample | "
        f"**{say_bytes(per_sample * size.n_samples)}** |"
    )
    lines.append(
        f"| rounds of draws, of which all but the last compare all samples | "
        f"{len(draw_rounds(size.n_landmarks, size.n_classes))} |"
    )
    return "\n".join(lines)


def _run_of(measured: dict[str, Any], n_workers: int, is_persisted: bool = False) -> dict[str, Any]:
    for run in measured["simulated"]:
        if (run["n_workers"], run["is_persisted"]) == (n_workers, is_persisted):
            return dict(run)
    raise ValueError(f"{n_workers} workers were not simulated, expected them. Repeat that step.")


def draw(measured: dict[str, Any]) -> None:
    """The critical path by stage and by number of workers, as a picture.

    Parameters
    ----------
    measured : dict
        What was simulated.
    """
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "imkpl"
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    stages = _run_of(measured, 100)["stages"]
    for place, stage in enumerate(stages.values()):
        start = 0.0
        for what, color in COLORS.items():
            hours = _waits(stage)[what] / 3600
            left.barh(place, hours, left=start, color=color)
            start += hours
    left.set_yticks(range(len(stages)), [STAGES[name] for name in stages])
    left.invert_yaxis()
    left.set_xlabel("hours, 100 workers that read partitions anew")
    left.set_title("What the end of every stage waits for")
    for place, run in enumerate(measured["simulated"]):
        total = sum((_waits(stage) for stage in run["stages"].values()), Counter())
        whole, start = sum(total.values()), 0.0
        for what, color in COLORS.items():
            share = 100 * total[what] / whole
            right.barh(place, share, left=start, color=color, label=what if place == 0 else None)
            start += share
        right.text(101, place, say_seconds(whole), va="center")
    right.set_yticks(
        range(len(measured["simulated"])),
        [
            f"{run['n_workers']:,}{' kept' if run['is_persisted'] else ''}"
            for run in measured["simulated"]
        ],
    )
    right.invert_yaxis()
    right.set_xlim(0, 115)
    right.set_xlabel("% of the whole fit")
    right.set_ylabel("workers")
    figure.legend(loc="outside lower center", ncols=len(COLORS), frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)
