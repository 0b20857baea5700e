"""What the threads of a cyclictest really have, read once from /proc while it measures.

cyclictest tells neither policy nor priority nor place. Of /proc, a shell on the target reads the
threads of the one process that writes to our file; nothing is started for those that are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs
from attrs import frozen

from deadbeat.host.values import cpu_set
from deadbeat.model.latency import CpuLatency

#: Of proc_pid_stat(5), counted from behind the name: CPU it ran on last, priority, policy.
_CPU, _RT_PRIORITY, _POLICY = 36, 37, 38
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}
# Of every thread: `status` only tells what `stat` does not. Spaces cannot be in $1: it is our file.
_SCRIPT = r"""
for process in /proc/[0-9]*; do
    read -r name < $process/comm || continue
    [ "$name" = cyclictest ] || continue
    tr '\0' '\n' < $process/cmdline | grep -qxF -e "--json={out}" || continue
    for thread in $process/task/[0-9]*; do
        [ "${thread##*/}" = "${process##*/}" ] && continue
        cat $thread/stat && sed -n 's/^Cpus_allowed_list:[[:space:]]*/allowed /p' $thread/status
    done
done 2>/dev/null; :"""


@frozen(kw_only=True)
class CyclictestThread:
    """A measuring thread: ``allowed`` CPUs, and ``cpu``, where it ran last."""

    number: int
    policy: str
    priority: int
    cpu: int
    allowed: tuple[int, ...]


def threads_command(out: str) -> str:
    """Words for a target's shell that print the threads of the cyclictest that writes ``out``."""
    return _SCRIPT.replace("{out}", out)


def threads_of(text: str) -> tuple[CyclictestThread, ...]:
    """The threads in what `threads_command` printed, in the order of their numbers."""
    pairs = re.findall(r"^(\d+) \(.*\) (.*)\nallowed (.*)$", text, re.M)
    found = []
    for number, rest, allowed in pairs:
        fields = rest.split()
        if len(fields) <= _POLICY:
            continue
        policy = int(fields[_POLICY])
        thread = CyclictestThread(
            number=int(number),
            policy=_POLICIES.get(policy, f"policy {policy}"),
            priority=int(fields[_RT_PRIORITY]),
            cpu=int(fields[_CPU]),
            allowed=tuple(sorted(cpu_set(allowed))),
        )
        found.append(thread)
    return tuple(sorted(found, key=lambda thread: thread.number))


def as_seen(
    cpus: Sequence[CpuLatency], threads: Sequence[CyclictestThread]
) -> tuple[CpuLatency, ...]:
    """``cpus`` with what their threads had; unchanged where not every thread was seen.

    A thread that may run on one CPU alone is that CPU's; others are given out in the order in which
    they were begun, as cyclictest numbers them, and are placed on several (-1).
    """
    if len(threads) != len({cpu.cpu for cpu in cpus}):
        return tuple(cpus)
    wanted = {cpu.cpu for cpu in cpus}
    alone = {thread.allowed[0]: thread for thread in threads if len(thread.allowed) == 1}
    own = {place: thread for place, thread in alone.items() if place in wanted}
    rest = [thread for thread in threads if thread not in own.values()]
    own |= dict(zip(sorted(wanted - set(own)), rest, strict=True))
    return tuple(_having(cpu, own[cpu.cpu]) for cpu in cpus)


def _having(cpu: CpuLatency, thread: CyclictestThread) -> CpuLatency:
    placed = thread.allowed[0] if len(thread.allowed) == 1 else -1
    return attrs.evolve(cpu, policy=thread.policy, priority=thread.priority, placed=placed)
