"""``deadbeat fragments``: the pools, with what they cost and whether they can run here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click

from deadbeat.catalog import Catalog, load_catalog
from deadbeat.cli._machine import known_calibration, make_catalog, make_executor
from deadbeat.cli._options import (
    calibration_option,
    choice,
    json_option,
    machine_options,
    policy_option,
    runs_option,
)
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import BuildError, TargetError
from deadbeat.model.tasks import Fragment


@click.command()
@calibration_option
@policy_option
@runs_option
@machine_options
@json_option
def command(
    *,
    calibration_file: Path | None,
    policy: str | None,
    runs: Path,
    executor_text: str | None,
    simulated: bool,
    as_json: bool,
) -> None:
    """List the fragments with their cost, kind of blocking and availability on this machine.

    Costs are those of FILE, else of the latest campaign, else of deadbeat calibrate.
    """
    wanted = choice("--policy", policy, ("fifo", "other"), "fifo")
    found = _probe(executor_text, simulated=simulated, policy=wanted)
    known = known_calibration(runs, calibration_file)
    calibration = known[0] if known else None
    rows = _rows(found, calibration)
    if as_json:
        source = str(known[1]) if known else None
        print_json({"calibration": source, "fragments": rows, "problem": found.problem})
        return
    _print(rows)
    if found.problem:
        say(f"what can run here is unknown: {found.problem}")
    if known is None:
        say("no costs yet: deadbeat calibrate")
    else:
        click.echo(f"costs: {known[1]} ({known[0].platform.name}, {known[0].platform.kind})")


class _FoundFragment(NamedTuple):
    """The catalog, and which of it cannot run here: unknown when ``problem`` says why."""

    catalog: Catalog
    missing: dict[str, str]
    problem: str


def _probe(executor_text: str | None, *, simulated: bool, policy: str) -> _FoundFragment:
    """A list is of use also where nothing can be tried: no compiler, no permission, busy."""
    try:
        with closing(make_executor(executor_text, simulated=simulated, cpus=None)) as executor:
            catalog = make_catalog(executor)
            return _FoundFragment(catalog, executor.unavailable(catalog, policy=policy), "")
    except (BuildError, TargetError) as error:
        return _FoundFragment(load_catalog(), {}, str(error))


def _rows(found: _FoundFragment, calibration: Calibration | None) -> list[dict[str, Any]]:
    return [
        {
            "name": fragment.name,
            "kind": fragment.kind.value,
            "summary": fragment.summary,
            "resource_class": fragment.resource_class,
            "sizes": list(fragment.sizes),
            "size_unit": fragment.size_unit,
            "quick": list(fragment.quick),
            "blocking": fragment.blocking,
            "parallel": fragment.parallel,
            "mixed_priorities": fragment.mixed_priorities,
            "requires": list(fragment.requires),
            "modes": list(fragment.modes),
            "available": None if found.problem else fragment.name not in found.missing,
            "reason": found.missing.get(fragment.name, ""),
            "cost_ns": _costs(fragment, calibration),
        }
        for fragment in found.catalog.fragments.values()
    ]


def _costs(fragment: Fragment, calibration: Calibration | None) -> dict[str, float]:
    """Size -> repeat cost on the first core, ns."""
    if calibration is None:
        return {}
    found = {size: calibration.costs.get(f"{fragment.name}/{size}") for size in fragment.sizes}
    return {str(size): costs[0].repeat_ps / 1000 for size, costs in found.items() if costs}


def _print(rows: list[dict[str, Any]]) -> None:

    blocking = {True: "blocking", False: "non-blocking", None: ""}
    print_table(
        ["fragment", "kind", "class", "sizes", "cost", "blocking", "requires", "here"],
        (
            [
                row["name"],
                row["kind"],
                row["resource_class"],
                f"{row['sizes'][0]}..{row['sizes'][-1]} {row['size_unit']}",
                _range(list(row["cost_ns"].values())),
                blocking[row["blocking"]],
                ", ".join(row["requires"]),
                _here(row),
            ]
            for row in rows
        ),
    )


def _here(row: dict[str, Any]) -> str:
    if row["available"] is None:
        return "unknown"
    return "yes" if row["available"] else f"no: {row['reason']}"


def _range(costs_ns: list[float]) -> str:
    if not costs_ns:
        return "-"
    low, high = _time(min(costs_ns)), _time(max(costs_ns))
    return low if low == high else f"{low} to {high}"


def _time(value_ns: float) -> str:
    for unit in ("ns", "us", "ms"):
        if value_ns < 999.5:
            return f"{value_ns:.3g} {unit}"
        value_ns /= 1000
    return f"{value_ns:.3g} s"
