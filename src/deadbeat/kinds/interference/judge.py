"""Whether a run is what it says it is, and what happened beside it; pure.

What else ran, and what the host took, are labels: the run counts (`deadbeat.model.validity`).
"""

from __future__ import annotations

from deadbeat.host.judgements import stolen
from deadbeat.kinds.interference.engine import LoadRequest, Seen
from deadbeat.model.finding import Finding
from deadbeat.model.tuning import Setting
from deadbeat.model.validity import LOAD_TOLERANCE, problem, rounds_inside

#: So many threads that are ready before anything of the test runs are other work.
_OTHERS_MAX = 2


def problems(ask: LoadRequest, seen: Seen, machine: dict[str, object]) -> tuple[Finding, ...]:
    """Everything wrong with a run, and its labels."""
    found = [*_placed(ask, seen)] if ask.real_time else []
    found += [*_ran(ask, seen), *_bandwidth(machine), *_others(machine)]
    if seen.gaps_lost:
        text = f"{seen.gaps_lost} gaps beyond those that are kept: their causes are not counted"
        found.append(problem("gaps-lost", text))
    return tuple(found)


def not_held(setting: Setting, text: str | None) -> Finding:
    """A setting of the condition that its file, which shows ``text``, no longer holds."""
    now = "can no longer be read" if text is None else f"holds {' '.join(text.split())}"
    text = f"{setting.path} was set to {setting.value} and {now} after the run"
    return problem("setting-lost", text, "invalid")


def _ran(ask: LoadRequest, seen: Seen) -> list[Finding]:
    """Ordinary threads that did nothing: a result where the real-time thread has their only CPU."""
    if not ask.normal or any(seen.normal_units):
        return []
    theirs = ask.cpus if ask.normal_cpus is None else ask.normal_cpus
    if ask.real_time and len(theirs) == 1 and ask.pin in (None, *theirs):
        return []
    return [problem("load-not-reached", "the ordinary threads never ran", "invalid")]


def _others(machine: dict[str, object]) -> list[Finding]:
    """Time that went to what is no part of the test; other work in CPUs, as each thread of it
    stands in the way as one more ordinary thread does."""
    found = []
    share, foreign = machine.get("steal_share"), machine.get("foreign_cpus")
    if isinstance(share, float) and stolen({"": share}):
        text = f"the host took {100 * share:.1f} % of the CPUs' time meanwhile"
        found.append(problem("steal", text))
    ready = machine.get("others_ready")
    if isinstance(foreign, float):
        if foreign > LOAD_TOLERANCE:
            text = f"something else ran: {foreign:.2f} CPUs of work that is no part of the test"
            found.append(problem("other-work", text))
    elif isinstance(ready, int) and ready >= _OTHERS_MAX:
        text = f"{ready} other threads were ready before it began: the machine had other work"
        found.append(problem("other-work", text))
    return found


def _bandwidth(machine: dict[str, object]) -> list[Finding]:
    """The RT bandwidth, which every condition lives under, changed by somebody else."""
    before, after = machine.get("rt_runtime_before_us"), machine.get("rt_runtime_us")
    if before is None or after is None or before == after:
        return []
    text = f"sched_rt_runtime_us went from {before} to {after} while it was measured"
    return [problem("bandwidth-changed", text, "invalid")]


def _placed(ask: LoadRequest, seen: Seen) -> list[Finding]:
    wanted = (ask.policy, ask.priority if ask.policy == "fifo" else 0)
    found = []
    if (seen.policy, seen.priority) != wanted:
        text = f"the thread had {seen.policy} {seen.priority}, not {wanted[0]} {wanted[1]}"
        found.append(problem("wrong-priority", text, "invalid"))
    if ask.pin is not None and seen.cpu != ask.pin:
        text = f"the thread was bound to CPU {seen.cpu}, not {ask.pin}"
        found.append(problem("wrong-placement", text, "invalid"))
    if not rounds_inside(seen.rounds, seen.window_ns):
        found.append(problem("too-few-rounds", "the window holds no round", "invalid"))
    return found
