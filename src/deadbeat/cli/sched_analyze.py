"""``deadbeat sched analyze``: which schedulability tests accept, and who proves what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import partial
from math import ceil, floor
from pathlib import Path
from typing import Any, cast

from attrs import asdict, filters, frozen

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem
from deadbeat.base.model.words import Json, count_of
from deadbeat.base.report.machines import Verdicted
from deadbeat.cli._output import Part, say, table
from deadbeat.cli.sched_systems import in_folder, load, patiently
from deadbeat.sched.admission import Admission, RootDomain, admit
from deadbeat.sched.analysis import (
    ANY_SCHEDULER,
    Analysis,
    TestResult,
    TestSettings,
    require_agreement,
)
from deadbeat.sched.analysis import analyze as analyze_system
from deadbeat.sched.answer import named
from deadbeat.sched.blocking import (
    PINNED,
    REMOTE,
    BlockingShare,
    WorstSimulated,
    longest_accepted,
    shares,
    wait_words,
    worst_simulated,
)
from deadbeat.sched.chain_results import ChainResult, chain_results
from deadbeat.sched.placing import placements
from deadbeat.sched.sensitivity import Sensitivity
from deadbeat.sched.sensitivity import sensitivity as sensitivity_of
from deadbeat.sched.simulator import Model, Scheduler, Verdict, policies, require_model, simulate
from deadbeat.sched.words import beyond, headline_of, proof_of, spoken_of

#: Keys of RootDomain.
_DOMAIN = ("rt_runtime", "rt_period", "fair_runtime", "fair_period")
_WORDS = ("priorities", "partition", "order", "admission")
_OF_CHAINS = ("age", "reaction", "from_event")


def analyze(
    file: Path,
    *,
    processors: int | None,
    simulate: bool,
    model: Model | None,
    sensitivity: bool,
    spare: Fraction | None = None,
    fail_on: str | None = None,
    **options: Any,
) -> Shown:
    """``options``: those of the tests, and of RootDomain."""
    if file.is_dir():
        return in_folder(
            partial(
                analyze,
                simulate=simulate,
                model=model,
                sensitivity=sensitivity,
                spare=spare,
                fail_on=fail_on,
                **options,
            ),
            lambda answer: _by_scheduler(answer["schedulers"]),
            file,
            processors,
        )
    system = load(file, processors).system
    found_by = {options.get("priorities")} & {"opa"}
    if system.beyond:  # each test places them by itself
        found_by |= {options.get("partition")} & {"any"}
    _refuse(found_by, simulate=simulate, model=model, spare=spare)

    given = {name: value for name, value in options.items() if value not in (None, ())}
    kernel = {name: given.pop(name) for name in _DOMAIN if name in given}
    domain = RootDomain(processors=system.processors, **kernel)
    admitted = admit(system, domain) if any(task.budget for task in system.tasks) else None

    keys = given.keys() & TestSettings.__annotations__.keys()
    of_tests = cast(TestSettings, {name: given[name] for name in keys})

    def work() -> tuple[Analysis, dict[str, Verdict], tuple[Sensitivity, ...]]:
        analysis = analyze_system(system, **given)
        return (
            analysis,
            _simulated(system, analysis, model) if simulate else {},
            sensitivity_of(analysis, of_tests) if sensitivity or spare is not None else (),
        )

    analysis, verdicts, grown = patiently(work, "analyzing")
    homes = placements(analysis)
    headline = headline_of(analysis)
    waits = Waits.of(analysis, of_tests)
    budget = None if spare is None else Budget.of(system, grown, spare)
    chained = Chained(system=system, results=chain_results(analysis))
    lines = [*(budget.lines() if budget else ()), headline]
    lines += [*(waits.lines() if waits else ()), *chained.lines()]
    plain = _plain(analysis, verdicts) | (waits.plain() if waits else {}) | chained.plain()
    if budget and budget.fits is False and budget.test in homes and analysis.partition != "any":
        lines.insert(1, f"that is where {budget.test} places tasks now; anywhere: --partition any")
    if budget:
        plain["budget"] = {key: _fraction(value) for key, value in asdict(budget).items()}
    tail = [*([waits.table()] if waits else []), *chained.parts()]
    parts = [*lines, "", *tail, *_sources(system), *_parts(analysis, verdicts)]
    if analysis.assigned:
        plain["assigned"] = [*analysis.assigned]
        words = (f"{system.label(i)} {rank}" for i, rank in enumerate(analysis.assigned))
        parts.append(f"priorities by Audsley's assignment: {', '.join(words)}")
    if homes:
        plain["placed"] = {test: [*places] for test, places in homes.items()}
        parts += _placed(system, homes)
    if sensitivity:
        plain["sensitivity"] = [
            {name: _fraction(value) for name, value in asdict(each).items()} for each in grown
        ]
        parts += _sensitivities(analysis, grown)
    if admitted:
        plain["sched_deadline"] = asdict(admitted)
        parts.append(_admitted(admitted, system))
    said = ". ".join(lines)
    proved = {analysis.schedulers[name].schedulable for name in spoken_of(analysis)}
    failed = fail_on is not None and "yes" not in proved and (fail_on != "miss" or proved == {"no"})
    failed |= fail_on == "not-proved" and chained.due[0] < chained.due[1]
    if failed:
        say(f"--fail-on {fail_on}: {said}")
    case = Verdicted(name="schedulable", verdict="failed" if failed else "passed", message=said)
    return Shown(headline=said, plain=plain, parts=parts, cases=[case], status=int(failed))


def _by_scheduler(every: Mapping[str, Mapping[str, Sequence[str] | str]]) -> dict[str, str]:
    """Answers of schedulers that a test of them says anything of, else of those that one of all
    refutes."""
    said = {name: {*it["accepted"], *it["refuted"], *it["silent"]} for name, it in every.items()}
    own = [n for n in every if n == ANY_SCHEDULER or said[n] - {"necessary"}]
    return {name: str(every[name]["schedulable"]) for name in own or every if said[name]}


def _refuse(
    found_by: Set[str | None], *, simulate: bool, model: Model | None, spare: Fraction | None
) -> None:
    """Raises UsageError: options exclude each other."""
    if spare == 1:
        raise UsageError("--spare: 100 % leaves nothing to the tasks", "--spare 30%")
    if model is not None and not simulate:
        raise UsageError("--model is of the simulation", "add --simulate")
    if simulate and found_by:
        words = " or ".join(sorted(map(str, found_by)))
        raise UsageError(f"--simulate takes no {words}", "name what the tests found")


def _placed(system: TaskSystem, homes: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """Where tasks run, a line for each placement."""
    for places in dict.fromkeys(homes.values()):
        tests = ", ".join(test for test, own in homes.items() if own == places)
        words = (f"{system.label(i)} on {place}" for i, place in enumerate(places))
        yield f"placement of {tests}: {', '.join(words)}"


@frozen(kw_only=True)
class Chained:
    """What is known of the chains of a system."""

    system: TaskSystem
    results: Sequence[ChainResult]

    @property
    def due(self) -> tuple[int, int]:
        """Chains that are proved to keep their deadline, and chains that have one."""
        kept = {found.chain for found in self.results if found.kept}
        return len(kept), len({c for c in self.system.chains if c.deadline is not None})

    def lines(self) -> list[str]:
        kept, due = self.due
        return [f"chains proved to keep their deadline: {kept} of {due}"] * bool(due)

    def plain(self) -> dict[str, Json]:
        return {"chains": [self._plain(each) for each in self.results]} if self.results else {}

    def _plain(self, found: ChainResult) -> Json:
        bounds = asdict(found.bounds) if found.bounds else dict.fromkeys(_OF_CHAINS)
        own = asdict(found, filter=filters.exclude("chain", "bounds"))
        return {
            "name": found.chain.name,
            "tasks": [self.system.label(i) for i in found.chain.tasks],
            **{f"{key}_bound": bounds[key] for key in _OF_CHAINS},
            **own,
            "by": found.bounds.by if found.bounds else None,
            "deadline": found.chain.deadline,
            "kept": found.kept,
        }

    def parts(self) -> Iterator[Part]:
        rows = []
        offsets = any(task.offset for task in self.system.tasks)
        for found in self.results:
            name = found.chain.name or " > ".join(self.system.label(i) for i in found.chain.tasks)
            if found.reason:
                yield f"chain {name}: {found.reason}"
            due = found.chain.deadline
            kept = f"{due} {'kept' if found.kept else 'not proved'}" if due is not None else "-"
            for bounds, where in ((found.bounds, ""), (found.at_offsets, "at these offsets")):
                if bounds and (offsets or not where):
                    numbers = (bounds.age, bounds.reaction, bounds.from_event)
                    by = ", ".join(filter(None, (found.test, bounds.by, where)))
                    rows.append([name, found.scheduler, *map(str, numbers), kept, by])
        if rows:
            columns = ["chain", "scheduler", "age", "reaction", "from event", "deadline", "by"]
            unit = f" in {self.system.unit}" * bool(self.system.unit)
            title = f"chains, at most{unit}, where tasks come periodically"
            yield table(columns, rows, title=title, numeric=columns[2:5])
        yield from [""] * bool(self.results)


def _sources(system: TaskSystem) -> Iterator[str]:
    """Where times are from that are not given."""
    sections = [each for task in system.tasks for each in task.sections]
    for what, every in (("C", system.tasks), ("sections", sections)):
        labels = Counter(each.source.split(":")[0] or "given" for each in every)
        if set(labels) - {"given"}:
            yield f"{what}: {', '.join(f'{n} {label}' for label, n in labels.items())}; no maximum"


@frozen(kw_only=True)
class Waits:
    """What tasks wait for that share locks, by the bound of pinned SCHED_FIFO threads."""

    system: TaskSystem
    result: TestResult
    parts: Sequence[BlockingShare]
    settings: TestSettings
    worst_simulated: WorstSimulated | None

    @classmethod
    def of(cls, analysis: Analysis, settings: TestSettings) -> Waits | None:
        """None: the bound is not for this system, or was not asked for."""
        for result in analysis.results:
            if result.facts.name == PINNED and result.answer in ("accepted", "not accepted"):
                parts = shares(analysis.system, **settings) if analysis.system.locks else ()
                if parts:
                    return cls(
                        system=analysis.system,
                        result=result,
                        parts=parts,
                        settings=settings,
                        worst_simulated=worst_simulated(analysis.system, analysis.priorities),
                    )
        return None

    def total(self, task: int, *kinds: str) -> int:
        """Time that others of these kinds (none: of all) may keep it."""
        mine = (part for part in self.parts if part.task == task)
        return sum(part.amount for part in mine if part.kind in kinds or not kinds)

    @property
    def worst(self) -> int:
        """The task that is late, else the one that waits longest for its deadline."""
        tasks = self.system.tasks
        late = [i for i, t in enumerate(tasks) if t.wcet + self.total(i) > t.deadline]
        by_wait = max(range(len(tasks)), key=lambda i: self.total(i, *REMOTE) / tasks[i].deadline)
        return late[0] if late else by_wait

    def lines(self) -> Iterator[str]:
        task = self.worst
        words = wait_words(self.system, self.parts, task)
        if words:
            yield words
        seen = self.worst_simulated.responses[task] if self.worst_simulated else 0
        if seen > (most := self.system.tasks[task].deadline):
            yield f"it can miss: simulated, {self.system.label(task)} takes {seen} of {most}"
        if self.result.answer != "accepted":
            yield from self._cures(task)

    def _cures(self, task: int) -> Iterator[str]:
        others = dict.fromkeys(
            part.other for part in self.parts if part.task == task and part.kind != "local"
        )
        for other in others:
            for place, section in enumerate(self.system.tasks[other].sections):
                gone = longest_accepted(self.system, other, place, kept=False, **self.settings)
                if gone is None or gone >= section.length:
                    continue
                kept = longest_accepted(self.system, other, place, kept=True, **self.settings)
                which = f"{self.system.label(other)} on {section.lock}"
                start = f"accepted if the section of {which} is at most"
                if kept is None:
                    aside = "what is taken out of it is gone; to move it out is not enough"
                    yield f"{start} {gone}, not {section.length}, and {aside}"
                elif kept == gone:
                    yield f"{start} {kept}, not {section.length}"
                else:
                    aside = "the rest moved out of it"
                    yield f"{start} {kept}, not {section.length}, {aside}; or {gone}, the rest gone"

    def plain(self) -> dict[str, Json]:
        label, simulated = self.system.label, self.worst_simulated
        waits = [
            {**asdict(part), "task": label(part.task), "other": label(part.other)}
            for part in self.parts
        ]
        return {"waits": waits, "worst_simulated": asdict(simulated) if simulated else None}

    def table(self) -> Part:
        rows, simulated = [], self.worst_simulated
        for i, task in enumerate(self.system.tasks):
            bound, seen = self.result.bounds[i], simulated and simulated.responses[i]
            rows.append(
                [
                    *(self.system.label(i), str(task.wcet), str(self.total(i, "local"))),
                    *(str(self.total(i, "boost")), str(self.total(i, *REMOTE))),
                    *("-" if bound is None else str(bound), str(seen or "-"), str(task.deadline)),
                ]
            )
        columns = ["task", "C", "local", "boost", "remote", "bound", "worst simulated", "D"]
        title = "pinned SCHED_FIFO, mutexes with priority inheritance: what a response is made of"
        return table(columns, rows, title=title, numeric=columns[1:])


@frozen(kw_only=True)
class Budget:
    """Whether every WCET fits with a share of the clock spare.

    Attributes:
        demand: Utilisation of each domain, what stands before the slash of a task's name.
        fits: None: no test tells.
        test: That lets WCETs grow most, by ``factor``; where it accepts them, C is taken to be as
            long as the clock is slow: that of work in caches, not of what waits for memory.
        clock: Slowest clock, of that at which C was measured, that leaves the share spare.
    """

    spare: Fraction
    demand: dict[str, float]
    processors: int
    fits: bool | None
    test: str
    factor: Fraction | None
    clock: float | None

    @classmethod
    def of(cls, system: TaskSystem, grown: Sequence[Sensitivity], spare: Fraction) -> Budget:
        demand: dict[str, float] = {}
        for i, task in enumerate(system.tasks):
            domain, slash, _ = system.label(i).partition("/")
            own = domain if slash else "all"
            demand[own] = demand.get(own, 0.0) + task.wcet / task.period
        best = max(grown, key=lambda each: each.scale or 0, default=None)
        factor = best.scale if best else None
        clock = None if not factor else 1 / (factor * (1 - spare))
        return cls(
            spare=spare,
            demand=demand,
            processors=system.processors,
            fits=None if clock is None else clock <= 1,
            test=best.test if best else "",
            factor=factor,
            clock=None if clock is None else float(clock),
        )

    def lines(self) -> Iterator[str]:
        share = f"{float(100 * self.spare):g} % spare"
        parts = ", ".join(f"{name} {value:.3f}" for name, value in self.demand.items())
        room = float(self.processors * (1 - self.spare))
        asked = f"demand {parts} of {room:g} processor{'s' * (room != 1)}"
        if self.factor is None or self.clock is None:
            yield f"{share}: not known, no test tells by how much C may grow; {asked}"
            return
        word, needed = "fits" if self.fits else "does not fit", 1 / (1 - self.spare)
        yield (  # rounded to what is accepted
            f"{share}: {word}; {asked}; {self.test} accepts every C"
            f" {floor(1000 * self.factor) / 1000:.3f} times as long, {float(needed):.3f} needed:"
            f" the clock must be at least {ceil(1000 * needed / self.factor) / 10:.1f} % of that"
            " at which C was measured"
        )


def _fraction(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _sensitivities(analysis: Analysis, grown: Sequence[Sensitivity]) -> Iterator[Part]:
    rows = []
    for each in grown:
        if each.scale is None:
            growth = ["not found", "", ""]
        else:
            percent = floor(1000 * (each.scale - 1)) / 10  # down: what is said is accepted
            word = (
                f"may grow by {percent:.1f} %"
                if percent >= 0
                else f"accepted {-percent:.1f} % shorter"
            )
            factor = f"{each.scale}, exact" if each.exact else f"{float(each.scale):.3f}"
            growth = [word, factor, ", ".join(map(str, each.extra or ["-"]))]
        rows.append([each.test, *growth])
    if rows:
        yield table(["test", "each WCET", "factor", "one alone by"], rows)
    offered = {"not applicable", "undecided", *(each.test for each in grown)}
    names = ((result.facts.name, result.answer) for result in analysis.results)
    if left := ", ".join(name for name, answer in names if not offered & {name, answer}):
        why = "not shown to accept less where jobs take longer, or tasks find no place"
        yield f"no sensitivity of {left}: {why}"


def _admitted(admission: Admission, system: TaskSystem) -> str:
    if admission.reason:
        return f"SCHED_DEADLINE's admission is not known: {admission.reason}"
    asked = {i: word for i, word in enumerate(admission.answers) if word}
    refused = [f"{system.label(i)} {word}" for i, word in asked.items() if word != "admitted"]
    room = "any" if admission.room is None else f"{admission.room / 2**20:.2f}"
    text = f"{admission.reserved / 2**20:.2f} of {room} processors reserved"
    return (
        f"SCHED_DEADLINE admits {len(asked) - len(refused)} of {len(asked)}:"
        f" {'; '.join([text, *refused])}; that is no schedulability test"
    )


def _simulated(system: TaskSystem, analysis: Analysis, model: Model | None) -> dict[str, Verdict]:
    """The verdict of each scheduler that is also a policy and can schedule such systems."""
    require_model(system, model)
    words = {name: getattr(analysis, name) for name in ("ties", *_WORDS)}
    found = {}
    for name in analysis.schedulers:
        policy, _, protocol = name.partition("+")
        if policy in policies() and bool(protocol) is bool(system.locks):
            how = Scheduler(policy=policy, protocol=protocol or "any", **words)
            try:
                found[name] = simulate(system, how, model=model)
            except UsageError:  # not defined for such deadlines: there is nothing to show beside
                continue
            require_agreement(analysis, name, found[name])
    return found


def _plain(analysis: Analysis, verdicts: dict[str, Verdict]) -> dict[str, Json]:
    tests = []
    for result in analysis.results:
        plain = asdict(result)
        facts = plain.pop("facts")
        tests.append({"test": facts.pop("name"), **facts, **plain})
    return {
        "name": analysis.system.name,
        "processors": analysis.system.processors,
        "utilisation": float(analysis.system.utilisation),
        "ties": analysis.ties,
        "blocking": analysis.blocking,
        **{name: getattr(analysis, name) for name in _WORDS},
        "tests": tests,
        "schedulers": {
            name: asdict(found, filter=filters.exclude("scheduler"))
            | ({"simulation": _plain_verdict(verdicts[name])} if name in verdicts else {})
            for name, found in analysis.schedulers.items()
        },
    }


def _plain_verdict(verdict: Verdict) -> dict[str, Json]:
    names = ("schedulable", "proved", "model", "first_miss", "because")
    own = {name: getattr(verdict, name) for name in names}
    return {**own, "ties": verdict.scheduler.ties, "simulated": True}


def _parts(analysis: Analysis, verdicts: dict[str, Verdict]) -> Iterator[Part]:
    for name in spoken_of(analysis):
        text = proof_of(analysis, name)
        if name in verdicts:
            verdict = verdicts[name]
            how = f"(model {verdict.model}, ties by {verdict.scheduler.ties})"
            why = named(analysis.system, verdict.because).removeprefix("this placement fails: ")
            text += (
                f"; not simulated: {why}"
                if verdict.until == 0
                else f"; simulated {how}: {verdict.schedulable}{', proved' * verdict.proved}"
            )
        yield f"{name}: {text}"
    yield ""
    rows = []
    for result in analysis.results:
        if not analysis.system.beyond or result.answer != "not applicable":
            ties = "any ties" if result.ties == "any" else f"ties by {result.ties}"
            # The answer; a bound of tardiness is not called accepted, which reads like
            # schedulable.
            if result.facts.kind == "bound" and result.answer == "accepted":
                late = max((bound for bound in result.bounds if bound is not None), default=0)
                told = f"no job is later than {late}, which is no proof that none is late"
            else:
                told = f"{result.answer}: {result.reason}" if result.reason else result.answer
            rows.append(
                [
                    *(result.facts.name, result.facts.scheduler, told),
                    result.facts.model
                    + " at whole instants" * result.facts.whole_instants
                    + f", {ties}",
                ]
            )
    system = analysis.system
    if left := len(analysis.results) - len(rows):
        why = f"{beyond(system)} ignored, or another protocol"
        yield f"{left} tests say nothing of it ({why}): --json"
    title = (
        f"{count_of(len(system.tasks), 'task')} on {count_of(system.processors, 'processor')},"
        f" utilisation {float(system.utilisation):.4g}"
    )
    columns = ["test", "scheduler", "answer", "holds for"]
    yield table(columns, rows, title=title)
    for result in analysis.results:
        if result.answer in ("accepted", "refuted"):
            yield f"{result.facts.name}: {result.facts.reference}"
