"""Analyses and verdicts in words: what the terminal says first, with and without a command line."""

from __future__ import annotations

from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.analysis import Analysis
from deadbeat.sched.answer import ScheduleAnswer

_ANSWERS = {
    "yes": "schedulable under",
    "elsewhere": "schedulable in another placement under",
    "no": "not schedulable under",
    "undecided": "nothing proved of",
}
#: Of p-edf and p-fp, in the words of the core.
_ELSEWHERE = "this placement fails, another meets all deadlines"
_EXECUTION = {
    "up-to-wcet": "for all execution times up to C",
    "exactly-wcet": "for execution times of exactly C",
}


def headline_of(analysis: Analysis) -> str:
    """Under which schedulers it is schedulable, under which not, and of which nothing is proved."""
    found: dict[str, list[str]] = {answer: [] for answer in ("yes", "elsewhere", "no", "undecided")}
    for name in spoken_of(analysis):
        place = (
            "elsewhere" if _is_elsewhere(analysis, name) else analysis.schedulers[name].schedulable
        )
        found[place].append(name)
    said = [f"{_ANSWERS[word]} {', '.join(names)}" for word, names in found.items() if names]
    if found["elsewhere"]:
        said[bool(found["yes"])] += " (--partition any)"
    return "; ".join(said) or f"nothing proved: {_why_nothing(analysis)}"


def spoken_of(analysis: Analysis) -> list[str]:
    """Schedulers that a test of them says anything of, else of which one of all schedulers does;
    all where tasks only compute."""
    every = analysis.schedulers
    if not analysis.system.beyond:
        return [*every]
    said = {each.facts.scheduler for each in analysis.results if each.answer != "not applicable"}
    return [name for name in every if name in said] or [n for n in every if every[n].refuted]


def _is_elsewhere(analysis: Analysis, scheduler: str) -> bool:
    """Whether only its placement of the tasks fails."""
    found = analysis.schedulers[scheduler]
    reasons = [analysis.result(name).reason for name in found.silent]
    return found.schedulable == "undecided" and _ELSEWHERE in reasons


def proof_of(analysis: Analysis, scheduler: str) -> str:
    """What is proved of the scheduler, and by which tests."""
    found = analysis.schedulers[scheduler]
    word = {"yes": "schedulable", "no": "not schedulable"}.get(found.schedulable)
    if found.refuted and any(task.offset for task in analysis.system.tasks):
        word = "not schedulable with sporadic releases (offsets are left out)"
    if _is_elsewhere(analysis, scheduler):
        tried = f"{analysis.partition}, {analysis.order}"
        return f"this placement ({tried}) fails, another meets all deadlines: --partition any"
    if not word:
        silent = [analysis.result(name) for name in found.silent]
        placing = [each.reason for each in silent if each.facts.kind == "exact" and each.reason]
        return "; ".join(["no test proves anything", *placing])
    others = [test for test in (*found.accepted, *found.refuted) if test != found.proof]
    also = f"; also {', '.join(others)}" if others else ""
    placed = analysis.result(found.proof).reason if found.proof in found.accepted else ""
    by = f"{found.proof} ({placed})" if placed else found.proof
    return f"{word}, proved by {by}{also}"


def beyond(system: TaskSystem) -> str:
    return " and ".join(system.beyond)


def _why_nothing(analysis: Analysis) -> str:
    """That locks are plain mutexes, else that all tests ignore what it has."""
    reasons = [result.reason for result in analysis.results if result.facts.models]
    plain = [reason for reason in reasons if "plain mutex" in reason]
    return (plain or [f"every test ignores {beyond(analysis.system)}"])[0]


def late_chains(answer: ScheduleAnswer) -> list[str]:
    chains = answer.get("chains", ())
    return [f"chain {each['name'] or ' > '.join(each['tasks'])}" for each in chains if each["late"]]


def verdict_lines(answer: ScheduleAnswer) -> list[str]:
    """The answer, and the argument for it."""
    found, proved = answer["schedulable"], answer["proved"]
    how = "" if found == "undecided" else ", proved" if proved else ", not proved"
    if "robustness" in answer:
        rules = answer["by_ties"]
        lines = [f"schedulable under every tie rule: {found}{how} ({answer['robustness']})"]
        width = max(map(len, rules))
        lines += [
            f"  {rule:<{width}}  {entry['schedulable']}: {entry['because']}"
            for rule, entry in rules.items()
        ]
        return lines
    lines = [f"schedulable: {found}{how} ({answer['because']})"]
    execution = _EXECUTION.get(answer["execution"], answer["execution"])
    if found == "yes" and execution not in answer["because"]:
        lines[0] += f", {execution}"
    if answer["pattern"] and answer["pattern"] not in answer["because"]:
        lines.append(f"releases that miss: {answer['pattern']}")
    if late := late_chains(answer):
        lines.append(f"later than their deadline here: {', '.join(late)}")
    if answer["proof"] == "placement" and answer["options"].get("partition") != "any":
        lines.append("another placement: --partition any")
    return lines
