"""All checks on one target, what the system consists of, and which hardening is on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.words import shortened
from deadbeat.machine.host.proc import task_of
from deadbeat.machine.host.values import understood
from deadbeat.machine.settings import inventory
from deadbeat.machine.settings.check import Check, all_checks
from deadbeat.machine.settings.facts import Facts, gather
from deadbeat.machine.settings.hardening import OPTIONS, Hardening, HardeningState, sight_of_facts
from deadbeat.machine.settings.hardening import READS as HARDENING_READS
from deadbeat.machine.settings.readiness import SEVERITIES, CheckResult, Severity, Status
from deadbeat.machine.targets.base import LOCAL, Target, is_here

_HOST, _RELEASE = "/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease"
_VERSION = "/proc/sys/kernel/version"
_PROCESS = "/proc/self/stat"
_ABOUT = (_HOST, _RELEASE, _VERSION)


@frozen(kw_only=True)
class ExaminedTarget:
    """What was examined.

    Attributes:
        kind: See `Platform.kind`.
        address: The word that opens it.
        asked_cpus: Whether the user named them; else they are assumed.
        workload: ``periodic``, ``compute`` or ``mixed``.
    """

    name: str
    kind: str
    kernel: str
    rt_cpus: tuple[int, ...]
    asked_cpus: bool
    workload: str
    address: str = LOCAL


@frozen(kw_only=True)
class DoctorReport:
    """What `examine` found.

    Attributes:
        results: One per check, in their order.
        inventory: What the system consists of; empty where only some families were asked.
        hardening: Every option with its state; likewise.
        partial: Whether only some checks were asked: nothing is said of the whole machine then.
    """

    results: tuple[CheckResult, ...]
    facts: Facts
    target: ExaminedTarget
    inventory: tuple[inventory.Item, ...] = ()
    hardening: tuple[tuple[Hardening, HardeningState], ...] = ()
    partial: bool = False

    def failing(self, least: Severity, status: Status = "fail") -> tuple[CheckResult, ...]:
        """Checks at ``least`` or graver that failed, or are ``unknown``."""
        grave = SEVERITIES[: SEVERITIES.index(least) + 1]
        return tuple(r for r in self.results if r.status == status and r.severity in grave)


#: Checks of the process that reads, which look at another one with a pid; all of ``process`` does.
_OF_A_PROCESS = (
    *("tasks.realtime-permission", "tasks.time-limit", "tasks.capabilities"),
    *("tasks.system-call-filter", "memory.lock-limit", "virtualisation.quota"),
    "scheduler.group-rt-runtime",
)


def _chosen(checks: Sequence[Check] | None, pid: int | None) -> tuple[Check, ...]:
    """The checks to run: those of a process need one, and then there are no others."""
    every = all_checks() if checks is None else tuple(checks)
    if pid is None:
        return tuple(check for check in every if not check.id.startswith("process."))
    return tuple(c for c in every if c.id.startswith("process.") or c.id in _OF_A_PROCESS)


def families() -> tuple[str, ...]:
    return tuple(dict.fromkeys(check.id.partition(".")[0] for check in all_checks()))


def of_families(names: Iterable[str]) -> tuple[Check, ...]:
    chosen = {*names}
    return tuple(check for check in all_checks() if check.id.partition(".")[0] in chosen)


def examine(
    target: Target,
    *,
    workload: str = "mixed",
    rt_cpus: Sequence[int] | None = None,
    checks: Sequence[Check] | None = None,
    pid: int | None = None,
) -> DoctorReport:
    """Reads what the checks need at once, and asks each.

    Args:
        rt_cpus: None: the isolated CPUs, else all but the first.
        pid: A process of the machine, which alone is examined.
        checks: None: all there are, the inventory, and the state of hardening.

    Raises:
        TargetError: Nothing could be read, or there is no such process.
    """
    chosen, whole = _chosen(checks, pid), checks is None and pid is None
    reads = [*_ABOUT, *(each for check in chosen for each in check.reads)]
    reads += [_PROCESS] if pid is not None else []
    if whole:
        reads += [*inventory.READS, *HARDENING_READS]
    facts = gather(target, reads, workload=workload, rt_cpus=rt_cpus, pid=pid)
    with understood(target):
        kernel = " ".join(filter(None, (facts.get(_RELEASE), facts.get(_VERSION))))
        name = facts.get(_HOST) or target.name
        if pid is not None:
            text = facts.get(_PROCESS) or ""
            process, state = task_of(text), text.rpartition(") ")[2][:1]
            if process is None or state in ("Z", "X"):
                ended = f"process {pid} has ended" if process else f"there is no process {pid}"
                raise TargetError(f"{ended} on {name}", "ps lists them")
            name = f"process {pid} ({shortened(process.name)}) of {name}"
        examined = ExaminedTarget(
            name=name,
            kind=target.kind,
            kernel=kernel or "not known",
            rt_cpus=facts.chosen_cpus,
            asked_cpus=facts.asked_cpus,
            workload=facts.workload,
            address=target.address,
        )
        results = tuple(check.run(facts) for check in chosen)
        # a cure that is typed here would change this machine
        if not is_here(target) and target.kind != "files":
            results = tuple(
                evolve(each, cure=f"on {name}: {each.cure}") if each.cure else each
                for each in results
            )
        if pid is not None:
            results = tuple(_of(each, pid) for each in results)
        sight = sight_of_facts(facts) if whole else None
        return DoctorReport(
            results=results,
            facts=facts,
            target=examined,
            inventory=inventory.inventory(facts) if sight else (),
            hardening=tuple((each, each.state(sight)) for each in OPTIONS) if sight else (),
            partial=not whole,
        )


def _of(result: CheckResult, pid: int) -> CheckResult:
    """``result`` with the process in place of the one that reads."""
    own, there = "/proc/self/", f"/proc/{pid}/"
    words = {
        name: getattr(result, name).replace(own, there)
        for name in ("found", "reason", "cure", "read")
    }
    return evolve(result, **words)
