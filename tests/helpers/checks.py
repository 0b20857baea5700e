"""Fixtures of readiness checks: what a machine gives, and what a check says of it.

A family's test holds ``CASES``: id of a check -> ``pass``, ``fail`` and ``unknown`` -> a case.
``test_checks_all.py`` runs every case of every family, and misses none.
"""

from collections.abc import Mapping
from functools import cache

from attrs import field, frozen

from deadbeat.machine.settings.check import Check, all_checks
from deadbeat.machine.settings.facts import gather
from deadbeat.machine.settings.readiness import CheckResult
from deadbeat.machine.targets.fake import FakeTarget


@frozen
class Case:
    """A machine; the attributes are those of `FakeTarget` and `gather`. ``case()`` has nothing.

    Attributes:
        says: What found value and reason together must hold; "" anything.
    """

    files: Mapping[str, str] = field(factory=dict)
    outputs: Mapping[str, str] = field(factory=dict)
    refused: Mapping[str, str] = field(factory=dict)
    rt_cpus: tuple[int, ...] | None = (1,)
    workload: str = "mixed"
    says: str = ""


case = Case
#: Id of a check -> status, with a word behind it where there are several -> a machine.
Cases = Mapping[str, Mapping[str, Case]]


def config(*options: str) -> dict[str, str]:
    """Output of ``kernel-config``: ``config("PREEMPT_RT=y")``; others are not set."""
    lines = "".join(f"CONFIG_{option}\n" for option in options)
    return {"kernel-config": f"# a kernel\n{lines}"}


@cache
def _by_id() -> Mapping[str, Check]:
    return {check.id: check for check in all_checks()}


def check_called(id: str) -> Check:
    return _by_id()[id]


def has_code(check: Check) -> bool:
    """Whether a function judges it; else its row says all."""
    return check.judge is not None


def outcome(id: str, given: Case) -> CheckResult:
    """What the check called ``id`` says of a machine."""
    chosen = check_called(id)
    target = FakeTarget(files=given.files, outputs=given.outputs, refused=given.refused)
    facts = gather(target, chosen.reads, workload=given.workload, rt_cpus=given.rt_cpus)
    return chosen.run(facts)


@frozen(kw_only=True)
class Thread:
    """A thread of a made-up machine.

    Attributes:
        policy: Number: 0 other, 1 fifo, 2 rr, 6 deadline.
        faults, ticks: At both moments.
    """

    tid: int
    name: str
    policy: int = 0
    priority: int = 0
    kernel: bool = False
    faults: tuple[int, int] = (0, 0)
    ticks: tuple[int, int] = (0, 0)
    cpus: str = "0-1"
    locked_kb: int = 0

    def stat(self, moment: int) -> str:
        flags = 0x00200040 if self.kernel else 0x400000
        head = f"{self.tid} ({self.name}) S 1 0 0 0 -1 {flags} {self.faults[moment]} 0 0 0"
        tail = f"0 0 0 20 0 1 0 9 {'0 ' * 15}17 0 {self.priority} {self.policy} 0 0 0"
        return f"{head} {self.ticks[moment]} {tail}\n"

    def status(self) -> str:
        file = f"/proc/{self.tid}/task/{self.tid}/status"
        memory = "" if self.kernel else f"{file}:VmLck:\t{self.locked_kb:8} kB\n"
        return f"{file}:Name:\t{self.name}\n{memory}{file}:Cpus_allowed_list:\t{self.cpus}\n"


KTHREADD = Thread(tid=2, name="kthreadd", kernel=True)
SHELL = Thread(tid=700, name="sh", cpus="0")
#: Label -> what is behind it, counts of two CPUs before and after.
Counts = Mapping[str, tuple[str, tuple[int, int], tuple[int, int]]]


def window(
    *threads: Thread,
    interrupts: Counts | None = None,
    softirqs: Counts | None = None,
    steal: tuple[int, int] = (0, 0),
    smi: tuple[int, int] | None = None,
    visible: bool = True,
) -> dict[str, str]:
    """Outputs ``window`` and ``affinities`` of a machine of two CPUs.

    Args:
        steal: Stolen ticks of CPU 1 before and after.
        visible: Whether threads of the kernel are to be seen.
    """
    every = [*([KTHREADD] if visible else []), SHELL, *threads]

    def counted(rows: Counts, moment: int) -> str:
        lines = "".join(
            f"{label:>4}: {counts[moment][0]:9} {counts[moment][1]:9}  {about}\n"
            for label, (about, *counts) in rows.items()
        )
        return f"           CPU0       CPU1\n{lines}ERR:          0\n"

    def moment(k: int) -> str:
        cpus = "".join(f"cpu{c} 5 0 5 {90 + 50 * k} 0 0 0 {steal[k] * c} 0 0\n" for c in (0, 1))
        return (
            f"=={('before', 'after')[k]}\n==uptime\n{100 + k / 2:.2f} 50.00\n==tasks\n"
            + "".join(thread.stat(k) for thread in every)
            + f"==interrupts\n{counted(interrupts or {}, k)}"
            + f"==softirqs\n{counted(softirqs or {}, k)}"
            + f"==stat\ncpu  1 2 3\n{cpus}==smi\n{'' if smi is None else smi[k]}\n"
        )

    return {
        "window": moment(0) + moment(1),
        "affinities": "".join(thread.status() for thread in every),
    }
