"""``deadbeat sched analyze``: which schedulability tests accept, and who proves what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from attrs import asdict

from deadbeat.cli._options import choice, json_option
from deadbeat.cli._output import print_json, print_table
from deadbeat.cli.sched._background import patiently
from deadbeat.cli.sched._options import file_argument, load
from deadbeat.model.errors import UsageError
from deadbeat.model.systems import TaskSystem
from deadbeat.sched.analysis import (
    ANY_SCHEDULER,
    Analysis,
    TestResult,
    analyze,
    require_agreement,
    tests,
)
from deadbeat.sched.simulator import (
    MODELS,
    Model,
    Scheduler,
    Verdict,
    option_words,
    policies,
    require_model,
    simulate,
    tie_rules,
)

_WORDS = ("priorities", "partition", "order", "admission")


@click.command()
@file_argument
@click.option(
    "--scheduler", metavar="NAME", help="Only tests of this policy: g-edf, p-edf...  [all]"
)
@click.option(
    "--test", "names", multiple=True, metavar="NAME", help="Only this test; repeatable.  [all]"
)
@click.option("--ties", metavar="RULE", help="Orders equal priorities.  [index]")
@click.option("--priorities", metavar="rm|dm|given", help="Of fixed-priority tests.  [rm]")
@click.option("--partition", metavar="NAME", help="Of partitioned tests.  [auto: first-fit]")
@click.option("--order", metavar="NAME", help="Likewise.  [utilisation-desc]")
@click.option("--admission", metavar="NAME", help="Likewise.  [utilisation]")
@click.option(
    "--blocking",
    type=click.IntRange(0, 1 << 60),
    default=0,
    metavar="TIME",
    help="Longest non-preemptive section, of tests of one processor.  [0]",
)
@click.option(
    "--budget",
    type=click.IntRange(1, 1 << 60),
    default=50_000_000,
    metavar="N",
    help="Steps after which a test is undecided.  [50000000]",
)
@click.option("--simulate", is_flag=True, help="Beside each scheduler, what simulation says.")
@click.option(
    "--model",
    metavar="NAME",
    help="Of the simulation: periodic-sync, periodic-offset or sporadic.  [periodic-sync; with"
    " offsets the second]",
)
@json_option
def command(
    file: Path, *, processors: int | None, simulate: bool, as_json: bool, **options: Any
) -> None:
    """Run the schedulability tests on the task system in FILE, cheapest first.

    accepted and refuted are proofs; not accepted says nothing. A test that holds for sporadic
    releases holds for periodic ones at any offsets.
    """
    system = load(file, processors).system
    model: Any = choice("--model", options["model"], MODELS, "") or None
    if model is not None and not simulate:
        raise UsageError("--model is of the simulation", "add --simulate")

    def work() -> tuple[Analysis, dict[str, Verdict]]:
        analysis = _analyze(system, options)
        return analysis, _simulated(system, analysis, model) if simulate else {}

    analysis, verdicts = patiently(work, "analyzing")
    if as_json:
        print_json(_plain(analysis, verdicts))
    else:
        _print(analysis, verdicts)


def _analyze(system: TaskSystem, options: dict[str, Any]) -> Analysis:

    defaults = Scheduler()
    about = {facts.scheduler for facts in tests().values()} - {ANY_SCHEDULER}
    names = tuple(choice("--test", name, tuple(tests()), "") for name in options["names"])
    return analyze(
        system,
        scheduler=choice("--scheduler", options["scheduler"], tuple(sorted(about)), "") or None,
        names=names or None,
        ties=choice("--ties", options["ties"], tie_rules(), "index"),
        blocking=options["blocking"],
        budget=options["budget"],
        **{
            name: choice(f"--{name}", options[name], option_words(name), getattr(defaults, name))
            for name in _WORDS
        },
    )


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


def _plain(analysis: Analysis, verdicts: dict[str, Verdict]) -> dict[str, Any]:
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


def _plain_result(result: TestResult) -> dict[str, Any]:

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


def _plain_verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "schedulable": verdict.schedulable,
        "proved": verdict.proved,
        "model": verdict.model,
        "ties": verdict.scheduler.ties,
        "first_miss": verdict.first_miss,
        "because": verdict.because,
        "simulated": True,
    }


def _print(analysis: Analysis, verdicts: dict[str, Verdict]) -> None:

    system = analysis.system
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
        click.echo(f"{name}: {told}")
    click.echo()
    print_table(
        ["test", "scheduler", "answer", "holds for", "CPU", "reference"],
        (
            [
                result.facts.name,
                result.facts.scheduler,
                _told(result),
                f"{result.facts.model}{_instants(result)}, {_ties(result)}",
                f"{result.seconds * 1e6:.0f} us",
                result.facts.reference,
            ]
            for result in analysis.results
        ),
        title=f"{len(system.tasks)} tasks on {system.processors} processors,"
        f" utilisation {float(system.utilisation):.4g}",
        numeric=["CPU"],
    )


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
