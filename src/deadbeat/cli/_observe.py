"""What ``deadbeat observe`` does; apart from its options, so that ``--help`` imports none of it."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import attrs
import click
from attrs import frozen

from deadbeat.cli._machine import make_executor
from deadbeat.cli._options import to_repeat
from deadbeat.cli._output import print_json, say
from deadbeat.cli._session import Told, run_to_end
from deadbeat.cli._signals import interruptible
from deadbeat.executors.base import Executor
from deadbeat.kinds.contention.place import find_campaign
from deadbeat.kinds.contention.view import CampaignView
from deadbeat.kinds.contention.view import open_campaign as open_view
from deadbeat.model.comparison import Comparison, Lineup
from deadbeat.model.conclusion import CONFIRMED, NOT_CONFIRMED, UNDECIDED, Judgement
from deadbeat.model.errors import UsageError
from deadbeat.model.words import shown
from deadbeat_papers.observations import (
    OBSERVATIONS,
    Campaign,
    Campaigns,
    PublishedObservation,
    judge,
)
from deadbeat_papers.observations.base import lack, lacks_input, needs_cores, needs_kernels
from deadbeat_papers.observations.campaigns import ask

_USAGE, _INTERRUPTED = 2, 130
_NUMBERS = re.compile(r"([0-9]+)(?:(?:\.\.|-)([0-9]+))?")
#: Options of a campaign's session that observe has none of.
_NO_OPTIONS: dict[str, Any] = {
    "campaign_file": None,
    "calibration_file": None,
    "programs_from": None,
    "preset": None,
    "quick": False,
    "retry_failed": False,
}


@frozen(kw_only=True)
class ObserveQuestion:
    """What is asked: which observations, from which campaigns, with what to run."""

    chosen: tuple[PublishedObservation, ...]
    sources: tuple[str, ...]
    quick: bool
    options: Mapping[str, Any]
    words: tuple[str, ...]

    @classmethod
    def parse(
        cls,
        what: Sequence[str],
        sources: Sequence[str],
        *,
        quick: bool,
        options: Mapping[str, Any],
        words: tuple[str, ...],
    ) -> Self:
        """Numbers are observations; behind ``--from`` every other word is a campaign.

        Raises:
            UsageError: A word is neither, or there is no such observation.
        """
        given = [part for word in what for part in word.split(",") if part]
        numbers = [word for word in given if word == "all" or _NUMBERS.fullmatch(word)]
        rest = [word for word in given if word not in numbers]
        if rest and not sources:
            raise UsageError(f"{shown(rest[0])} is no observation", "1 to 9, 2..4 or all")
        named = [part for word in sources for part in word.split(",") if part]
        return cls(
            chosen=_chosen(numbers or ["all"]),
            sources=tuple(dict.fromkeys([*named, *rest])),
            quick=quick,
            options={**_NO_OPTIONS, **options},
            words=words,
        )


@frozen(kw_only=True)
class Answer:
    """An observation and what became of it."""

    observation: PublishedObservation
    judgement: Judgement


def observe(question: ObserveQuestion) -> int:
    """Judges, runs what is lacking before, prints; returns the exit status."""
    if question.sources:
        answers = _judged(question.chosen, [_stored(question, name) for name in question.sources])
    else:
        try:
            with closing(_executor(question)) as executor, interruptible():
                answers = _here(question, executor)
        except Told:
            return _INTERRUPTED
        except KeyboardInterrupt:
            say(f"interrupted: continue with: {shlex.join(['deadbeat', *question.words])}")
            return _INTERRUPTED
    if question.options["as_json"]:
        print_json({"observations": [_plain(answer) for answer in answers]})
    else:
        for answer in answers:
            _print(answer)
    lacking = question.sources and all(lacks_input(each.judgement.verdict) for each in answers)
    return _USAGE if lacking else 0


def _chosen(words: Iterable[str]) -> tuple[PublishedObservation, ...]:
    known = {observation.number: observation for observation in OBSERVATIONS}
    numbers: set[int] = set()
    for word in words:
        match = _NUMBERS.fullmatch(word)
        low, high = (1, max(known)) if match is None else (int(match[1]), int(match[2] or match[1]))
        if low not in known or high not in known or low > high:
            raise UsageError(f"there is no observation {word}", f"1 to {max(known)}, or all")
        numbers.update(range(low, high + 1))
    return tuple(known[number] for number in sorted(numbers))


def _executor(question: ObserveQuestion) -> Executor:
    options = question.options
    return make_executor(options["executor_text"], simulated=options["simulated"], cpus=None)


@frozen(kw_only=True)
class _Campaign:
    """A campaign as an observation sees it, and as it is compared."""

    result: Campaign
    view: CampaignView


def _stored(question: ObserveQuestion, text: str) -> _Campaign:
    return _campaign(find_campaign(question.options["runs"], text))


def _campaign(path: Path) -> _Campaign:
    view = open_view(path)
    return _Campaign(result=Campaign(name=path.name, summary=view.summary), view=view)


def _judged(chosen: Iterable[PublishedObservation], campaigns: Sequence[_Campaign]) -> list[Answer]:
    """One verdict each; of an observation on one kernel one for each campaign of its mode."""
    answers = []
    results = [campaign.result for campaign in campaigns]
    compare = _comparing(campaigns)
    for observation in chosen:
        fitting = [one for one in results if one.mode == observation.mode]
        split = observation.kernels == 1 and fitting
        for group in [[one] for one in fitting] if split else [list(results)]:
            found = judge(observation, Campaigns(results=tuple(group), compare=compare))
            answers.append(Answer(observation=observation, judgement=found))
    return answers


def _here(question: ObserveQuestion, executor: Executor) -> list[Answer]:
    """Runs the campaigns that this machine can answer something with, and judges them."""
    platform = executor.describe()
    cores = len(platform.cpus)
    known: dict[str, _Campaign] = {}
    answers = []
    for observation in question.chosen:
        lacking = _lacking(observation, cores)
        if lacking is None:
            name = observation.campaign
            if name not in known:
                known[name] = _run(question, name, executor, cores)
            answers += _judged([observation], [known[name]])
        else:
            labels = () if platform.kind == "hardware" else (platform.kind,)
            judgement = attrs.evolve(lacking, labels=labels)
            answers.append(Answer(observation=observation, judgement=judgement))
    return answers


def _lacking(observation: PublishedObservation, cores: int) -> Judgement | None:
    """What forbids that this machine alone shows it; None: nothing does."""
    if cores < observation.cores:
        return lack(observation, needs_cores(observation.cores), f"{cores} can be used here")
    if observation.kernels > 1:
        because = "run the programs of one campaign on the other kernel (--programs-from), then"
        because += f" observe {observation.number} --from A B"
        return lack(observation, needs_kernels(observation.kernels), because)
    return None


def _run(question: ObserveQuestion, campaign: str, executor: Executor, cores: int) -> _Campaign:
    asked = ask(campaign, cores=cores, quick=question.quick)
    again = to_repeat(question.words)
    layer = {**asked.layer, "name": asked.name}
    return _campaign(run_to_end(question.options, layer=layer, executor=executor, again=again))


def _comparing(campaigns: Sequence[_Campaign]) -> Callable[[Campaign, Campaign], Comparison]:
    """Compares two of ``campaigns`` program by program; the others may be repeats of the first."""

    def compare(baseline: Campaign, other: Campaign) -> Comparison:
        from deadbeat.compare.results import compare_results  # noqa: PLC0415  only two kernels
        from deadbeat.kinds.contention import observe  # noqa: PLC0415  only two kernels

        first, second, *rest = [
            observe.campaign_of(campaign.view)
            for result in (baseline, other, None)
            for campaign in campaigns
            if (campaign.result is result if result else campaign.result not in (baseline, other))
        ]
        lineup = Lineup(subjects=(first, second), repeats=observe.repeats_among(first, rest))
        metrics = [metric for metric in observe.METRICS if metric.name == "delay_ratio"]
        (found,) = compare_results(observe.COMPARABLE, lineup, metrics=metrics).comparisons
        return found

    return compare


def _shown_labels(answer: Answer) -> list[str]:
    return [
        label.upper() if label in ("simulated", "emulated") else label
        for label in answer.judgement.labels
    ]


def _plain(answer: Answer) -> dict[str, Any]:
    observation, judgement = answer.observation, answer.judgement
    (found,) = judgement.evidence
    return {
        "number": observation.number,
        "title": observation.title,
        "statement": observation.says,
        "criterion": observation.confirmed,
        "verdict": judgement.verdict,
        "because": found.figures,
        "figures": [{"what": what, "value": value} for what, value in found.details],
        "runs": list(found.runs),
        "labels": _shown_labels(answer),
    }


def _print(answer: Answer) -> None:
    observation, judgement = answer.observation, answer.judgement
    marks = "".join(f"   {label}" for label in _shown_labels(answer))
    (found,) = judgement.evidence
    of = f"   ({', '.join(found.runs)})" if found.runs else ""
    click.echo(f"{observation.number}. {observation.title}: {judgement.verdict.upper()}{of}{marks}")
    lines = [found.figures, *(f"{what}: {value}" for what, value in found.details)]
    if judgement.verdict in (CONFIRMED, NOT_CONFIRMED, UNDECIDED):
        lines.append(f"criterion: {observation.confirmed}")
    wrap = textwrap.TextWrapper(
        width=100, initial_indent="   ", subsequent_indent="     ", break_on_hyphens=False
    )
    for line in lines:
        click.echo(wrap.fill(line))
