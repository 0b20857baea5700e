"""Fixtures of readiness checks: what a machine gives, and what a check says of it.

A family's test holds ``CASES``: id of a check -> ``pass``, ``fail`` and ``unknown`` -> a case.
``test_checks_all.py`` runs every case of every family, and misses none.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from deadbeat.model.readiness import CheckResult
from deadbeat.readiness.check import Check, all_checks, all_commands
from deadbeat.readiness.facts import gather
from deadbeat.targets.fake import FakeTarget


@frozen(kw_only=True)
class Case:
    """A machine with a few files; the attributes are those of `FakeTarget` and `gather`.

    Attributes:
        says: What found value and reason together must hold; "" anything.
    """

    files: Mapping[str, str] = field(factory=dict)
    outputs: Mapping[str, str] = field(factory=dict)
    refused: Mapping[str, str] = field(factory=dict)
    rt_cpus: tuple[int, ...] | None = (1,)
    workload: str = "mixed"
    says: str = ""


#: Id of a check -> status, with a word behind it where there are several -> a machine.
Cases = Mapping[str, Mapping[str, Case]]


def case(
    files: Mapping[str, str] | None = None,
    *,
    outputs: Mapping[str, str] | None = None,
    refused: Mapping[str, str] | None = None,
    rt_cpus: tuple[int, ...] | None = (1,),
    workload: str = "mixed",
    says: str = "",
) -> Case:
    """A machine; ``case()`` has nothing at all."""
    return Case(
        files=files or {}, outputs=outputs or {}, refused=refused or {}, rt_cpus=rt_cpus,
        workload=workload, says=says,
    )  # fmt: skip


def config(*options: str) -> dict[str, str]:
    """Output of ``kernel-config``: ``config("PREEMPT_RT=y")``; others are not set."""
    lines = "".join(f"CONFIG_{option}\n" for option in options)
    return {"kernel-config": f"# a kernel\n{lines}"}


def check_called(id: str) -> Check:
    (found,) = [check for check in all_checks() if check.id == id]
    return found


def outcome(id: str, given: Case) -> CheckResult:
    """What the check called ``id`` says of a machine."""
    chosen = check_called(id)
    target = FakeTarget(files=given.files, outputs=given.outputs, refused=given.refused)
    facts = gather(
        target,
        chosen.reads,
        workload=given.workload,
        rt_cpus=given.rt_cpus,
        commands=all_commands(),
    )
    return chosen.run(facts)
