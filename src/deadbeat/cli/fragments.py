"""``deadbeat fragments``: the pools, with what they cost and whether they can run here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from deadbeat.catalog import Catalog, load_catalog
from deadbeat.cli._output import say, table
from deadbeat.executors.made import make_catalog, make_executor
from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.place import LATEST
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import BuildError, TargetError
from deadbeat.model.tasks import Fragment
from deadbeat.store.place import CAMPAIGN
from deadbeat.store.serial import CALIBRATION_FILE, given_calibration, read_calibration

_COLUMNS = ("fragment", "kind", "class", "sizes", "cost", "blocking", "requires", "here")


def fragments(
    *, calibration: Path | None, policy: str, runs: Path, executor: str | None, simulated: bool
) -> Shown:
    catalog, missing, problem = _probe(executor, simulated=simulated, policy=policy)
    known = _known(runs, calibration)
    costs, file = known or (None, None)
    found = [
        (each, _costs(each, costs), "unknown" if problem else _here(missing.get(each.name)))
        for each in catalog.fragments.values()
    ]
    plain = {
        "calibration": str(file) if file else None,
        "fragments": [
            {
                **_facts(each),
                "available": None if problem else each.name not in missing,
                "reason": missing.get(each.name, ""),
                "cost_ns": costs_ns,
            }
            for each, costs_ns, _ in found
        ],
        "problem": problem,
    }
    parts: list[Any] = [table(_COLUMNS, [_row(*each) for each in found])]
    if problem:
        parts.append(lambda: say(f"what can run here is unknown: {problem}"))
    if costs is None:
        parts.append(lambda: say("no costs yet: deadbeat calibrate"))
    else:
        parts.append(f"costs: {file} ({costs.platform.name}, {costs.platform.kind})")
    return Shown(plain=plain, parts=parts)


def _probe(
    executor: str | None, *, simulated: bool, policy: str
) -> tuple[Catalog, dict[str, str], str]:
    """The catalog, which of it cannot run here, and why that is unknown: a list is of use also
    where nothing can be tried (no compiler, no permission, busy)."""
    try:
        with closing(make_executor(executor, simulated=simulated, cpus=None)) as machine:
            catalog = make_catalog(machine)
            return catalog, machine.unavailable(catalog, policy=policy), ""
    except (BuildError, TargetError) as error:
        return load_catalog(), {}, str(error)


def _known(runs: Path, file: Path | None) -> tuple[Calibration, Path] | None:
    """The calibration in ``file``, else the latest campaign's, else the one ``calibrate`` wrote."""
    given = given_calibration(file)
    if given is not None and file is not None:
        return given, file
    candidates = [runs / LATEST / CALIBRATION_FILE, runs / CALIBRATION_FILE]
    candidates += [path / CALIBRATION_FILE for path in reversed(CAMPAIGN.folders(runs))]
    path = next((path for path in candidates if path.is_file()), None)
    return None if path is None else (read_calibration(path), path)


def _facts(fragment: Fragment) -> dict[str, object]:
    names = ("name", "summary", "resource_class", "size_unit", "blocking", "parallel")
    lists = ("sizes", "quick", "requires", "modes")
    return {
        **{name: getattr(fragment, name) for name in (*names, "mixed_priorities")},
        **{name: list(getattr(fragment, name)) for name in lists},
        "kind": fragment.kind.value,
    }


def _costs(fragment: Fragment, calibration: Calibration | None) -> dict[str, float]:
    """Size -> repeat cost on the first core, ns."""
    if calibration is None:
        return {}
    found = {size: calibration.costs.get(f"{fragment.name}/{size}") for size in fragment.sizes}
    return {str(size): costs[0].repeat_ps / 1000 for size, costs in found.items() if costs}


def _row(fragment: Fragment, costs_ns: dict[str, float], here: str) -> list[str]:
    low, high = (_time(end(costs_ns.values(), default=0.0)) for end in (min, max))
    return [
        fragment.name,
        fragment.kind.value,
        fragment.resource_class,
        f"{fragment.sizes[0]}..{fragment.sizes[-1]} {fragment.size_unit}",
        "-" if not costs_ns else low if low == high else f"{low} to {high}",
        {True: "blocking", False: "non-blocking", None: ""}[fragment.blocking],
        ", ".join(fragment.requires),
        here,
    ]


def _here(reason: str | None) -> str:
    return "yes" if reason is None else f"no: {reason}"


def _time(value_ns: float) -> str:
    for unit in ("ns", "us", "ms"):
        if value_ns < 999.5:
            return f"{value_ns:.3g} {unit}"
        value_ns /= 1000
    return f"{value_ns:.3g} s"
