"""``deadbeat selftest``: does deadbeat measure right on this machine, and how fine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import attrs

from deadbeat.cli._measure import Watch, say_simulated
from deadbeat.cli._output import Part, table
from deadbeat.cli._signals import interruptible
from deadbeat.executors.base import Executor, SelftestResult
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.executors.made import make_catalog, make_executor
from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.spec import specify
from deadbeat.kinds.contention.trials import TrialOutcome, all_passed, outcome_facts, try_causes
from deadbeat.model.errors import UsageError
from deadbeat.store.serial import read_calibration

_WORDS = {True: "passed", False: "FAILED", None: "undecided"}


def selftest(
    *,
    seconds: str | None,
    cpus: str | None,
    causes: bool,
    trials: int,
    calibration: Path | None,
    executor: str | None,
    simulated: bool,
) -> Shown:
    spec = specify(
        {"cpus": cpus, "calibration": {"seconds": 60 if seconds is None else seconds}},
        names={"calibration.seconds": "--seconds", "cpus": "--cpus"},
    )
    given = None if calibration is None else read_calibration(calibration)
    with (
        closing(make_executor(executor, simulated=simulated, cpus=spec.cpus)) as machine,
        interruptible(),
        Watch("selftest") as watch,
    ):
        kind = machine.describe().kind
        say_simulated(kind)
        if causes:
            return selftest_causes(machine, trials=trials, progress=watch.share)
        outcome = machine.selftest(
            make_catalog(machine),
            given,
            seconds=spec.calibration.seconds,
            progress=watch.share,
        )
    return Shown(
        plain={**attrs.asdict(outcome), "passed": outcome.passed, "platform": kind},
        parts=[_checks(outcome), *_cores(outcome), _verdict(outcome)],
        status=0 if outcome.passed else 1,
    )


def _checks(outcome: SelftestResult) -> Part:
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
    columns = ["check", "kind", "result", "value", "accepted", "what it says"]
    return table(columns, rows, numeric=["value"])


def _cores(outcome: SelftestResult) -> Iterator[str]:
    for core in outcome.cores:
        yield (
            f"core {core.core} (CPU {core.cpu}): {100 * core.lost_share:.2f} % of its time"
            f" lost in gaps, the longest {core.longest_gap_ns / 1000:.0f} us"
        )


def _verdict(outcome: SelftestResult) -> str:
    if not outcome.passed:
        return "FAILED"
    undecided = [check.name for check in outcome.checks if check.passed is None]
    if len(undecided) == len(outcome.checks):
        return "undecided: not one check could be decided"
    return f"passed, but undecided: {', '.join(undecided)}" if undecided else "passed"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


# -- causes made on purpose, and how often they are named rightly


def selftest_causes(executor: Executor, *, trials: int, progress: Callable[[float], None]) -> Shown:
    """Makes jobs late on purpose.

    Raises:
        UsageError: A made-up machine, or one CPU.
    """
    if not isinstance(executor, HardwareExecutor):
        raise UsageError(
            "--causes: a made-up machine is late for no cause", "leave out --simulated"
        )
    if len(executor.cpus) < 2:
        raise UsageError("--causes needs two CPUs", "give two: --cpus 0,1")
    outcomes = try_causes(executor, trials=trials, progress=progress)
    passed = all_passed(outcomes)
    rows = [
        [
            one.name,
            one.cause,
            _WORDS[one.passed],
            str(one.trials),
            f"{one.named} ({100 * one.named / one.trials:.0f} %)" if one.trials else "-",
            str(one.without_effect),
        ]
        for one in outcomes
    ]
    columns = ["injected", "to be named", "result", "trials", "named rightly", "without effect"]
    return Shown(
        plain={"passed": passed, "causes": outcome_facts(outcomes)},
        parts=[table(columns, rows, numeric=columns[3:]), *_trials(outcomes), _WORDS[passed]],
        status=0 if passed else 1,
    )


def _trials(outcomes: list[TrialOutcome]) -> Iterator[str]:
    for one in outcomes:
        for words, count in sorted(one.otherwise.items()):
            yield f"{one.name}: {count} x {words}"
    undecided = ", ".join(one.name for one in outcomes if one.passed is None)
    if reason := next((one.untraced for one in outcomes if one.untraced), ""):
        yield f"no scheduling events: {reason}"
        if undecided:
            yield (
                f"undecided without them: {undecided}; allow tracing (root, tracefs:"
                " docs/howto/find-out-why.md) and try again"
            )
    elif undecided:
        yield (
            f"undecided, as too few trials were late of what was injected: {undecided};"
            " try again with nothing else running, or with more --trials"
        )
