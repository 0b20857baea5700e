"""No share of every second kept for ordinary threads.

Up to Linux 6.11 the kernel throttles real-time threads (kernel.sched_rt_runtime_us of every
sched_rt_period_us). From 6.12 on the fair server takes 50 ms of every second for ordinary threads
that wait, also where that sysctl is -1; only a file of debugfs changes it (commit d741f297bcea).

With one CPU there is nothing beside it to run on: whoever feeds a hardware watchdog would not.
"""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.host.values import parse_cpu_list
from deadbeat.kinds.interference.remedy import Impossible, Remedy, RemedyChange, Situation
from deadbeat.model.tuning import Setting

RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
ONLINE = "/sys/devices/system/cpu/online"
SERVER = "/sys/kernel/debug/sched/fair_server/cpu{}/runtime"


def _reads(cpus: Sequence[int]) -> tuple[str, ...]:
    return (ONLINE, RUNTIME, *(SERVER.format(cpu) for cpu in cpus))


def _plan(situation: Situation) -> RemedyChange | Impossible:
    online = situation.text(ONLINE)
    if online and len(parse_cpu_list(online)) == 1:
        return Impossible(
            f"CPU {online} is the only one: without that share nothing else would run, the feeder"
            " of a hardware watchdog included"
        )
    settings, words = [], []
    runtime = situation.text(RUNTIME)
    if runtime is not None and runtime != "-1":
        settings.append(Setting(RUNTIME, "-1"))
        words.append(f"kernel.sched_rt_runtime_us -1 (was {runtime})")
    servers = {cpu: situation.text(SERVER.format(cpu)) for cpu in situation.cpus}
    served = [cpu for cpu, value in servers.items() if value not in (None, "0")]
    settings += [Setting(SERVER.format(cpu), "0") for cpu in served]
    if served:
        words.append(f"fair server off on CPU {', '.join(map(str, served))}")
    else:
        path = SERVER.format(situation.home)
        words.append(f"fair server left as it is ({path}: {situation.why(path) or 'already off'})")
    if not settings:
        held = situation.why(RUNTIME) if runtime is None else runtime
        return Impossible(f"{RUNTIME} is {held}; {words[-1]}")
    return RemedyChange(settings=tuple(settings), words="; ".join(words))


REMEDY = Remedy(
    name="rt-bandwidth",
    title="no time kept for ordinary threads",
    claim="the 5 % of every second that real-time threads may not have are given to them",
    source="Documentation/scheduler/sched-rt-group.rst; commit d741f297bcea (fair server, 6.12)",
    order=5,
    reads=_reads,
    plan=_plan,
)
