"""All checks on one target, what the system consists of, and which hardening is on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

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
) -> DoctorReport:
    """Reads what the checks need at once, and asks each.

    Args:
        rt_cpus: None: the isolated CPUs, else all but the first.
        checks: None: all there are, the inventory, and the state of hardening.

    Raises:
        TargetError: Nothing could be read.
    """
    chosen = all_checks() if checks is None else tuple(checks)
    reads = [*_ABOUT, *(each for check in chosen for each in check.reads)]
    if checks is None:
        reads += [*inventory.READS, *HARDENING_READS]
    facts = gather(target, reads, workload=workload, rt_cpus=rt_cpus)
    with understood(target):
        kernel = " ".join(filter(None, (facts.get(_RELEASE), facts.get(_VERSION))))
        name = facts.get(_HOST) or target.name
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
        sight = sight_of_facts(facts) if checks is None else None
        return DoctorReport(
            results=results,
            facts=facts,
            target=examined,
            inventory=inventory.inventory(facts) if sight else (),
            hardening=tuple((each, each.state(sight)) for each in OPTIONS) if sight else (),
            partial=checks is not None,
        )
