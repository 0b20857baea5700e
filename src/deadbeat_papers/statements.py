"""Statements of other publications on latency, load and misses, judged from stored results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from deadbeat import Conclusion, Evidence, Judgement, LackingError, all_hold, judge
from deadbeat_papers.claims import MADE_UP, VERDICTS, claims
from deadbeat_papers.events import events
from deadbeat_papers.observations.base import Value
from deadbeat_papers.premises import IDLE, OnAMachine, in_order, require

#: What the load paper does (sections 5.1 to 5.3, figure 1.7), and where it is so without it.
_REMEDIES = ("preemption", "pin", "smt", "governor")


@frozen(kw_only=True, eq=False)
class StatedResult(OnAMachine):
    """A stored result: what ``show --json`` says of it, its kind, its figures (``summary``), and
    what the system consisted of (``inventory``: title -> text)."""

    name: str
    kind: str
    path: Path
    plain: Any
    platform: Mapping[str, Any] = field(factory=dict)
    summary: Any = None
    inventory: Mapping[str, str] = field(factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        plain = self.plain
        own = plain.get("labels") or ["simulated"] * (plain.get("kind") == "simulated")
        other = (plain.get("spec") or {}).get("policy") == "other"
        return (*own, *["policy other"] * other)

    @property
    def rows(self) -> list[tuple[tuple[str, str], Any]]:
        """Rows of all CPUs of a latency result together with a valid run, by load and engine."""
        known = (row for row in self.plain["rows"] if row["raw_max_ns"] is not None)
        return [((row["load"], row["engine"]), row) for row in known if row["cpu"] == "all"]

    @property
    def loads(self) -> list[str]:
        return [load for (load, _), _ in self.rows]

    @property
    def physical(self) -> int | None:
        """Physical cores that the threads of a load test may use."""
        return self.cores_of(self.plain["spec"]["cpus"])

    @property
    def remedied(self) -> str:
        """The condition of a load test with all remedies; "": none was possible."""
        tried = tuple(self.plain["changes"])
        return "all" if len(tried) > 1 else "".join(tried)

    @property
    def lacking_remedies(self) -> str:
        """Remedies of the source that were not tried, and are of use on the machine."""
        needless = {
            "preemption": self.preemption == "none",
            "smt": self.physical == len(self.plain["spec"]["cpus"]),
            "governor": self.platform.get("governor") in ("performance", "none"),
        }
        tried = self.plain["changes"]
        lacking = (name for name in _REMEDIES if name not in tried and not needless.get(name))
        return ", ".join(lacking)

    @property
    def services(self) -> int | None:
        """Running ones; of the laboratory those of its boot."""
        text = self.inventory.get("services, running", "")
        lab = (self.details.get("inventory") or {}).get("services")
        return int(text) if text.isdecimal() else len(lab) if isinstance(lab, list) else None

    def groups(self, asked: str) -> list[Any]:
        """Rows of the groups with an M and D / C (``16, D = 2``) and no critical cores."""
        rows = (row for row in self.plain["rows"] if not row["critical_cores"])
        return [r for r in rows if f"{r['cores']}, D = {r['deadline_factor']:g}" == asked]

    def why_not_counted(self, event: str) -> str:
        """Why the counts of an event say nothing of contention; "": they do."""
        state = (self.summary.meta.get("counters") or {}).get(
            event, "not counted: --set counters=true"
        )
        if state != "counted":
            alone = ": each set alone, without its rivals" * ("cachegrind" in str(state))
            return f"{event.replace('_', ' ')} of {self.name}: {state}{alone}"
        contends = any(each.contends and each.cores > 1 for each in self.summary.sets)
        return "" if contends else f"no set of {self.name} contends"


@frozen(kw_only=True)
class Statement(Conclusion[Sequence[StatedResult]]):
    """A statement about ``results`` results of a kind, or up to ``up_to`` of them. ``source``: the
    publication. ``order``: what tells them apart, of `premises.ORDERS`; ``premises``: likewise."""

    title: str
    source: str
    kind: str
    results: int = 1
    up_to: int = 0
    order: str = ""
    premises: Sequence[str] = ()

    @property
    def needs(self) -> str:
        return f"{self.results}" + f" to {self.up_to}" * (self.up_to > 0)

    @property
    def wants(self) -> str:
        """What ``--from`` must be."""
        return self.confirmed.partition(";")[0]


def _value(row: Any, figure: str) -> Value:
    mean, low, high = (row[f"raw_{figure}_{end}ns"] for end in ("", "low_", "high_"))
    return Value(mean=mean or 0.0, low=low, high=high)


def below(results: Sequence[StatedResult], *, limit_us: float) -> Iterable[Evidence]:
    """One sample at the limit refutes it; whether longer measuring finds one, the spread of the
    maxima of the runs says."""
    rows = results[0].rows
    load, worst = max(rows, key=lambda pair: pair[1]["raw_max_ns"])
    held = [_value(row, "max_of_a_run").below(1000 * limit_us) or None for _, row in rows]
    late = worst["raw_max_ns"] >= 1000 * limit_us
    yield Evidence(
        holds=False if late else all_hold(held),
        figures=f"the latest wake-up took {worst['raw_max_ns'] / 1000:.1f} us, under {load[0]}",
    )


def _ratios(one: StatedResult, two: StatedResult, figure: str) -> dict[str, Value]:
    """Second over first, by load; both ends of both intervals."""
    sides = dict(one.rows), dict(two.rows)
    both = [load for load in sides[0] if load in sides[1]]
    if not both:
        because = f"{one.name} and {two.name} have no load in common"
        raise LackingError("needs the same loads", because)
    first, second = ({load: _value(side[load], figure) for load in both} for side in sides)
    return {" ".join(load): second[load].over(first[load]) for load in both}


def _worst(ratios: Mapping[str, Value]) -> str:
    load, found = max(ratios.items(), key=lambda pair: pair[1].high or 0.0)
    known = found.low is not None and found.high is not None
    text = f"{found.low:.2f} to {found.high:.2f} times" if known else "no interval"
    return f"the largest under {load}: {text}"


def small(
    results: Sequence[StatedResult], *, most_maximum: float, most: float
) -> Iterable[Evidence]:
    """No more than ``most_maximum`` times the maximum, the average within ``most`` either way."""
    plain, hardened = results
    maxima, means = (_ratios(plain, hardened, n) for n in ("max_of_a_run", "mean"))
    held = [found.below(most_maximum) for found in maxima.values()]
    held += [found.within(1 / most, most) for found in means.values()]
    yield Evidence(
        holds=all_hold(held),
        figures=f"{hardened.name} over {plain.name}: maximum of a run, {_worst(maxima)}; mean,"
        f" {_worst(means)}",
    )


def times(results: Sequence[StatedResult], *, factor: float) -> Iterable[Evidence]:
    plain, realtime = results
    ratios = _ratios(realtime, plain, "max_of_a_run")
    held = {ratio.above(factor) for load, ratio in ratios.items() if load.split()[0] not in IDLE}
    yield Evidence(
        holds=True if True in held else False if held == {False} else None,
        figures=f"maximum of a run of {plain.name} over {realtime.name}, {_worst(ratios)}",
    )


def lower(results: Sequence[StatedResult]) -> Iterable[Evidence]:
    """The maximum of a run certainly rises from none to the next under any load, and falls from the
    first to the last under some."""
    pairs = list(dict.fromkeys([*pairwise(results), (results[0], results[-1])]))
    found = [_ratios(one, two, "max_of_a_run") for one, two in pairs]
    rises = any(ratio.above(1) for ratios in found for ratio in ratios.values())
    falls = any(ratio.below(1) for ratio in found[-1].values())
    yield Evidence(
        holds=False if rises else True if falls else None,
        figures="; ".join(
            f"maximum of a run of {two.name} over {one.name}, {_worst(ratios)}"
            for (one, two), ratios in zip(pairs, found, strict=True)
        ),
    )


def _failures(result: StatedResult, condition: str) -> dict[int, Value]:
    """Number of threads, the real-time one counted -> failures a second."""
    cells = (cell for cell in result.plain["cells"] if cell["condition"] == condition)
    known = {c["normal"] + 1: c["failures_per_s"] for c in cells if c["failures_per_s"]}
    return {n: Value(mean=f["value"], low=f["low"], high=f["high"]) for n, f in known.items()}


def threads(results: Sequence[StatedResult], *, rate: float) -> Iterable[Evidence]:
    (result,) = results
    cores, known = result.physical or 0, _failures(result, "plain")
    few = [found.below(rate) for count, found in known.items() if count <= cores]
    many = {found.above(0.0) for count, found in known.items() if count > cores}
    if not few or not many:
        because = f"{result.name} has no load on either side of {cores} threads"
        raise LackingError("needs more loads", because)
    begins = True if True in many else False if many == {False} else None
    first = min((count for count, found in known.items() if found.above(0)), default=None)
    where = f"from {first} threads on" if first else f"with up to {max(known)} threads: none"
    cpus = len(result.plain["spec"]["cpus"])
    yield Evidence(
        holds=all_hold([*few, begins]),
        figures=f"{cores} physical cores of {cpus} CPUs; certain failures {where}",
    )


def remedied(results: Sequence[StatedResult], *, rate: float) -> Iterable[Evidence]:
    (result,) = results
    if not any(found.above(0) for found in _failures(result, "plain").values()):
        because = f"{result.name} has no certain failure without remedies"
        raise LackingError("needs failures to remedy", because)
    known = _failures(result, result.remedied)
    most = max(known, key=lambda count: known[count].mean, default=0)
    yield Evidence(
        holds=all_hold([found.below(rate) for found in known.values()]) if known else None,
        figures=f"with all remedies at most {known[most]} failures a second, with {most} threads"
        if known
        else "no failure rate with all remedies",
    )


def missed(
    results: Sequence[StatedResult], *, groups: str, low: float, high: float
) -> Iterable[Evidence]:
    for each in results:
        for row in each.groups(groups):
            ratio, ends = row["deadline_miss_ratio"] or 0.0, ("low", "high")
            least, most = (row[f"deadline_miss_ci_{end}"] for end in ends)
            found = Value(mean=ratio, low=least, high=most)
            yield Evidence(
                holds=found.within(low, high),
                figures=f"{each.name}: {found.times(100)} % of the jobs",
                variant={"result": each.name},
            )


def judged(statement: Statement, results: Sequence[StatedResult]) -> Judgement:
    """The verdict, or what is lacking; none of what a formula made."""
    labels = tuple(dict.fromkeys(label for each in results for label in each.labels))
    try:
        # The results in the order of the statement. Raises LackingError: a premise fails.
        needs = f"needs {statement.needs} of deadbeat {statement.kind}"
        if wrong := [each for each in results if each.kind != statement.kind]:
            raise LackingError(needs, f"{wrong[0].name} is of {wrong[0].kind}")
        paths = [each.path for each in results]
        if twice := [each.name for each in results if paths.count(each.path) > 1]:
            raise LackingError("needs different results", f"{twice[0]} is named twice")
        if not statement.results <= len(results) <= max(statement.results, statement.up_to):
            raise LackingError(needs, f"{len(results)} given: {statement.wants}")
        ordered = in_order(statement.order, results)
        require(statement.premises, ordered)
        found = judge(statement, ordered)
        assert found is not None
    except LackingError as lacking:
        evidence = (Evidence(holds=None, figures=lacking.because),)
        found = Judgement(conclusion=statement, verdict=lacking.verdict, evidence=evidence)
    made_up = any(label.lower() == "simulated" for label in labels)
    verdict = MADE_UP if made_up and found.verdict in VERDICTS else found.verdict
    return evolve(found, verdict=verdict, labels=labels)


def plain_of(found: Judgement) -> dict[str, object]:
    statement: Any = found.conclusion
    return {
        "id": statement.id,
        "title": statement.title,
        "source": statement.source,
        "statement": statement.says,
        "criterion": statement.confirmed,
        "verdict": found.verdict,
        "because": [each.figures for each in found.evidence],
        "labels": list(found.labels),
    }


def lines_of(found: Judgement) -> Iterator[str]:
    plain: Any = plain_of(found)
    marks = "".join(f"   {label.upper()}" for label in found.labels)
    yield f"{plain['title']}: {found.verdict.upper()}{marks}"
    yield from (f"  {line}" for line in plain["because"])
    yield f"  criterion: {plain['criterion']}"


_CHECKS = {**globals(), "events": events}
STATEMENTS = {each.id: each for each in claims(__file__, _CHECKS, Statement)["statements"]}
