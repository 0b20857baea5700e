"""Whether a run of a matrix measured what it claims.

Pure functions of what a run stores, so that runs of an older version are judged by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve

from deadbeat.base.model.finding import Finding, ordered
from deadbeat.latencies.latency.model import Circumstances, CpuLatency, LatencyRun, LoadReport
from deadbeat.latencies.validity import LOAD_TOLERANCE, disturbed, labelled, problem, shares_text

#: Share of what was asked by which a load may miss it, and the step in which CPU time counts, s.
LOAD_SHARE, TICK_S = 0.2, 0.01
#: Share of what was asked; below it a load never ran.
LOAD_NEVER = 0.01
#: CPU time an engine takes beside its measuring, s: cyclictest formats a line for every bucket.
ENGINE_S = 0.2
#: Share of the expected wake-ups that must have been seen, or counted as missed: else doubtful, and
#: too few.
SEEN_WARNING, SEEN_INVALID = 0.98, 0.5
#: What `load_problems` and `cycle_problems` find again in a stored run; some by their older names.
_OF_LOAD = frozenset(
    {"load-died", "load-unknown", "load-not-reached", "load-starved", "other-work"}
    | {"load-exceeded", "not-idle"}
)
_OF_CYCLES = frozenset({"too-few-cycles"})


def load_problems(
    load: LoadReport, circumstances: Circumstances, cpus: Iterable[CpuLatency], seconds: float
) -> Iterator[Finding]:
    """What is wrong with the load of a latency run of ``seconds`` and what ran beside it."""
    if load.died:
        yield problem("load-died", f"the load ended before its time: {load.died}", "invalid")
    yield from _workers(load)
    if not load.achieved:
        if load.judged:
            yield problem("load-unknown", "how busy the CPUs were could not be read")
        return
    asked = load.asked / 100
    least = _least_share(asked, seconds)
    # The measuring threads and the host come first: what they took the load could not have.
    measuring = {str(c.cpu): (c.cpu_ns or 0) / (seconds * 1e9) for c in cpus}
    stolen = circumstances.steal_share
    taken = {cpu: measuring.get(cpu, 0.0) + stolen.get(cpu, 0.0) for cpu in load.achieved}
    idle = {cpu: share for cpu, share in load.achieved.items() if share + taken[cpu] < least}
    if idle and load.judged:
        text = f"asked for {100 * asked:.0f} % of each CPU, {shares_text(idle)} were busy"
        yield problem("load-not-reached", text, "invalid")
    own = circumstances.load_share
    if own is not None and own < least and (load.computes or load.judged):
        gone = sum(taken.values()) / len(taken)
        if own < LOAD_NEVER * asked and gone < 1 - LOAD_TOLERANCE:
            yield problem("load-not-reached", "the load never ran", "invalid")
        else:
            text = f"asked for {100 * asked:.0f} % of each CPU, the load had {100 * own:.1f} %"
            lacks = load.judged and own + gone < least  # others took it
            yield problem("load-starved", text, "invalid" if lacks else "warning")
    other = other_work(load, circumstances, seconds)
    if other:
        text = f"something else ran: {other:.2f} CPUs of work of neither the load nor its measuring"
        yield problem("other-work", text)


def other_work(load: LoadReport, circumstances: Circumstances, seconds: float) -> float:
    """CPUs of work beside a run that was neither its load's nor of its measuring threads.

    0.0 where it is no more than an engine's own start and end, and where it is inseparable from
    what the kernel does for the load (``io``, ``timer``).
    """
    asked, shares = load.asked / 100, load.achieved.values()
    bound = LOAD_TOLERANCE + ENGINE_S / seconds
    beyond = [share - asked for share in shares] if load.judged else []
    found = sum(max(share, 0.0) for share in beyond) if max(beyond, default=0.0) > bound else 0.0
    own = circumstances.load_share
    wants = load.computes or load.judged
    if wants and own is not None and own < _least_share(asked, seconds):
        others = sum(shares) - own * len(shares)
        found = max(found, others if others > bound else 0.0)
    return found


def _least_share(asked: float, seconds: float) -> float:
    """What a load must have of a CPU, of which ``asked`` was: 10 points less, or a fifth less."""
    return asked - min(LOAD_TOLERANCE, LOAD_SHARE * asked + TICK_S / seconds)


def _workers(load: LoadReport) -> Iterator[Finding]:
    """Every worker of a load works, and together they do what makes it that load."""
    if load.workers is None:
        yield problem("load-unknown", "what the load's own processes did could not be read")
        return
    idle = [
        f"{working} of {asked} {kind}"
        for kind, (asked, _, working) in load.workers.items()
        if working < asked
    ]
    if idle:
        # One that others keep from its CPU for a short run is not yet another load.
        gone = any(there < asked or not working for asked, there, working in load.workers.values())
        text = f"not all workers of the load ran: {', '.join(idle)}"
        yield problem("load-not-reached", text, "invalid" if gone else "warning")
    for name, least in load.least.items():
        rate = load.throughput.get(name, least)
        if rate < least:
            text = f"the load did next to nothing: {name} {rate:g}, at least {least:g} is one"
            hint = "; files in memory load no disk: set TMPDIR" if "written" in name else ""
            yield problem("load-not-reached", text + hint, "invalid")


def cycle_problems(cpus: Iterable[CpuLatency]) -> Iterator[Finding]:
    """CPUs without any wake-up, or with wake-ups that are not accounted for."""
    for cpu in cpus:
        seen = cpu.cycles + cpu.missed
        if seen < cpu.expected * SEEN_WARNING or not cpu.cycles:
            few = seen < cpu.expected * SEEN_INVALID or not cpu.cycles
            text = f"CPU {cpu.cpu}: {seen} of {cpu.expected} wake-ups were seen or missed"
            yield problem("too-few-cycles", text, "invalid" if few else "warning")


def judged_latency(run: LatencyRun) -> LatencyRun:
    """``run`` by today's rule, whatever an older version called invalid, or starved."""
    if run.valid and all(each.id != "load-starved" for each in run.problems):
        return run
    known = run.load != LoadReport()
    again = _OF_CYCLES | (_OF_LOAD if known else frozenset())
    kept = [each for each in labelled(run.problems) if each.id not in again]
    of_load = load_problems(run.load, run.circumstances, run.cpus, run.seconds) if known else ()
    return evolve(run, problems=tuple(ordered((*kept, *of_load, *cycle_problems(run.cpus)))))


def beside_latency(runs: Iterable[LatencyRun]) -> str:
    """What disturbed the runs of a latency matrix; "" for nothing."""
    valid = [run for run in runs if run.valid]
    return disturbed(
        [other_work(run.load, run.circumstances, run.seconds) for run in valid],
        [max(run.circumstances.steal_share.values(), default=0.0) for run in valid],
    )
