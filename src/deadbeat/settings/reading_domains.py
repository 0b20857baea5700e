"""Root domains of the scheduler: which CPUs SCHED_DEADLINE tasks are admitted to and moved within.

The kernel shows them nowhere as such; they follow from isolated CPUs and from partitions of cpusets
(kernel/cgroup/cpuset.c, generate_sched_domains; kernel/sched/topology.c).
"""

from __future__ import annotations

import re

from deadbeat.host.values import UnreadError, cpu_set
from deadbeat.settings.facts import Facts
from deadbeat.settings.reading_cpus import ISOLATED, isolated, online
from deadbeat.settings.reading_values import ONLINE

PARTITIONS = "command:cpuset-partitions"
#: Only groups below the machine's top have it.
_BELOW_TOP = "/sys/fs/cgroup/cgroup.type"
#: Of the top group of version 1.
_BALANCED = "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance"
#: What `root_domains` reads.
DOMAINS = (*ISOLATED, ONLINE, PARTITIONS, _BELOW_TOP, _BALANCED)

COMMANDS = {
    # Valid ones only: "root invalid (...)" has more words.
    "cpuset-partitions": r"""
[ -d /sys/fs/cgroup ] || exit 0
command -v find > /dev/null || exit 127
find /sys/fs/cgroup -name cpuset.cpus.partition | while read -r file; do
    read -r kind rest < "$file" || continue
    case "$kind $rest" in 'root ' | 'isolated ') ;; *) continue ;; esac
    read -r cpus < "${file%/*}/cpuset.cpus.effective" && echo "$kind $cpus"
done; :""",
}


def root_domains(facts: Facts) -> list[set[int]]:
    """CPUs that are online, by the domain that they belong to.

    All that are isolated, at boot or by partitions, share the kernel's default one.

    Raises:
        UnreadError: Something that may divide them is out of sight.
    """
    every = online(facts)
    if facts.get(_BELOW_TOP) is not None:
        raise UnreadError("a container's view: partitions of the machine are out of sight")
    if facts.get(_BALANCED) == "0":
        raise UnreadError("cpusets of version 1 divide the CPUs, and this does not follow them")
    rows = re.findall(r"^(root|isolated) ([\d,-]+)$", facts.text(PARTITIONS), re.M)
    apart = isolated(facts)
    for kind, cpus in rows:
        apart |= cpu_set(cpus) if kind == "isolated" else set()
    parts = [cpu_set(cpus) - apart for kind, cpus in rows if kind == "root"]
    rest = every.difference(apart, *parts)
    return [found & every for found in (apart, *parts, rest) if found & every]
