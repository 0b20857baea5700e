"""What in a machine's state or change is worth a word: each fact judged once, by one bound.

Campaigns, latency runs, load tests and checks ask here and differ only in what they say of it. Why
each bound is where it is: docs/decisions/0017-host-and-trace.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from deadbeat.machine.host.values import is_unknown

K = TypeVar("K")

#: Clock sources that the C library reads without a system call (vDSO).
QUICK_CLOCKS = frozenset(
    {"tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod", "kvm-clock"}
    | {"hyperv_clocksource_tsc_page"}
)
#: The governor that keeps the highest frequency.
FULL_SPEED = "performance"
#: kernel/sched/rt.c, sysctl_sched_rt_period.
_RT_PERIOD_US = 1_000_000

#: Share of a CPU's time that the host took: two ticks of 10 ms in 4 s, one being no news.
STEAL = 0.005


def stolen(shares: Mapping[K, float]) -> dict[K, float]:
    """CPUs with a share of stolen time worth a word."""
    return {cpu: share for cpu, share in shares.items() if share > STEAL}


def throttled(counts: Mapping[K, int]) -> dict[K, int]:
    """CPUs that were slowed down for heat or power, by how often: once is enough."""
    return {cpu: count for cpu, count in counts.items() if count > 0}


def slow_clock(name: object) -> bool:
    """Whether reading the clock source takes a system call or a device; False: not known."""
    return (
        isinstance(name, str) and bool(name) and not is_unknown(name) and name not in QUICK_CLOCKS
    )


def slow_governors(names: Iterable[object]) -> list[str]:
    """Governors that let the frequency fall; none where there is no driver, or it is not known."""
    return sorted(
        {
            str(name)
            for name in names
            if name is not None
            and not is_unknown(name)
            and name != FULL_SPEED
            and not str(name).startswith("none")
        }
    )


def rt_kept(
    runtime_us: object, period_us: object, kernel: tuple[int, int], group_sched: bool | None
) -> float | None:
    """Share of the time that RT bandwidth control keeps from real-time threads; None: none, or not
    known.

    Args:
        period_us: Where that is not known, the kernel's default is assumed.
        kernel, group_sched: See `limit_holds`.
    """
    if type(runtime_us) is not int or runtime_us < 0 or not limit_holds(kernel, group_sched):
        return None
    period = period_us if type(period_us) is int else _RT_PERIOD_US
    return 1 - runtime_us / period if runtime_us < period else None


def limit_holds(kernel: tuple[int, int], group_sched: bool | None) -> bool:
    """Whether real-time tasks are stopped once they have used up sched_rt_runtime_us.

    Since Linux 6.12 only a kernel with RT_GROUP_SCHED does so (commit 5f6bd380c7bd); the fair
    server has taken its place.

    Args:
        kernel: Major and minor number.
        group_sched: Whether RT_GROUP_SCHED is built in; None: not known, and the limit is assumed.
    """
    return kernel < (6, 12) or group_sched is not False
