"""What a machine is, as far as it matters to who is to blame for a late wake-up."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from deadbeat.machine.host.kernel import is_virtual, preemption_model
from deadbeat.machine.host.proc import online_cpus
from deadbeat.machine.host.values import Read, Unknown, cpu_list, gathered
from deadbeat.machine.targets.base import Target

_TICKLESS = "/sys/devices/system/cpu/nohz_full"
_MIGRATION = "/proc/sys/kernel/timer_migration"


@frozen(kw_only=True)
class Machine:
    """What is known of a machine.

    Attributes:
        virtual: Whether something below the kernel shares it; None: not known.
        tickless: CPUs that stop their tick beside a single thread (``nohz_full=``).
        moves_timers: Whether timers leave such CPUs (kernel.timer_migration).
    """

    virtual: bool | None = None
    online: frozenset[int] = frozenset()
    tickless: frozenset[int] = frozenset()
    moves_timers: bool = True
    preemption: str | None = None

    @property
    def kept_in(self) -> str:
        """Where a thread can be that is not preempted, in words."""
        if self.preemption in ("none", "voluntary"):
            model = f"preemption model {self.preemption}"
            return f"in the kernel, which {model} lets run on to its next voluntary point"
        where = "in a part of the kernel that cannot be"
        return where if self.preemption else f"{where}, or of a kernel that does not preempt"

    def stopped(self, what: str) -> str:
        """Who can have kept ``what`` from running without the kernel, in words."""
        if self.virtual:
            return f"the host did not let {what} run"
        others = "firmware (an SMI) or the hardware"
        if self.virtual is None:
            others = f"a host, {others}"
        return f"{others} stopped {what}"

    def timer_cpus(self, cpus: Iterable[int]) -> tuple[int, ...]:
        """``cpus``, and those on which timers started there may expire.

        A timer that a thread of a CPU without a tick starts goes to any CPU with one (the kernel's
        get_nohz_timer_target); of other CPUs it stays, because the thread is there when it starts
        it. CPUs that are only kept out of load balancing (``isolcpus=``) are such others.
        """
        wanted = set(cpus)
        if self.moves_timers and wanted & self.tickless:
            wanted |= self.online - self.tickless
        return tuple(sorted(wanted))


def read_machine(target: Target) -> Machine:
    return gathered(target, _machine_of)


def _machine_of(read: Read) -> Machine:
    virtual, _ = is_virtual(read)
    tickless = cpu_list(read, _TICKLESS)
    model, _ = preemption_model(read)
    return Machine(
        virtual=virtual if isinstance(virtual, bool) else None,
        online=frozenset(online_cpus(read)),
        tickless=frozenset(tickless if isinstance(tickless, list) else ()),
        moves_timers=(read(_MIGRATION) or "1").strip() != "0",
        preemption=None if isinstance(model, Unknown) else model,
    )
