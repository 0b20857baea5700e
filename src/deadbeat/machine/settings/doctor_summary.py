"""What the doctor found, in words and rows, for the terminal and the page alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import attrs
from attrs import frozen

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.platform import LOCAL, target_option
from deadbeat.base.model.words import Json
from deadbeat.machine.host.values import cpus_text
from deadbeat.machine.settings.doctor import DoctorReport
from deadbeat.machine.settings.hardening import Hardening, HardeningState
from deadbeat.machine.settings.knob import Knob, all_knobs
from deadbeat.machine.settings.profile import all_profiles, turns
from deadbeat.machine.settings.readiness import SEVERITIES, CheckResult
from deadbeat.machine.settings.rows import WORDS

_STATUSES = ("fail", "unknown", "pass")
INVENTORY_COLUMNS = ("what", "here", "how it was counted")
HARDENING_COLUMNS = ("option", "state here", "when", "cost lands on", "expected", "source")


@frozen(kw_only=True)
class CheckGroup:
    """A family's results.

    Attributes:
        results: The most severe failure first, then what is unknown, then what passes.
    """

    name: str
    title: str
    results: tuple[CheckResult, ...]

    @property
    def counts(self) -> str:
        """``3 of 21 fail, 2 unknown``."""
        count = Counter(result.status for result in self.results)
        text = f"{count['fail']} of {len(self.results)} fail" if count["fail"] else "none fails"
        return f"{text}, {count['unknown']} unknown" if count["unknown"] else text


def groups(results: Iterable[CheckResult]) -> tuple[CheckGroup, ...]:
    families = grouped(results, lambda result: result.id.partition(".")[0])
    made = [
        CheckGroup(
            name=name,
            title=WORDS["families"].get(name, name),
            results=tuple(sorted(own, key=_order)),
        )
        for name, own in families.items()
    ]
    return tuple(sorted(made, key=lambda group: (_failing_first(group.results), group.name)))


def _order(result: CheckResult) -> tuple[int, int]:
    return _STATUSES.index(result.status), SEVERITIES.index(result.severity)


def _failing_first(results: Sequence[CheckResult]) -> tuple[int, ...]:
    count = Counter(result.severity for result in results if result.status == "fail")
    return tuple(-count[severity] for severity in SEVERITIES)


def severities(results: Iterable[CheckResult], joint: str = ", ") -> str:
    """``1 fatal, 9 high``."""
    count = Counter(result.severity for result in results)
    return joint.join(f"{count[name]} {name}" for name in SEVERITIES if count[name])


def _failed(grave: Sequence[CheckResult]) -> str:
    """``1 fatal and 4 high checks fail``."""
    return f"{severities(grave, ' and ')} check{'s fail' if len(grave) > 1 else ' fails'}"


def sentence(report: DoctorReport) -> str:
    """The answer; of some checks alone it is never that the machine is ready."""
    grave = report.failing("high")
    if report.target.kind == "files":
        found = _failed(grave) if grave else "nothing fatal or high fails"
        return f"In {report.target.name} {found}; what needs the machine itself is unknown."
    unknown = len(report.failing("high", "unknown"))
    open_ = f"; {unknown} more of these could not be read" if unknown else ""
    if grave:
        return f"Not ready for real-time work: {_failed(grave)}{open_}."
    only = "In these families nothing" if report.partial else "Nothing"
    if unknown:
        return f"{only} fatal or high fails, but {unknown} such checks could not be read."
    if report.partial:
        return f"{only} fatal or high fails; the others were not asked."
    return "Ready: nothing fatal or high fails."


def counts(report: DoctorReport) -> str:
    """``167 checks: 40 fail (1 fatal, ...), 20 unknown, 107 pass``."""
    by = Counter(result.status for result in report.results)
    failed = severities(result for result in report.results if result.status == "fail")
    return (
        f"{len(report.results)} checks: {by['fail']} fail{f' ({failed})' if failed else ''},"
        f" {by['unknown']} unknown, {by['pass']} pass"
    )


def facts(report: DoctorReport) -> list[tuple[str, str]]:
    """What was examined, and for what."""
    target = report.target
    assumed = "" if target.asked_cpus else " (assumed; --rt-cpus names them)"
    return [
        ("machine", target.name if target.address == LOCAL else f"{target.name}, {target.address}"),
        ("kernel", target.kernel),
        ("workload", target.workload),
        ("real-time CPUs", f"{cpus_text(target.rt_cpus)}{assumed}"),
        ("result", counts(report)),
    ]


def labels(report: DoctorReport) -> tuple[str, ...]:
    """What must show on everything: a machine that is not a real one."""
    kind = report.target.kind
    return () if kind == "hardware" else (kind.upper(),)


def reading(result: CheckResult) -> str:
    """``1 – pages are moved ...``: what was found, and why that is so."""
    reason = "" if result.reason == "as wanted" else result.reason
    return " – ".join(filter(None, (result.found, reason))) or "as wanted"


def knobs_for(result: CheckResult) -> tuple[Knob, ...]:
    """Knobs of `deadbeat tune` with which a check passes; those of a running machine first."""
    found = [knob for knob in all_knobs().values() if result.id in knob.cures]
    return tuple(sorted(found, key=lambda knob: (bool(knob.boot), knob.name)))


def cure(result: CheckResult) -> str:
    """``sysctl -w ... (knob timer-migration)``; "" where nothing is to be done."""
    names = [knob.name for knob in knobs_for(result)]
    if result.status != "fail" or not result.cure:
        return ""
    return f"{result.cure} (knob {' or '.join(names)})" if names else result.cure


@frozen(kw_only=True)
class Advice:
    """A profile, and what of it would help.

    Attributes:
        knobs: Knobs that turn while the machine runs and cure one of the checks.
        checks: The checks that they cure, in the order in which they failed.
    """

    profile: str
    knobs: tuple[str, ...]
    checks: tuple[str, ...]


def advised(failing: Iterable[str], *, workload: str) -> Advice | None:
    """The profile for ``workload`` against the checks of the ids ``failing``; None: it has no cure.

    Only what comes back exactly: profiles have nothing else, and boot words are left out.
    """
    name = "compute" if workload == "compute" else "realtime"
    wrong = list(failing)
    knobs = [turn.knob for turn in turns(all_profiles()[name].words) if not turn.knob.boot]
    helping = [knob for knob in knobs if set(knob.cures) & set(wrong)]
    if not helping:
        return None
    cured = {id for knob in helping for id in knob.cures}
    return Advice(
        profile=name,
        knobs=tuple(knob.name for knob in helping),
        checks=tuple(id for id in wrong if id in cured),
    )


def advice(report: DoctorReport) -> Advice | None:
    """The profile of `deadbeat tune` that cures some of what fails; None: none does."""
    failing = (result.id for result in report.results if result.status == "fail")
    return advised(failing, workload=report.facts.workload)


def tuning(report: DoctorReport) -> tuple[str, str] | None:
    """What to type to change at once what can be changed and put back, and what that cures."""
    found = advice(report)
    if found is None:
        return None
    target = report.target
    cpus = f" --rt-cpus {cpus_text(target.rt_cpus)}" if target.asked_cpus else ""
    return (
        f"deadbeat tune apply {found.profile}{cpus}{target_option(target.address)}",
        f"cures {len(found.checks)} of what fails, and can be put back",
    )


def failing(report: DoctorReport) -> list[CheckResult]:
    return sorted((r for r in report.results if r.status == "fail"), key=_order)


def steps(report: DoctorReport) -> list[tuple[str, str]]:
    """What to do next: a command or words, and what for."""
    grave = [result for result in report.failing("high") if cure(result)]
    worst = min(grave, key=_order, default=None)
    first = [] if worst is None else [(cure(worst), f"cures {worst.id}")]
    if report.target.kind == "files":
        return first
    profile = tuning(report)
    option = target_option(report.target.address)
    measure = (f"deadbeat latency --quick{option}", "how late threads wake up here, in a minute")
    return [*first, *([profile] if profile else []), measure]


def inventory_rows(report: DoctorReport) -> list[tuple[str, str, str]]:
    return [(item.title, item.text, item.basis) for item in report.inventory]


def hardening_rows(states: Iterable[tuple[Hardening, HardeningState]]) -> list[tuple[str, ...]]:
    """Options that are on come first."""
    order = {True: 0, None: 1, False: 2}
    return [
        (option.title, state.words, option.when, option.lands, option.expected, option.source)
        for option, state in sorted(states, key=lambda pair: order[pair[1].on])
    ]


def as_json(report: DoctorReport) -> dict[str, Json]:
    """What ``--json`` prints: docs/reference/doctor.md."""
    count: Counter[tuple[str, str]] = Counter((r.severity, r.status) for r in report.results)
    hardening = []
    for option, state in report.hardening:
        names = ("name", "title", "when", "lands", "expected", "source", "how")
        plain = {
            **{name: getattr(option, name) for name in names},
            "on": state.on,
            "state": state.words,
        }
        hardening.append(plain)
    return {
        "target": attrs.asdict(report.target),
        "summary": {
            "sentence": sentence(report),
            **{s: sum(r.status == s for r in report.results) for s in _STATUSES},
            "severities": {
                severity: {status: count[severity, status] for status in _STATUSES}
                for severity in SEVERITIES
            },
        },
        "checks": [
            {**attrs.asdict(result), "knobs": [knob.name for knob in knobs_for(result)]}
            for result in report.results
        ],
        "tune": None if (found := advice(report)) is None else attrs.asdict(found),
        "inventory": [{**attrs.asdict(item), "text": item.text} for item in report.inventory],
        "hardening": hardening,
    }
