"""What the kernel lets the threads of one process do."""

from __future__ import annotations

import re

from attrs import evolve

from deadbeat.base.model.words import shortened
from deadbeat.machine.host.proc import POLICIES, TaskState, colon_fields, limit, task_of
from deadbeat.machine.host.values import UnreadError, cpu_set, cpus_text, known
from deadbeat.machine.settings.check import CheckVerdict, failed, passed, verdict
from deadbeat.machine.settings.facts import Facts
from deadbeat.machine.settings.reading import few, isolated, meant


def _threads(facts: Facts, stats: str) -> dict[str, TaskState]:
    """Folder -> thread; its name, which holds any byte, fit to be shown."""
    read = {p: task_of(each.text or "") for p, each in facts.matches(stats).items()}
    found = {path.removesuffix("/stat"): task for path, task in read.items() if task}
    if not found:
        raise UnreadError("it has ended, or its threads are not to be seen")
    return {path: evolve(task, name=shortened(task.name)) for path, task in found.items()}


def policies(facts: Facts, stats: str, service: str) -> CheckVerdict:
    threads = list(_threads(facts, stats).values())
    held = [task.words for task in threads if task.realtime]
    words = few([*dict.fromkeys(held or [task.words for task in threads])])
    found = f"{len(held)} of {len(threads)} threads are real-time: {words}"
    asked = re.search(r"^CPUSchedulingPolicy=(\d+)$", facts.get(service) or "", re.M)
    policy = int(asked[1]) if asked else 0
    if policy and policy not in {task.policy for task in threads}:
        why = f"its service asks for {POLICIES.get(policy, policy)}, and no thread has it"
        return failed(found, why, severity="high")
    return verdict(held, found)


def affinity(facts: Facts, stats: str, status: str) -> CheckVerdict:
    threads, away = _threads(facts, stats), isolated(facts)
    lists = {
        path.removesuffix("/status"): cpu_set(fields["Cpus_allowed_list"])
        for path, each in facts.matches(status).items()
        if "Cpus_allowed_list" in (fields := colon_fields(each.text or ""))
    }
    placed = [(threads[path], cpus) for path, cpus in lists.items() if path in threads]
    wide = [t.words for t, cpus in placed if t.realtime and away and not cpus <= away]
    loose = [t.words for t, cpus in placed if not t.realtime and len(cpus) > 1 and cpus <= away]
    found = few([f"{task.name}: CPU {cpus_text(cpus)}" for task, cpus in placed])
    found = f"{found}; isolated: {cpus_text(away)}"
    if wide:
        return failed(found, f"{few(wide)}: may run on CPUs that are not isolated")
    return verdict(
        len(loose) < 2, found, why=f"{few(loose)}: the kernel spreads none over isolated CPUs"
    )


def cpuset(facts: Facts, group: str) -> CheckVerdict:
    rows = re.findall(r"^(\S+) ([\d,-]+)$", facts.text(group), re.M)
    if not rows:
        return passed("no cpuset")
    file, cpus = rows[0]
    lacking = set(facts.rt_cpus) - cpu_set(cpus)
    asked = file.replace(".effective", "").replace("effective_cpus", "cpus")
    return verdict(
        not lacking,
        f"{file}: {cpus}",
        why=f"it may not use {meant(facts, lacking)}",
        cure=f"echo {cpus_text(facts.rt_cpus)} > {asked} (its parents first)",
    )


def files(facts: Facts, opened: str, limits: str) -> CheckVerdict:
    count, text = facts.integer(opened), facts.text(limits)
    most = known(limit(lambda _: text, "Max open files")["soft"])
    return verdict(most == -1 or 10 * count < 9 * most, f"{count} of {most}")
