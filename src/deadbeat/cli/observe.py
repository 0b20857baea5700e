"""``deadbeat observe``: the paper's nine observations on this machine, or on stored campaigns."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from deadbeat.base.kinds.base import Begin
from deadbeat.base.kinds.registry import find
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.comparison import Comparison, Lineup
from deadbeat.base.model.conclusion import CONFIRMED, NOT_CONFIRMED, Judgement
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import EXTRAPOLATED
from deadbeat.base.model.published import offered
from deadbeat.base.model.words import count_of, duration, loud, shown
from deadbeat.base.report.machines import CaseVerdict, Verdicted
from deadbeat.base.store.runfolder import inventory_in
from deadbeat.cli._measure import answered
from deadbeat.cli._options import budget_seconds, words_typed
from deadbeat.cli._output import say
from deadbeat.cli._signals import Reported, interruptible
from deadbeat.cli.compare.results import compare_results
from deadbeat.machine.targets.opening import slug, targets_in
from deadbeat.tasksets.contention import observe as observing
from deadbeat.tasksets.contention.kind import KIND
from deadbeat.tasksets.contention.place import find_campaign
from deadbeat.tasksets.contention.plan import resolve
from deadbeat.tasksets.contention.runner import estimate
from deadbeat.tasksets.contention.spec import specify
from deadbeat.tasksets.contention.view import CampaignView
from deadbeat.tasksets.contention.view import open_campaign as open_view
from deadbeat.tasksets.executors.made import make_executor

#: What the papers say, and how it is judged.
papers, statements = offered("observations"), offered("statements")
_USAGE = 2
_CASES: dict[str, CaseVerdict] = {CONFIRMED: "passed", NOT_CONFIRMED: "failed"}
STATEMENTS = statements.STATEMENTS
#: What ``--quick`` takes at most.
QUICK_S = 300.0


def observe(
    *,
    what: tuple[str, ...],
    sources: tuple[str, ...],
    quick: bool,
    fresh: bool,
    figures: bool | None,
    runs: Path,
    executor: str | None,
    time_budget: str | None = None,
    fail_on: str | None = None,
    of: str | None = None,
    **machine: Any,
) -> Shown | int:
    if of is not None:
        names = [part for word in (*sources, *what) for part in word.split(",") if part]
        return _stated(of, names, runs, fail_on)
    chosen, stored = parse(what, sources)
    for name in set(what) & set(stored):
        if not Path(name).exists() and not (runs / name).exists():
            message = f"{shown(name)} is neither an observation nor a result"
            raise UsageError(message, "1 to 9, 2..4 or all; deadbeat list results")
    answers = [*_judged(chosen, [_campaign(find_campaign(runs, name)) for name in stored])]
    every: Sequence[Any] = chosen
    if stored:
        lacks = [each.conclusion for each in answers if papers.lacks_input(each.verdict)]
        chosen = tuple(each for each in chosen if each.kernels == 1 and each in lacks)
    if chosen and stored and not (quick or fresh or time_budget):
        say(
            "not run: what these results lack; --quick beside --from measures it, --time-budget too"
        )
    elif chosen:
        promised = QUICK_S if quick and not machine.get("simulated") else None
        asked = Begin(
            runs=runs,
            fresh=fresh,
            **machine,
            given={"executor": executor},
            budget_s=promised if time_budget is None else budget_seconds(time_budget),
            words=words_typed("observe"),
            say=say,
        )
        answers = [each for each in answers if stored and each.conclusion not in chosen]
        answers += _measured_here(chosen, asked, quick=quick, figures=figures)
        answers.sort(key=lambda each: every.index(each.conclusion))
    answers = [attrs.evolve(each, labels=loud(each.labels)) for each in answers]
    lacking = stored and all(papers.lacks_input(each.verdict) for each in answers)
    verdicts = Counter(answer.verdict for answer in answers)
    return _answered(
        [(answer.verdict, list(papers.lines_of(answer))) for answer in answers],
        lacking=bool(lacking),
        fail_on=fail_on,
        headline=", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()),
        plain={"observations": [papers.plain_of(answer) for answer in answers]},
    )


def _measured_here(chosen: Sequence[Any], asked: Begin, **how: Any) -> list[Any]:
    try:
        with interruptible():
            return [answer for each in _on_each(asked) for answer in _here(chosen, each, **how)]
    except Reported:
        raise
    except KeyboardInterrupt:
        say(f"interrupted: continue with: {shlex.join(['deadbeat', *asked.words])}")
        raise Reported from None


def _stated(of: str, names: Sequence[str], runs: Path, fail_on: str | None) -> Shown:
    """A statement of another publication, on stored results."""
    results = []
    for name in names:
        kind, path = find(runs, name)
        opened = kind.open(path)
        random = opened.shown.plain.get("mix") == "random"
        results.append(
            statements.StatedResult(
                name=path.name,
                kind=opened.shown.kind + " --random" * random,
                path=path.resolve(),
                plain=opened.shown.plain,
                platform=kind.comparable.read(path).platform if kind.comparable else {},
                summary=opened.summary,
                inventory=inventory_in(path),
            )
        )
    judged = statements.judged(STATEMENTS[of], results)
    lines = list(statements.lines_of(judged))
    return _answered(
        [(judged.verdict, lines)],
        lacking=judged.verdict.startswith("needs "),
        fail_on=fail_on,
        name=of,
        headline=lines[0],
        plain={"statements": [statements.plain_of(judged)]},
    )


def _answered(
    judged: Sequence[tuple[str, list[str]]],
    *,
    lacking: bool,
    fail_on: str | None,
    name: str = "",
    **shown: Any,
) -> Shown:
    """Verdicts and their lines. ``name``: of the only one; "": what its first line begins with."""
    cases = [
        Verdicted(
            name=name or lines[0].partition(":")[0],
            group="observe",
            verdict=_CASES.get(verdict, "skipped"),
            message=lines[0],
        )
        for verdict, lines in judged
    ]
    refuted = [case.message for case in cases if case.verdict == "failed"] if fail_on else []
    if refuted:
        more = f", and {len(refuted) - 1} more" if len(refuted) > 1 else ""
        say(f"--fail-on {fail_on}: {refuted[0]}{more}")
    return Shown(
        **shown,
        parts=[line for _, lines in judged for line in lines],
        cases=cases,
        status=_USAGE if lacking else int(bool(refuted)),
    )


def parse(what: Sequence[str], sources: Sequence[str]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Observations and campaigns: numbers are observations; behind ``--from`` every other word is
    a campaign.

    Raises:
        UsageError: A word is neither, or there is no such observation.
    """
    given = [part for word in what for part in word.split(",") if part]
    numbers = [word for word in given if papers.NUMBERS.fullmatch(word)]
    rest = [word for word in given if word not in numbers]
    if rest and not sources:
        raise UsageError(f"{shown(rest[0])} is no observation", "1 to 9, 2..4 or all")
    named = [part for word in sources for part in word.split(",") if part]
    return papers.chosen_of(numbers or ["all"]), tuple(dict.fromkeys([*named, *rest]))


@frozen(kw_only=True)
class _Campaign:
    """A campaign as an observation sees it, and as it is compared."""

    result: Any
    view: CampaignView


def _campaign(path: Path) -> _Campaign:
    view = open_view(path)
    return _Campaign(result=papers.Campaign(name=path.name, summary=view.summary), view=view)


def _judged(chosen: Iterable[Any], campaigns: Sequence[_Campaign]) -> Iterator[Judgement]:
    """One verdict each; of an observation on one kernel one for each campaign of its mode."""
    results = [campaign.result for campaign in campaigns]
    compare = _comparing(campaigns)
    for observation in chosen:
        fitting = [one for one in results if one.summary.mode == observation.mode]
        split = observation.kernels == 1 and fitting
        for group in [[one] for one in fitting] if split else [list(results)]:
            every = tuple(results)
            yield papers.judge(
                observation, papers.Campaigns(results=tuple(group), every=every, compare=compare)
            )


def _on_each(asked: Begin) -> Iterator[Begin]:
    """What is asked of every machine; of several, results are named after theirs."""
    targets = targets_in(asked.target)
    for word in targets or (None,):
        name = f"-{slug(word)}" if word and len(targets) > 1 else ""
        yield attrs.evolve(asked, target=word, typed={"name": name})


def _here(
    chosen: Sequence[Any], asked: Begin, *, quick: bool, figures: bool | None
) -> Iterator[Judgement]:
    """Runs the campaigns that this machine can answer something with, and judges them."""
    with closing(make_executor(None, runs=asked.runs, **asked.machine)) as executor:
        platform = executor.describe()
    cores, replayed = len(platform.cpus), platform.kind == EXTRAPOLATED
    possible = [each for each in chosen if papers.lacking_here(each, cores) is None]
    layers: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(name for each in possible for name in each.campaign.split()):
        layers[name] = papers.ask(name, cores=cores, quick=quick, extrapolated=replayed)
        layers[name]["name"] = f"{layers[name]['name']}{asked.typed['name']}"
    # What campaigns that are not there yet take together, each set `times` times.
    times = 1 + 2 * replayed
    specs = [resolve(specify(layer), platform).spec for layer in layers.values()]
    seconds = sum(estimate(spec, simulated=platform.made_up).seconds for spec in specs) * times
    calibrating = sum(spec.calibration.about_seconds for spec in specs) * (not platform.made_up)
    of_it = f", {duration(calibrating)} of it to calibrate with cold caches" * bool(calibrating)
    most = f"; at most {duration(asked.budget_s)}" if asked.budget_s else ""
    if specs:
        count = count_of(len(specs), "campaign")
        say(f"{count} in all, about {duration(seconds)}{of_it}{most}")
    known: dict[str, _Campaign] = {}
    for observation in chosen:
        if lacking := papers.lacking_here(observation, cores):
            labels = () if platform.kind == "hardware" else (platform.kind,)
            yield attrs.evolve(lacking, labels=labels)
            continue
        for name in observation.campaign.split():
            if name not in known:
                wanted = attrs.evolve(asked.part(len(layers) - len(known)), typed=layers[name])
                known[name] = _campaign(answered(KIND, wanted, figures))
        yield from _judged([observation], [known[name] for name in observation.campaign.split()])


def _comparing(campaigns: Sequence[_Campaign]) -> Callable[[Any, Any], Comparison]:
    """Compares two of ``campaigns`` program by program; the others may be repeats of the first."""

    def compare(baseline: Any, other: Any) -> Comparison:
        first, second, *rest = [
            observing.campaign_of(campaign.view)
            for result in (baseline, other, None)
            for campaign in campaigns
            if (campaign.result is result if result else campaign.result not in (baseline, other))
        ]
        lineup = Lineup(subjects=(first, second), repeats=observing.repeats_among(first, rest))
        metrics = [metric for metric in observing.METRICS if metric.name == "delay_ratio"]
        (found,) = compare_results(observing.COMPARABLE, lineup, metrics=metrics).comparisons
        return found

    return compare
