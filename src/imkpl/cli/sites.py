"""What commands measure and say of sites."""

from collections.abc import Callable
from typing import Any

from imkpl.cli import models
from imkpl.cli.command import echo, echo_table, progress_bar
from imkpl.readers.read import DataFile


def measure(
    build: Callable[[DataFile], Any], data: DataFile, model: Any, train: DataFile, right: Any
) -> dict[str, Any]:
    """Leave sites out of all rows, and look for those of training rows in a model."""
    from imkpl.report import sites

    def ask(inside: Any, outside: Any) -> tuple[Any, Any, Any]:
        left_out = data.take(outside)
        other = models.fit_rows(build(left_out), data.take(inside))
        samples = left_out.samples
        return other.predict(samples), other.predict_proba(samples), other.classes_

    units, own = models.find_units(data), models.find_units(train)
    with progress_bar("leaving sites out"):
        left_out = sites.leave_out(ask, data.y, data.sites, units, persons=data.groups, right=right)
        inside = sites.look_inside(model, model.read_new(train.samples), train.y, train.sites, own)
    return sites.join(left_out, *inside, data.sites, data.site_column)


def echo_sites(found: dict[str, Any] | None) -> None:
    """Print a line for every site, and what is worth a look; nothing if none were named."""
    if found is None:
        return
    echo("", "Each site left out in turn, and judged by a model of the others:")
    head = ("site", "rows", "independent", "right", "95% interval", "AUC", "baseline", "all sites")
    rows = []
    for one in found["left_out"]:
        start, pooled = [one["site"], one["rows"], one["independent"]], one["pooled"]
        known = "-" if pooled is None else f"{pooled['accuracy']:.1%}"
        shown = ["-"] * 4
        if one["accuracy"] is not None:
            low, high = one["interval"]
            auc = "-" if one["auc"] is None else f"{one['auc']:.2f}"
            shown = [f"{one['accuracy']:.1%}", f"{low:.0%} to {high:.0%}", auc]
            shown.append(f"{one['baseline']['accuracy']:.1%}")
        rows.append([*start, *shown, known])
    echo_table(head, rows)
    lines = [
        f"{one['site']}: {one['why_absent']}" for one in found["left_out"] if one["why_absent"]
    ]
    lines.append("Baseline: the class most frequent at the others. All sites: models that know it.")
    lines += [found["note"]] * bool(found["note"])
    lines += [found["told"]["text"]] if found["told"] else []
    looks = [f"Prototype {one['prototype']}: {one['text']}" for one in found["prototypes"]]
    echo(*lines, *(f"Worth a look: {text}" for text in [*found["warnings"], *looks]))
