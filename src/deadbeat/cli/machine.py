"""What machines can do: ``calibrate``, ``selftest``, ``fragments``, ``targets check``, ``emit``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import attrs

from deadbeat.base.kinds.base import MachineOptions
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import BuildError, TargetError, UsageError
from deadbeat.base.model.platform import target_option
from deadbeat.base.model.words import Json, duration, time_text
from deadbeat.base.store.files import storing
from deadbeat.base.store.place import CAMPAIGN, LATEST
from deadbeat.base.store.serial import to_plain
from deadbeat.build.toolchain import Toolchain
from deadbeat.cli._measure import say_simulated
from deadbeat.cli._output import Part, say, table
from deadbeat.cli._progress import Watch
from deadbeat.cli._signals import interruptible
from deadbeat.machine.targets.base import LOCAL
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.opening import open_target
from deadbeat.program.run.proving import Proof, prove
from deadbeat.tasksets.catalog import Catalog, lacking, load_catalog
from deadbeat.tasksets.contention.emitting import emit_tree
from deadbeat.tasksets.contention.spec import specify
from deadbeat.tasksets.executors import controls
from deadbeat.tasksets.executors.abilities import RUNS_AS, Ability, abilities
from deadbeat.tasksets.executors.base import Costing, SelftestResult
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.executors.made import make_catalog, make_executor
from deadbeat.tasksets.executors.preparing import calibrated
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.executors.tasksets import PAPER_USES, about_seconds
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.tasks import Fragment
from deadbeat.tasksets.store.serial import (
    CALIBRATION_FILE,
    given_calibration,
    read_calibration,
    write_calibration,
)


def calibrate(
    *,
    out: Path | None,
    pool: str,
    seconds: str | None,
    basis: str,
    cpus: str | None,
    policy: str,
    layout: str,
    means: bool,
    uses: int | None,
    runs: Path,
    **words: Unpack[MachineOptions],
) -> Shown:
    asked = {"seconds": seconds} if seconds is not None else {}
    names = {"calibration.seconds": "--duration", "cpus": "--cpus"}
    spec = specify({"cpus": cpus, "calibration": asked}, names=names)
    path, bases = out or runs / CALIBRATION_FILE, ("warm", "cold") if means else (basis,)
    if uses:
        say(f"{uses:,} uses of each fragment: about {duration(about_seconds(uses, bases))}")
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with (
        closing(make_executor(spec.cpus, **words)) as machine,
        interruptible(),
        Watch("calibration") as watch,
    ):
        say_simulated(machine.describe().kind)
        found = {
            each: calibrated(
                machine,
                make_catalog(machine),
                Costing(
                    pool=pool,
                    seconds=spec.calibration.seconds / (1 + means),
                    basis=each,
                    policy=policy,
                    layout=layout,
                ),
                watch.share,
                uses=uses or 0,
            )
            for each in bases
        }
    write_calibration(path, found[basis])
    calibration = read_calibration(path)
    plain = {**to_plain(calibration), "path": str(path)}
    parts: list[Part] = [*_lines(calibration), f"calibration: {path}"]
    if means:
        made = _means(found["warm"], found["cold"])
        plain["means"] = made
        heads = [name.replace("_", " ") for name in _MEANS]
        rows = [[f"{v:,.1f}" if isinstance(v, float) else f"{v}" for v in r.values()] for r in made]
        title = "mean of the middle half of n uses, ns; first: after other fragments"
        parts.insert(0, table(heads, rows, title=title, numeric=heads[1:]))
        if not uses:
            longer = duration(about_seconds(PAPER_USES, bases))
            parts.append(f"the paper's means are of {PAPER_USES:,}: --uses, about {longer}")
    return Shown(plain=plain, parts=parts)


_MEANS = ("fragment", "core", "warm_n", "warm_first", "warm_repeat", "cold_n", "cold_first")


def _means(warm: Calibration, cold: Calibration) -> list[dict[str, Json]]:
    """What a use takes warm and cold, ns, and from how many; cores of a kind are one."""
    rows: list[dict[str, Json]] = []
    for entry in sorted(warm.costs.keys() & cold.costs.keys()):
        kinds = list(zip(warm.costs[entry], cold.costs[entry], strict=True))
        for core, (a, b) in enumerate(kinds):
            if (a, b) not in kinds[:core]:
                values = a.samples, a.first_ps / 1000, a.repeat_ps / 1000
                row = entry, core, *values, b.samples, b.first_ps / 1000
                rows.append(dict(zip(_MEANS, row, strict=True)))
    return rows


def _lines(calibration: Calibration) -> Iterator[str]:
    for entry, reason in sorted(calibration.refused.items()):
        yield f"refused: {entry}: {reason}"
    for entry, costs in sorted(calibration.costs.items()):
        if any(cost.known_badly for cost in costs):
            share = max(cost.uncertainty for cost in costs)
            calm = "" if all(cost.calm for cost in costs) else ", from no calm machine"
            yield f"known badly: {entry}: a use of 10 us within {100 * share:.1f} %{calm}"
    for name, ratio in sorted(calibration.parallel_ratio.items()):
        if ratio.refutes:
            yield (
                f"not core-local: {name}: {ratio.ratio:.3f} times slower on all cores"
                f" ({ratio.low:.3f} to {ratio.high:.3f}, {ratio.rounds} rounds)"
            )
    cores = len(calibration.platform.cpus)
    yield (
        f"{len(calibration.costs)} entries on {cores} core{'s' if cores != 1 else ''},"
        f" {len(calibration.refused)} refused, {calibration.seconds:g} s"
    )


_WORDS = {True: "passed", False: "FAILED", None: "undecided"}


def selftest(
    *,
    seconds: str | None,
    cpus: str | None,
    calibration: Path | None,
    **words: Unpack[MachineOptions],
) -> Shown:
    spec = specify(
        {"cpus": cpus, "calibration": {"seconds": 60 if seconds is None else seconds}},
        names={"calibration.seconds": "--duration", "cpus": "--cpus"},
    )
    if (words["executor"] or "").partition(":")[0] in ("freertos", "lab"):
        raise UsageError("the self-test is about a real machine", "drop --executor")
    given = given_calibration(calibration)
    with (
        closing(make_executor(spec.cpus, **words)) as machine,
        interruptible(),
        Watch("selftest") as watch,
    ):
        kind = machine.describe().kind
        say_simulated(kind)
        assert isinstance(machine, HardwareExecutor | FakeExecutor)
        outcome = (
            machine.selftest
            if isinstance(machine, FakeExecutor)
            else partial(controls.selftest, machine)
        )(make_catalog(machine), given, seconds=spec.calibration.seconds, progress=watch.share)
    rows = [
        [
            check.name,
            check.kind,
            _WORDS[check.passed],
            _number(check.value),
            f"{_number(check.low)} to {_number(check.high)} {check.unit}".strip(),
            check.message,
        ]
        for check in outcome.checks
    ]
    proofs: tuple[Proof, ...] = ()
    if kind == "hardware" and words["target"] is None:
        with LocalTarget() as here:
            proofs = prove(here, Toolchain.find())
    rows += [[each.name, "run", _WORDS[each.passed], "", "", each.words] for each in proofs]
    columns = ["check", "kind", "result", "value", "expected", "what it says"]
    bad = [f"FAILED: {each.name}: {each.words}" for each in proofs if each.passed is False]
    passed, verdict = outcome.passed and not bad, _verdict(outcome)
    verdict = bad[0] if bad and outcome.passed else verdict
    plain = {**attrs.asdict(outcome), "passed": passed, "platform": kind}
    return Shown(
        headline=verdict,
        plain={**plain, "run": [attrs.asdict(each) for each in proofs]},
        parts=[table(columns, rows, numeric=["value"]), *_cores(outcome), verdict],
        status=0 if passed else 1,
    )


def _cores(outcome: SelftestResult) -> Iterator[str]:
    for core in outcome.cores:
        yield (
            f"core {core['core']} (CPU {core['cpu']}): {100 * core['lost_share']:.2f} % of its time"
            f" lost in gaps, the longest {core['longest_gap_ns'] / 1000:,.0f} us"
        )


def _verdict(outcome: SelftestResult) -> str:
    if not outcome.passed:
        failed = "; ".join(
            f"{each.name} measured {_number(each.value)},"
            f" expected {_number(each.low)} to {_number(each.high)} {each.unit}".rstrip()
            for each in outcome.checks
            if each.passed is False
        )
        return f"FAILED: {failed}. Effects of this size may not be real here."
    undecided = [check.name for check in outcome.checks if check.passed is None]
    if len(undecided) == len(outcome.checks):
        return "undecided: not one check could be decided"
    return f"passed, but undecided: {', '.join(undecided)}" if undecided else "passed"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


_COLUMNS = (
    *("fragment", "kind", "class", "sizes", "cost"),
    *("blocking", "requires", "core port", "here"),
)


def fragments(
    *, calibration: Path | None, policy: str, runs: Path, **words: Unpack[MachineOptions]
) -> Shown:
    catalog, missing, problem = _probe(policy, **words)
    # The calibration in `file`, else the latest campaign's, else the one `calibrate` wrote.
    given = given_calibration(calibration)
    if given is not None and calibration is not None:
        known: tuple[Calibration, Path] | None = given, calibration
    else:
        candidates = [runs / LATEST / CALIBRATION_FILE, runs / CALIBRATION_FILE]
        candidates += [path / CALIBRATION_FILE for path in reversed(CAMPAIGN.folders(runs))]
        path = next((path for path in candidates if path.is_file()), None)
        known = None if path is None else (read_calibration(path), path)
    costs, file = known or (None, None)
    here = {name: f"no: {reason}" for name, reason in missing.items()}
    found = [
        (each, _costs(each, costs), "unknown" if problem else here.get(each.name, "yes"))
        for each in catalog.fragments.values()
    ]
    rows = []
    for each, costs_ns, _ in found:
        names = ("name", "summary", "resource_class", "size_unit", "blocking", "parallel")
        lists = ("sizes", "quick", "requires", "modes")
        facts = {
            **{name: getattr(each, name) for name in (*names, "mixed_priorities")},
            **{name: list(getattr(each, name)) for name in lists},
            "not_on_core_port": lacking(each),
            "kind": each.kind.value,
        }
        rows.append(
            {
                **facts,
                "available": None if problem else each.name not in missing,
                "reason": missing.get(each.name, ""),
                "cost_ns": costs_ns,
            }
        )
    plain = {
        "calibration": str(file) if file else None,
        "fragments": rows,
        "problem": problem,
    }
    parts: list[Any] = [table(_COLUMNS, [_row(*each) for each in found])]
    if problem:
        parts.append(lambda: say(f"what can run here is unknown: {problem}"))
    if costs is None:
        parts.append(lambda: say("no costs yet: deadbeat contention --calibrate"))
    else:
        parts.append(f"costs: {file} ({costs.platform.name}, {costs.platform.kind})")
    return Shown(plain=plain, parts=parts)


def _probe(policy: str, **words: Unpack[MachineOptions]) -> tuple[Catalog, dict[str, str], str]:
    """The catalog, which of it cannot run here, and why that is unknown: a list is of use also
    where nothing can be tried (no compiler, no permission, busy)."""
    try:
        with closing(make_executor(None, **words)) as machine:
            catalog = make_catalog(machine)
            return catalog, machine.unavailable(catalog, policy=policy), ""
    except (BuildError, TargetError) as error:
        return load_catalog(), {}, str(error)


def _costs(fragment: Fragment, calibration: Calibration | None) -> dict[str, float]:
    """Size -> repeat cost on the first core, ns."""
    if calibration is None:
        return {}
    found = {size: calibration.costs.get(f"{fragment.name}/{size}") for size in fragment.sizes}
    return {str(size): costs[0].repeat_ps / 1000 for size, costs in found.items() if costs}


def _row(fragment: Fragment, costs_ns: dict[str, float], here: str) -> list[str]:
    low, high = (time_text(end(costs_ns.values(), default=0.0)) for end in (min, max))
    return [
        fragment.name,
        fragment.kind.value,
        fragment.resource_class,
        f"{fragment.sizes[0]}..{fragment.sizes[-1]} {fragment.size_unit}",
        "-" if not costs_ns else low if low == high else f"{low} to {high}",
        {True: "blocking", False: "non-blocking", None: ""}[fragment.blocking],
        ", ".join(fragment.requires),
        f"no: {lacking(fragment)}" if lacking(fragment) else "yes",
        here,
    ]


# -- other machines

_CAN = {True: "yes", False: "no", None: "?"}


def check(*, name: str, target: str | None, cross: str | None) -> Shown:
    name = name or target or LOCAL
    try:
        with open_target(name) as opened:
            found = abilities(opened, load_catalog(), cross=cross)
    except TargetError as error:  # the answer, not a failure to give one
        found = [Ability("connection", False, error.message, error.hint, needed=True)]
    lacking = [each.what for each in found if each.needed and each.can is False]
    if lacking:
        sentence = f"{name} cannot be measured: {', '.join(lacking)}"
    else:
        other = any(each.found == RUNS_AS + "other" for each in found)
        quick = "deadbeat latency --quick" + " --policy other" * other
        sentence = f"{name} can be measured: {quick}{target_option(name)}"
    rows = [(each.what, _CAN[each.can], each.found, each.cure) for each in found]
    return Shown(
        kind="targets",
        headline=sentence,
        plain={
            "target": name,
            "measures": not lacking,
            "abilities": [attrs.asdict(each) for each in found],
        },
        parts=[
            table(("what", "can", "found", "how to mend it"), rows),
            sentence,
        ],
        status=1 if lacking else 0,
    )


def emit(
    campaign: str,
    *,
    out: Path,
    keys: tuple[str, ...],
    port: str,
    calibration: Path | None,
    runs: Path,
) -> Shown:
    files, made = emit_tree(campaign, out, runs=runs, keys=keys, port=port, calibration=calibration)
    sets = [{"set": key, "set_id": name} for key, name in made]
    plain = {"out": str(out), "port": port, "sets": sets, "files": files}
    lines = [f"set {number}: {key} ({name[:12]})" for number, (key, name) in enumerate(made)]
    go_on = f"next: make -C {out} check" if port == "posix" else f"next: {out / 'PORTING.md'}"
    return Shown(plain=plain, parts=[*lines, f"{len(files)} files in {out}; {go_on}"])
