"""Parameters, seed and calibration to a task set: pure, exact, the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from attrs import frozen

from deadbeat.base.model.errors import SynthesisError
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.tasks import (
    Entry,
    Fragment,
    FragmentUse,
    Kind,
    Resource,
    Segment,
    Task,
    TaskSet,
)
from deadbeat.tasksets.synthesis.outlines import Outline, has_mixed_priorities, outlines
from deadbeat.tasksets.synthesis.packing import Grain, Shelf, Slack, Use, pack
from deadbeat.tasksets.synthesis.parameters import SynthesisParameters
from deadbeat.tasksets.synthesis.stream import Stream

#: Changes whenever the same seed would give another task set.
GENERATOR_VERSION = "1"
#: The same for sets with utilisations by ``fixed-sum``.
FIXED_SUM_VERSION = "2"
#: A task's realised cost differs from its WCET by at most one part in this.
COST_PRECISION = 100
# The packer searches for something better than a gap of one part in this of the WCET.
_GAP_PRECISION = 200
# The longest segment of a kind is at most this times the shortest.
_LENGTH_RATIO = 8
# A segment gets on average at least this many of the cheapest uses.
_USES_PER_SEGMENT = 4
_ATTEMPTS = 16
_PS_PER_NS = 1000


def synthesise(
    parameters: SynthesisParameters, catalog: Catalog, calibration: Calibration, seed: int
) -> TaskSet:
    """One task set; for many, keep a :class:`Synthesiser`.

    Raises:
        SynthesisError: No task set with these properties exists for this calibration.
        UsageError: ``parameters.fragments`` names one that does not exist.
    """
    return Synthesiser(catalog, calibration).synthesise(parameters, seed)


@frozen
class _Pool:
    """What may be used: NS entries, and the SY fragments (classes) with their entries."""

    ns: tuple[Entry, ...]
    sy: dict[str, tuple[Entry, ...]]


@frozen
class _Choice:
    """What a task set draws one kind of use from; ``names`` tells it from others of that kind."""

    names: tuple[str, ...]
    entries: tuple[Entry, ...]


#: A choice, and its share of the time of its kind.
_Part = tuple[_Choice, Fraction]


class Synthesiser:
    """Synthesis against one catalog and calibration; remembers what follows from them alone."""

    def __init__(self, catalog: Catalog, calibration: Calibration) -> None:
        self._catalog = catalog
        self._calibration = calibration
        self._pools: dict[tuple[str, ...], _Pool] = {}
        self._shelves: dict[tuple[int, Kind, tuple[str, ...]], Shelf] = {}

    def synthesise(self, parameters: SynthesisParameters, seed: int) -> TaskSet:
        """The task set of ``seed``. Streams are named by purpose, so that across sync_share and
        contended_ratio the same seed keeps WCETs, offsets, priorities and (unless a class is too
        coarse) classes, and across contended_ratio everything but the bindings.

        Raises: see :func:`synthesise`.
        """
        pool = self._pool(parameters.fragments)
        drawn = outlines(parameters, seed)
        classes = self._usable_classes(pool, parameters.classes_min, drawn)
        computation = self._computation(pool, parameters)
        for attempt in range(_ATTEMPTS):
            stream = Stream(seed, "classes", attempt)
            if not classes:
                chosen: tuple[str, ...] = ()
            else:
                most = min(parameters.classes_max, len(classes))
                count = stream.between(parameters.classes_min, most)
                order = list(classes)
                stream.shuffle(order)
                chosen = tuple(sorted(order[:count]))
            sync = _Choice(chosen, tuple(entry for name in chosen for entry in pool.sy[name]))
            choices = {Kind.SY: [(sync, Fraction(1))], Kind.NS: computation}
            packed = [
                self._pack_task(parameters, outline, choices, (seed, index, attempt))
                for index, outline in enumerate(drawn)
            ]
            if all(
                abs(_cost_ps(segments) - outline.wcet_ns * _PS_PER_NS) * COST_PRECISION
                <= outline.wcet_ns * _PS_PER_NS
                for outline, segments in zip(drawn, packed, strict=True)
            ):
                return _bind(parameters, seed, drawn, packed)
        raise self._too_coarse(pool, classes, drawn)

    def _pool(self, names: tuple[str, ...]) -> _Pool:
        """The calibrated entries of the named fragments; a kind without a name is unrestricted."""
        if names not in self._pools:
            named = [self._catalog.fragment(name) for name in names]
            allowed = {
                kind: {fragment.name for fragment in named if fragment.kind is kind}
                for kind in Kind
            }
            usable: dict[Kind, dict[str, tuple[Entry, ...]]] = {Kind.NS: {}, Kind.SY: {}}
            for fragment in self._catalog.fragments.values():
                restriction = allowed[fragment.kind]
                entries = self._calibrated(fragment)
                if entries and (not restriction or fragment.name in restriction):
                    usable[fragment.kind][fragment.name] = entries
            ns = tuple(entry for entries in usable[Kind.NS].values() for entry in entries)
            self._pools[names] = _Pool(ns, usable[Kind.SY])
        return self._pools[names]

    def _calibrated(self, fragment: Fragment) -> tuple[Entry, ...]:
        if not fragment.fits(self._calibration.layout):
            return ()
        entries = (Entry(fragment.name, size) for size in fragment.sizes)
        return tuple(
            entry
            for entry in entries
            if str(entry) in self._calibration.costs and str(entry) not in self._calibration.refused
        )

    def _usable_classes(self, pool: _Pool, least: int, drawn: Sequence[Outline]) -> list[str]:
        """SY classes that this task set may use, sorted: the same at every number of cores.

        A class without a parallel form would stay contended at every contended ratio, so it is
        used only where nothing else is left and everything is contended anyway.
        """
        if any(outline.sync_share < 1 for outline in drawn) and not pool.ns:
            raise SynthesisError(
                "no NS fragment is calibrated, and sync_share is below 1", "calibrate the full pool"
            )
        ratios = {outline.contended_ratio for outline in drawn if outline.sync_share}
        if not ratios:
            return []
        fragments = [self._catalog.fragments[name] for name in pool.sy]
        if has_mixed_priorities(drawn):
            fragments = [fragment for fragment in fragments if fragment.mixed_priorities]
        # calibration may have found that core-local objects slow each other down
        measured = self._calibration.parallel_ratio.items()
        refuted = {name for name, ratio in measured if ratio.refutes}
        parallel = [f for f in fragments if f.parallel and f.name not in refuted]
        if not parallel and ratios == {1}:
            parallel = fragments
        if len(parallel) < least:
            raise SynthesisError(
                f"{len(parallel)} SY fragments can be used here, classes_min asks for {least}",
                "calibrate more SY fragments, allow more by name, or use uniform priorities",
            )
        return [fragment.name for fragment in parallel]

    def _computation(self, pool: _Pool, parameters: SynthesisParameters) -> list[_Part]:
        """What NS uses are drawn from: all at once, or by whether they are bound by memory."""
        share = parameters.ns_memory_share
        if share is None:
            return [(_Choice(parameters.fragments, pool.ns), Fraction(1))]
        fragments, found = self._catalog.fragments, []
        for bound, part in ((True, Fraction(share)), (False, 1 - Fraction(share))):
            own = [
                e for e in pool.ns if (fragments[e.fragment].resource_class == "memory") is bound
            ]
            if part and not own:
                text = (
                    f"no NS fragment {'' if bound else 'but those '}of class memory is calibrated"
                )
                raise SynthesisError(
                    f"{text}, and ns_memory_share is {float(share):g}", "calibrate the full pool"
                )
            if part:
                found.append(
                    (_Choice((*parameters.fragments, f"memory {bound}"), tuple(own)), part)
                )
        return found

    def _shelf(self, core: int, kind: Kind, choice: _Choice) -> Shelf:
        key = (core, kind, choice.names)
        if key not in self._shelves:
            costs = [(entry, self._calibration.cost(entry, core)) for entry in choice.entries]
            for entry, cost in costs:
                if min(cost.first_ps, cost.again_ps, cost.repeat_ps) < 1:
                    raise SynthesisError(
                        f"the calibration says that {entry} costs nothing on core {core}",
                        "calibrate again",
                    )
            self._shelves[key] = Shelf(
                Grain(entry, cost.first_ps, cost.again_ps, cost.repeat_ps) for entry, cost in costs
            )
        return self._shelves[key]

    def _pack_task(
        self,
        parameters: SynthesisParameters,
        outline: Outline,
        choices: dict[Kind, list[_Part]],
        label: tuple[int, int, int],
    ) -> list[_Packed]:
        """Segments with their uses; SY first, so that NS can make up for its rounding."""
        seed, index, attempt = label
        wcet_ps = outline.wcet_ns * _PS_PER_NS
        sync_ps = round(outline.sync_share * wcet_ps)
        spent_ps = {Kind.SY: sync_ps, Kind.NS: wcet_ps - sync_ps}
        parts = [
            (kind, self._shelf(outline.core, kind, choice), share)
            for kind in spent_ps
            if spent_ps[kind]
            for choice, share in choices[kind]
        ]
        floors_ps: dict[Kind, int] = {}
        for kind, shelf, share in parts:
            floors_ps[kind] = max(floors_ps.get(kind, 0), -(-shelf.floor_ps // share))
        segments = Stream(seed, "segments", index)
        count = segments.between(1, parameters.segments_max)
        plan = _plan(segments, count, outline.sync_share, spent_ps, floors_ps)
        exact = Slack(
            wcet_ps // _GAP_PRECISION, wcet_ps // COST_PRECISION, wcet_ps // COST_PRECISION
        )
        uses: dict[Kind, list[list[Use]]] = {}
        carry_ps = 0
        for number, (kind, shelf, share) in enumerate(parts, 1):
            budgets_ps = [int(budget * share) for planned, budget in plan if planned is kind]
            part_ps = sum(budgets_ps)
            found = pack(
                shelf,
                Stream(seed, kind.value, index, attempt, *([] if share == 1 else [number])),
                budgets_ps,
                carry_ps,
                exact
                if number == len(parts)
                else exact._replace(under_ps=part_ps, over_ps=wcet_ps - part_ps),
            )
            carry_ps += part_ps - sum(use.cost_ps for segment in found for use in segment)
            before = uses.get(kind, [[] for _ in found])
            uses[kind] = [a + b for a, b in zip(before, found, strict=True)]
        turns = {kind: iter(segments) for kind, segments in uses.items()}
        return [(kind, budget_ps, next(turns[kind])) for kind, budget_ps in plan]

    def _too_coarse(
        self, pool: _Pool, classes: list[str], drawn: Sequence[Outline]
    ) -> SynthesisError:
        entries = list(pool.ns) if any(outline.sync_share < 1 for outline in drawn) else []
        entries += [entry for name in classes for entry in pool.sy[name]]
        finest = min(entries, key=lambda entry: self._calibration.cost(entry, 0).repeat_ps)
        cost_ns = self._calibration.cost(finest, 0).repeat_ps // _PS_PER_NS
        shortest_ns = min(outline.wcet_ns for outline in drawn)
        return SynthesisError(
            f"no mixture of fragments meets a WCET of {shortest_ns} ns within "
            f"1/{COST_PRECISION} in {_ATTEMPTS} attempts; the finest, {finest}, costs {cost_ns} ns",
            "raise wcet_min_ns, or allow finer fragments",
        )


_Packed = tuple[Kind, int, list[Use]]


def _cost_ps(segments: Sequence[_Packed]) -> int:
    return sum(use.cost_ps for _, _, uses in segments for use in uses)


def _plan(
    stream: Stream,
    count: int,
    sync_share: Fraction,
    spent_ps: dict[Kind, int],
    floors_ps: dict[Kind, int],
) -> list[tuple[Kind, int]]:
    """Kinds and budgets of a task's about ``count`` segments, in order; the budgets sum to what is
    spent."""
    counts = dict.fromkeys(floors_ps, count)
    if len(floors_ps) == 2:
        count = max(count, 2)
        share = sync_share * count
        sync_count, rest = divmod(share.numerator, share.denominator)
        sync_count += stream.chance(rest, share.denominator)
        sync_count = min(max(sync_count, 1), count - 1)
        counts = {Kind.SY: sync_count, Kind.NS: count - sync_count}
    plan: list[tuple[Kind, int]] = []
    for kind, floor_ps in floors_ps.items():
        most = max(1, spent_ps[kind] // (_USES_PER_SEGMENT * floor_ps))
        # `parts` random lengths that sum to `total_ps` exactly.
        parts = min(counts[kind], most)
        unit = 1 << 16
        weights = [stream.between(unit, _LENGTH_RATIO * unit) for _ in range(parts)]
        whole = sum(weights)
        lengths, reached, begin = [], 0, 0
        for weight in weights:
            reached += weight
            end = spent_ps[kind] * reached // whole
            lengths.append(end - begin)
            begin = end
        plan += [(kind, length_ps) for length_ps in lengths]
    stream.shuffle(plan)
    return plan


def _bind(
    parameters: SynthesisParameters,
    seed: int,
    drawn: Sequence[Outline],
    packed: Sequence[Sequence[_Packed]],
) -> TaskSet:
    """Binds every SY use to the contended or the core's own object of its class."""
    sync = [
        [use for kind, _, uses in segments if kind is Kind.SY for use in uses]
        for segments in packed
    ]
    costs_ps = [[use.cost_ps for use in uses] for uses in sync]
    contended = _contended(parameters, seed, costs_ps)
    flags = iter(contended)
    bound = [
        Resource(use.grain.entry.fragment, None if next(flags) else outline.core)
        for outline, uses in zip(drawn, sync, strict=True)
        for use in uses
    ]
    resources = sorted(set(bound), key=lambda r: (r.fragment, -1 if r.core is None else r.core))
    index_of = {resource: index for index, resource in enumerate(resources)}
    bindings = iter([index_of[resource] for resource in bound])
    tasks = []
    for index, (outline, segments) in enumerate(zip(drawn, packed, strict=True)):
        finished = tuple(
            Segment(
                kind,
                budget_ps,
                sum(use.cost_ps for use in uses),
                tuple(
                    FragmentUse(
                        use.grain.entry, use.repeats, next(bindings) if kind is Kind.SY else None
                    )
                    for use in uses
                ),
            )
            for kind, budget_ps, uses in segments
        )
        tasks.append(
            Task(
                name=f"t{index}",
                core=outline.core,
                wcet_ns=outline.wcet_ns,
                period_ns=outline.period_ns,
                deadline_ns=outline.period_ns,
                offset_ns=outline.offset_ns,
                priority=outline.priority,
                seed=outline.seed,
                segments=finished,
                critical=outline.critical,
            )
        )
    share, ratio = _asked(drawn)
    share_real, ratio_real = _realised(parameters, drawn, packed, (costs_ps, contended))
    return TaskSet(
        cores=parameters.cores,
        tasks=tuple(tasks),
        resources=tuple(resources),
        seed=seed,
        generator=FIXED_SUM_VERSION
        if parameters.utilisation_method == "fixed-sum"
        else GENERATOR_VERSION,
        sync_share=share,
        contended_ratio=ratio,
        sync_share_real=share_real,
        contended_ratio_real=ratio_real,
    )


def _asked(drawn: Sequence[Outline]) -> tuple[Fraction, Fraction]:
    """Means of rho and alpha over the critical tasks."""
    critical = [outline for outline in drawn if outline.critical]
    share = sum((outline.sync_share for outline in critical), Fraction(0))
    ratio = sum((outline.contended_ratio for outline in critical), Fraction(0))
    return share / len(critical), ratio / len(critical)


def _realised(
    parameters: SynthesisParameters,
    drawn: Sequence[Outline],
    packed: Sequence[Sequence[_Packed]],
    sync: tuple[Sequence[Sequence[int]], Sequence[bool]],
) -> tuple[float, float]:
    """The same as realised; ``sync`` are the costs of SY uses by task, and which are contended.

    Where the tasks have one value, the ratio of summed costs (a task weighs as its C); where each
    has its own, the mean of the tasks' ratios, as what is asked is the mean of theirs.
    """
    flags = iter(sync[1])
    wholes, syncs, contended = [], [], []
    for outline, segments, costs_ps in zip(drawn, packed, sync[0], strict=True):
        contended_ps = sum(cost for cost in costs_ps if next(flags))
        if outline.critical:
            wholes.append(_cost_ps(segments))
            syncs.append(sum(costs_ps))
            contended.append(contended_ps)
    return (
        _ratio(syncs, wholes, pooled=not parameters.sync_shares),
        _ratio(contended, syncs, pooled=not parameters.contended_ratios),
    )


def _ratio(parts: Sequence[int], wholes: Sequence[int], *, pooled: bool) -> float:
    """Ratio of the sums, or mean of the ratios; 0 if there is nothing to be part of."""
    if pooled:
        return sum(parts) / sum(wholes) if sum(wholes) else 0.0
    ratios = [Fraction(part, whole) for part, whole in zip(parts, wholes, strict=True) if whole]
    return float(sum(ratios, Fraction(0)) / len(ratios)) if ratios else 0.0


def _contended(
    parameters: SynthesisParameters, seed: int, tasks_costs_ps: Sequence[Sequence[int]]
) -> list[bool]:
    """Which SY uses are contended: over all tasks, or for each task by its own ratio."""
    if not parameters.contended_ratios:
        ratio = Fraction(parameters.contended_ratio)
        return contended_uses(Stream(seed, "binding"), tasks_costs_ps, ratio)
    return [
        flag
        for index, costs_ps in enumerate(tasks_costs_ps)
        for flag in contended_uses(
            Stream(seed, "binding", index), [costs_ps], parameters.ratio_of(index)
        )
    ]


def contended_uses(
    stream: Stream, tasks_costs_ps: Sequence[Sequence[int]], contended_ratio: Fraction
) -> list[bool]:
    """Which SY uses are contended: by cost as near to ``contended_ratio`` as one use allows.

    Stratified sampling: a task's uses lie end to end in random order, the tasks side by side, so
    that every task turns contended at the same pace; the one use that straddles the ratio is
    contended with the probability that makes the mean exact. The ratio only moves the limit: a use
    contended at one ratio is contended at every higher one.

    Args:
        tasks_costs_ps: For each task the costs of its uses.

    Returns:
        One flag per use, task by task.
    """
    order: list[tuple[int, int, int]] = []
    count = 0
    for costs_ps in tasks_costs_ps:
        own = list(range(len(costs_ps)))
        stream.shuffle(own)
        position_ps, total_ps = 0, sum(costs_ps)
        for index in own:
            middle = ((2 * position_ps + costs_ps[index]) << 32) // (2 * total_ps)
            order.append((middle, count + index, costs_ps[index]))
            position_ps += costs_ps[index]
        count += len(costs_ps)
    limit_ps = contended_ratio * sum(map(sum, tasks_costs_ps))
    contended = [False] * count
    position_ps = 0
    for _, index, cost_ps in sorted(order):
        threshold_ps = position_ps + stream.below(cost_ps)
        contended[index] = threshold_ps * limit_ps.denominator < limit_ps.numerator
        position_ps += cost_ps
    return contended
