"""Remedies against missed deadlines: the advice of Raju and Govindarajulu (2016).

Whether one helps is measured, not assumed (docs/reference/load.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from deadbeat.base.model.tuning import Setting
from deadbeat.machine.host.kernel import PREEMPT, RT_RUNTIME
from deadbeat.machine.host.proc import CPU_FOLDER
from deadbeat.machine.host.values import parse_cpu_list
from deadbeat.machine.targets.readings import Readings

ONLINE = f"{CPU_FOLDER}/online"
SERVER = "/sys/kernel/debug/sched/fair_server/cpu{}/runtime"
SIBLINGS = CPU_FOLDER + "/cpu{}/topology/thread_siblings_list"
GOVERNOR = CPU_FOLDER + "/cpu{}/cpufreq/scaling_governor"
_REALTIME = "/sys/kernel/realtime"


@frozen(kw_only=True)
class Situation:
    """What a remedy looks at.

    Attributes:
        readings: Readings of the files that it `reads`.
        cpus: CPUs that the threads may use.
        home: The one a pinned real-time thread is bound to.
    """

    readings: Readings
    cpus: tuple[int, ...]
    home: int

    def text(self, path: str) -> str | None:
        """What a file holds, without white space around it; None where it is unread."""
        text = self.readings.files[path].text
        return None if text is None else text.strip()

    def why(self, path: str) -> str:
        """The file, and why it is unread."""
        return f"{path}: {self.readings.files[path].reason}"


@frozen(kw_only=True)
class RemedyChange:
    """What a remedy does.

    Attributes:
        settings: Values of the kernel's files: journalled, written, read back, put back.
        pin: CPU the real-time thread is bound to.
        normal_cpus: CPUs the ordinary threads keep to.
        realtime: Real-time threads that there are.
        words: All of it, for a reader.
    """

    settings: tuple[Setting, ...] = ()
    pin: int | None = None
    normal_cpus: tuple[int, ...] | None = None
    realtime: int = 1
    words: str = ""


#: What a remedy does; in words why it cannot be tried here.
Plan = RemedyChange | str


def _pin(situation: Situation) -> Plan:
    """Moves between CPUs cost nothing (the paper's section 5.2, taskset)."""
    home = situation.home
    if len(situation.cpus) == 1:
        return f"CPU {home} is the only one: the thread is bound to it anyway"
    return RemedyChange(pin=home, words=f"the real-time thread is bound to CPU {home}")


def _smt(situation: Situation) -> Plan:
    """The sibling is left idle, which does what offline does (5.3) and can be undone exactly."""
    home, path = situation.home, SIBLINGS.format(situation.home)
    text = situation.text(path)
    if not text:
        return f"which CPUs share a core is unknown: {situation.why(path)}"
    siblings = [cpu for cpu in parse_cpu_list(text) if cpu != home]
    if not siblings:
        return f"CPU {home} shares its core with no other: there is no SMT"
    kept = tuple(cpu for cpu in situation.cpus if cpu not in siblings)
    if len(kept) < 2:
        return "without the sibling no CPU is left to the ordinary threads"
    return RemedyChange(
        pin=home,
        normal_cpus=kept,
        words=f"the real-time thread is bound to CPU {home}, and the ordinary threads keep off its"
        f" sibling, CPU {', '.join(map(str, siblings))}",
    )


def _governor(situation: Situation) -> Plan:
    """No round begins at a low frequency (figure 1.7)."""
    held = {cpu: situation.text(GOVERNOR.format(cpu)) for cpu in situation.cpus}
    for cpu, governor in held.items():
        if governor is None:
            return f"no frequency can be chosen here: {situation.why(GOVERNOR.format(cpu))}"
    different = {*map(str, held.values())}
    if different == {"performance"}:
        return "the governor is performance already, in every run"
    return RemedyChange(
        settings=tuple(Setting(GOVERNOR.format(cpu), "performance") for cpu in held),
        words=f"frequency governor performance (was {', '.join(sorted(different))})",
    )


def _preemption(situation: Situation) -> Plan:
    """The paper's first advice (5.1); every other source says the opposite. The model decides when
    the kernel itself may be interrupted, so it should hardly matter here."""
    if situation.text(_REALTIME) == "1":
        return "a PREEMPT_RT kernel has no other model while it runs"
    text = situation.text(PREEMPT)
    if not text:
        return f"the model cannot be chosen while this kernel runs: {situation.why(PREEMPT)}"
    if "(none)" in text:
        return "the model is none already, in every run: the advice is followed here"
    if "none" not in text.split():
        return f"this kernel offers no such model: {PREEMPT} holds {text}"
    return RemedyChange(
        settings=(Setting(PREEMPT, "none", "selected"),),
        words=f"preemption model none (was {text})",
    )


def _rt_bandwidth(situation: Situation) -> Plan:
    """No share of every second is kept for ordinary threads.

    Up to Linux 6.11 the kernel throttles real-time threads (sched-rt-group.rst). From 6.12 on the
    fair server takes 50 ms of every second for ordinary threads that wait, also where that sysctl
    is -1; only a file of debugfs changes it (commit d741f297bcea). With one CPU there is nothing
    beside it to run on.
    """
    online = situation.text(ONLINE)
    if online and len(parse_cpu_list(online)) == 1:
        return (
            f"CPU {online} is the only one: without that share nothing else would run, the feeder"
            " of a hardware watchdog included"
        )
    settings, words = [], []
    runtime = situation.text(RT_RUNTIME)
    if runtime is not None and runtime != "-1":
        settings.append(Setting(RT_RUNTIME, "-1"))
        words.append(f"kernel.sched_rt_runtime_us -1 (was {runtime})")
    served = [
        cpu for cpu in situation.cpus if situation.text(SERVER.format(cpu)) not in (None, "0")
    ]
    settings += [Setting(SERVER.format(cpu), "0") for cpu in served]
    if served:
        words.append(f"fair server off on CPU {', '.join(map(str, served))}")
    else:
        path = SERVER.format(situation.home)
        why = situation.readings.files[path].reason or "already off"
        words.append(f"fair server left as it is ({path}: {why})")
    if not settings:
        held = situation.readings.files[RT_RUNTIME].reason if runtime is None else runtime
        return f"{RT_RUNTIME} is {held}; {words[-1]}"
    return RemedyChange(settings=tuple(settings), words="; ".join(words))


@frozen
class Remedy:
    """One piece of advice.

    Attributes:
        paths: Files it looks at; ``{}`` stands for each CPU.
        plan: What it does in a situation, or why it cannot.
    """

    paths: tuple[str, ...]
    plan: Callable[[Situation], Plan]

    def reads(self, cpus: Sequence[int]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path.format(cpu) for path in self.paths for cpu in cpus))


#: Name on the command line and in files -> remedy, in the order of lists.
REMEDIES = {
    "pin": Remedy((), _pin),
    "smt": Remedy((SIBLINGS,), _smt),
    "governor": Remedy((GOVERNOR,), _governor),
    "preemption": Remedy((PREEMPT, _REALTIME), _preemption),
    "rt-bandwidth": Remedy((ONLINE, RT_RUNTIME, SERVER), _rt_bandwidth),
}


def together(changes: Sequence[RemedyChange]) -> RemedyChange:
    """All of them at once."""
    settings = {each.path: each for change in changes for each in change.settings}
    return RemedyChange(
        settings=tuple(settings.values()),
        pin=next((each.pin for each in changes if each.pin is not None), None),
        normal_cpus=next((each.normal_cpus for each in changes if each.normal_cpus), None),
        words="; ".join(change.words for change in changes),
    )
