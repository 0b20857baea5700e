"""``deadbeat sched analyze``: which schedulability tests accept, and who proves what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import asdict

from deadbeat.cli._output import Part, table
from deadbeat.cli.sched_systems import load, patiently
from deadbeat.kinds.base import Shown
from deadbeat.model.errors import UsageError
from deadbeat.model.systems import TaskSystem
from deadbeat.sched.analysis import (
    Analysis,
    TestResult,
    require_agreement,
)
from deadbeat.sched.analysis import analyze as analyze_system
from deadbeat.sched.simulator import (
    Model,
    Scheduler,
    Verdict,
    policies,
    require_model,
    simulate,
)

_WORDS = ("priorities", "partition", "order", "admission")


def analyze(
    file: Path, *, processors: int | None, simulate: bool, model: Model | None, **options: Any
) -> Shown:
    """``options``: those of the tests."""
    system = load(file, processors).system
    if model is not None and not simulate:
        raise UsageError("--model is of the simulation", "add --simulate")

    given = {name: value for name, value in options.items() if value not in (None, ())}

    def work() -> tuple[Analysis, dict[str, Verdict]]:
        analysis = analyze_system(system, **given)
        return analysis, _simulated(system, analysis, model) if simulate else {}

    analysis, verdicts = patiently(work, "analyzing")
    return Shown(plain=_plain(analysis, verdicts), parts=list(_parts(analysis, verdicts)))


def _simulated(system: TaskSystem, analysis: Analysis, model: Model | None) -> dict[str, Verdict]:
    """The verdict of each scheduler that is also a policy and can schedule such systems."""
    require_model(system, model)
    words = {name: getattr(analysis, name) for name in ("ties", *_WORDS)}
    found = {}
    for name in analysis.schedulers:
        if name in policies():
            try:
                found[name] = simulate(system, Scheduler(policy=name, **words), model=model)
            except UsageError:  # not defined for such deadlines: there is nothing to show beside
                continue
            require_agreement(analysis, name, found[name])
    return found


def _plain(analysis: Analysis, verdicts: dict[str, Verdict]) -> dict[str, object]:
    return {
        "name": analysis.system.name,
        "processors": analysis.system.processors,
        "utilisation": float(analysis.system.utilisation),
        "ties": analysis.ties,
        "blocking": analysis.blocking,
        **{name: getattr(analysis, name) for name in _WORDS},
        "tests": [_plain_result(result) for result in analysis.results],
        "schedulers": {
            name: {
                "schedulable": found.schedulable,
                "proof": found.proof,
                "accepted": list(found.accepted),
                "refuted": list(found.refuted),
                "silent": list(found.silent),
                **({"simulation": _plain_verdict(verdicts[name])} if name in verdicts else {}),
            }
            for name, found in analysis.schedulers.items()
        },
    }


def _plain_result(result: TestResult) -> dict[str, object]:

    facts = asdict(result.facts)
    return {
        "test": facts.pop("name"),
        **facts,
        "answer": result.answer,
        "reason": result.reason,
        "ties": result.ties,
        "bounds": list(result.bounds),
        "seconds": result.seconds,
    }


def _plain_verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "schedulable": verdict.schedulable,
        "proved": verdict.proved,
        "model": verdict.model,
        "ties": verdict.scheduler.ties,
        "first_miss": verdict.first_miss,
        "because": verdict.because,
        "simulated": True,
    }


def _parts(analysis: Analysis, verdicts: dict[str, Verdict]) -> Iterator[Part]:
    for name, found in analysis.schedulers.items():
        word = {"yes": "schedulable", "no": "not schedulable"}.get(found.schedulable)
        others = [test for test in (*found.accepted, *found.refuted) if test != found.proof]
        also = f"; also {', '.join(others)}" if others else ""
        told = f"{word}, proved by {found.proof}{also}" if word else "no test proves anything"
        if name in verdicts:
            verdict = verdicts[name]
            told += (
                f"; simulated (model {verdict.model}, ties by {verdict.scheduler.ties}):"
                f" {verdict.schedulable}{', proved' * verdict.proved}"
            )
        yield f"{name}: {told}"
    yield ""
    rows = [
        [
            *(result.facts.name, result.facts.scheduler, _told(result)),
            f"{result.facts.model}{_instants(result)}, {_ties(result)}",
            f"{result.seconds * 1e6:.0f} us",
            result.facts.reference,
        ]
        for result in analysis.results
    ]
    system = analysis.system
    title = (
        f"{len(system.tasks)} tasks on {system.processors} processors,"
        f" utilisation {float(system.utilisation):.4g}"
    )
    columns = ["test", "scheduler", "answer", "holds for", "CPU", "reference"]
    yield table(columns, rows, title=title, numeric=["CPU"])


def _instants(result: TestResult) -> str:
    return " at whole instants" if result.facts.whole_instants else ""


def _told(result: TestResult) -> str:
    """The answer; a bound of tardiness is not called accepted, which reads like schedulable."""
    if result.facts.kind == "bound" and result.answer == "accepted":
        late = max((bound for bound in result.bounds if bound is not None), default=0)
        return f"no job is later than {late}, which is no proof that none is late"
    return f"{result.answer}: {result.reason}" if result.reason else result.answer


def _ties(result: TestResult) -> str:
    return "any ties" if result.ties == "any" else f"ties by {result.ties}"
