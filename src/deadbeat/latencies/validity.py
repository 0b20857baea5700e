"""What makes a run of latencies or loads doubtful, and what happened beside those that count.

Invalid is a run with another priority, policy or place than asked, without samples, or without its
load. Other work, the host and heat are labels: such a run counts, and what it shows widens the
intervals between runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from deadbeat.base.model.finding import Finding, Severity
from deadbeat.machine.host.judgements import STEAL

#: Share of a CPU's time by which a load may miss what was asked, and by which something else may
#: run beside it without a word.
LOAD_TOLERANCE = 0.1
#: Labels that versions before made reasons of.
_LABELS = frozenset({"steal", "other-load", "rt-throttled", "throttled", "missed-periods"})
_SHOWN = 3


def problem(name: str, text: str, seriousness: Severity = "warning") -> Finding:
    """A label, unless ``seriousness`` says otherwise."""
    return Finding(id=name, severity=seriousness, message=text)


def shares_text(by_cpu: Mapping[str, float]) -> str:
    """``CPU 0 12.0 %, CPU 1 9.5 %``: the first three."""
    shown = list(by_cpu.items())[:_SHOWN]
    return ", ".join(f"CPU {cpu} {100 * share:.1f} %" for cpu, share in shown)


def labelled(problems: Iterable[Finding]) -> list[Finding]:
    return [evolve(each, severity="warning") if each.id in _LABELS else each for each in problems]


def disturbed(others: Sequence[float], stolen: Sequence[float]) -> str:
    """For the runs that count, CPUs of ``others``, and the share that was ``stolen``: ``12 of
    46 runs were disturbed by other work (up to 22 % of a CPU); they count``."""
    busy = [work for work in others if work > LOAD_TOLERANCE]
    late = [share for share in stolen if share > STEAL]
    many = f"of {len(others)} run{'' if len(others) == 1 else 's'}"
    parts = []
    if busy:
        parts.append(f"{len(busy)} {many} were disturbed by other work (up to {_cpus(max(busy))})")
    if late:
        share = f"up to {100 * max(late):.2g} % of a CPU"
        parts.append(f"the host took time from {len(late)}{'' if busy else f' {many}'} ({share})")
    return f"{', '.join(parts)}; they count" if parts else ""


def _cpus(work: float) -> str:
    return f"{100 * work:.0f} % of a CPU" if work < 0.995 else f"{work:.1f} CPUs"
