"""From slots to prices: what an operation costs alone and shared, by pair of CPUs and by state.

A slot counts the calls of all cores over one window. What an operation takes is cores x window over
the operations of all of them; alone it is the same of the same cores, each alone in the same round.
Figures are geometric means over the slots of a state. Nothing is left out for being slow but slots
in which a core stood still, alone or together. The unit of an interval is the round, with new
processes and objects.

A lock is handed over. Time of a hand-over is the window over the number of times that the object
came from another core, so that an operation takes cores x hand-over / operations per possession.
Whoever waits spins while the owner runs; once one slept, the next owner is just being woken, and
the other sleeps, too (Linux, rtmutex_spin_on_owner): two prices.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.platform import Platform
from deadbeat.base.stats.intervals import Interval, t_quantile
from deadbeat.tasksets.prices.states import CHANGED, PairStates, pair_states
from deadbeat.tasksets.prices.works import WORKS_MAX, PriceWork

Rows = NDArray[np.float64]
Slot = tuple[int, ...]
#: Columns of a slot: (round, place in works, who, cores that were there, ns and calls of the first
#: core, ns and calls of the others, round trip before and after in ps, hand-overs, sleeps, ns that
#: one of the cores stood still). who: -1 all, else alone. Files of before end with the round trips.
ROUND, WORK, WHO, THERE, FIRST_NS, FIRST, OTHERS_NS, OTHERS, BEFORE, AFTER = range(10)
HANDOVERS, SLEEPS, STOPPED = range(AFTER + 1, AFTER + 4)
_COLUMNS = STOPPED + 1
#: A slot in which a core stood still for a larger share of the window is in no price.
STOPPED_MOST = 0.1
#: Sleeps per hand-over below which whoever waits spins, and from which on it sleeps.
SPINNING, SLEEPING = 0.02, 0.5
MODES = ("spinning", "mixed", "sleeping")
#: Fewer slots of a state have a price without an interval.
LEAST_SLOTS = 8


def _whole(slots: Iterable[Slot]) -> tuple[Slot, ...]:
    return tuple((*slot, 0, 0, 0) if len(slot) == AFTER + 1 else slot for slot in slots)


@frozen(kw_only=True)
class PriceBatch:
    """What one run of the price stage wrote at ``made_at`` (ISO 8601, UTC). ``errors``: for each of
    ``works`` why it could not be set up; "": it could."""

    works: tuple[PriceWork, ...]
    errors: tuple[str, ...]
    slots: tuple[Slot, ...] = field(repr=False, converter=_whole)
    made_at: str = ""

    def __attrs_post_init__(self) -> None:
        if len(self.errors) != len(self.works) or any(len(s) != _COLUMNS for s in self.slots):
            raise ValueError("every work has an error, and every slot all columns")
        if not all(0 <= slot[WORK] < len(self.works) for slot in self.slots):
            raise ValueError("every slot is of a work")
        if self.made_at:
            datetime.fromisoformat(self.made_at)


@frozen(kw_only=True)
class StoredPrices:
    """The batches of a folder, and where they were measured."""

    platform: Platform
    policy: str
    batches: tuple[PriceBatch, ...] = field(repr=False)
    refused: Mapping[str, str] = field(factory=dict)

    def fits(self, platform: Platform, policy: str, cpus: Sequence[int]) -> bool:
        """Whether they hold for what runs on ``cpus``: same machine, kernel, policy, toolchain."""
        mine = self.platform
        alike = (mine.fingerprint, mine.kernel) == (platform.fingerprint, platform.kernel)
        return alike and (self.policy, tuple(mine.cpus)) == (policy, tuple(cpus))


@frozen(kw_only=True)
class Handover:
    """How an object passes from core to core in those slots of a price that have one mode.

    Attributes:
        mode: ``spinning``: whoever waits sleeps in less than one hand-over in 50; ``sleeping``: in
            one of two or more; ``mixed``: between.
        share: Share of the price's slots.
        ns, low_ns, high_ns: Time from one hand-over to the next; 95 %, None: seen too little.
        possession: Operations from one to the next. One takes cores x ``ns`` / ``possession``.
    """

    mode: str
    share: float
    ns: float
    low_ns: float | None
    high_ns: float | None
    possession: float


@frozen(kw_only=True)
class Price:
    """What an operation on ``object`` at ``size`` takes, ns, beside ``others`` cores.

    Attributes:
        object, size, others: Fragment, operations of a call, and cores at it beside the first.
        alone_ns: Time of the same cores, each alone in the same round.
        shared_ns: Time of one core's own operation while all are at it; None: not measured.
        low_ns, high_ns: 95 %; None: seen less than `LEAST_SLOTS` times.
        ratio, ratio_low, ratio_high: ``shared_ns`` over ``alone_ns``.
        victim_ns, aggressor_ns: Time of the first core, and of the others; ``victim_low_ns`` and so
            on: 95 %.
        handovers: How the object passes from core to core; empty: that is not counted.
        visited_extra_ns: What one operation costs above the same code alone where every core does
            0.5 us of its own work after it; ``visited_low_ns``, ``visited_high_ns``: 95 %.
        cpus: The CPUs that were at it. ``state``: of the first two; ``round_trip_ns``: theirs.
        slots: Number of slots; ``share``: of the pair's slots that were in this state.
        seconds_old: Age of a price that is not of this run; None: it is.
        memory: Caches and memory are shared, no object.
        reason: Why something is not measured.
        saturated, unfinished_share: Share of sets with this object (from the map); None: no map.
    """

    object: str
    size: int
    others: int
    alone_ns: float
    shared_ns: float | None = None
    low_ns: float | None = None
    high_ns: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    victim_ns: float | None = None
    victim_low_ns: float | None = None
    victim_high_ns: float | None = None
    aggressor_ns: float | None = None
    aggressor_low_ns: float | None = None
    aggressor_high_ns: float | None = None
    handovers: tuple[Handover, ...] = ()
    visited_extra_ns: float | None = None
    visited_low_ns: float | None = None
    visited_high_ns: float | None = None
    cpus: tuple[int, ...] = ()
    state: str = ""
    round_trip_ns: float | None = None
    slots: int = 0
    share: float | None = None
    seconds_old: float | None = None
    saturated: bool | None = None
    unfinished_share: float | None = None
    memory: bool = False
    reason: str = ""

    @property
    def half_width(self) -> float | None:
        """Half width relative to the ratio."""
        if self.ratio is None or self.ratio_low is None or self.ratio_high is None:
            return None
        return (self.ratio_high - self.ratio_low) / 2 / self.ratio


@frozen(kw_only=True)
class PriceTable:
    """Prices of a machine. ``changed``: slots within which the state changed; ``stopped``: share of
    all slots, alone and together, in which a core stood still: both are in no price. ``refused``:
    object -> why it was not measured."""

    prices: tuple[Price, ...] = ()
    changed: int = 0
    slots: int = 0
    stopped: float = 0.0
    refused: Mapping[str, str] = field(factory=dict)
    states: Mapping[tuple[int, ...], PairStates] = field(factory=dict)

    @property
    def shares(self) -> dict[str, float]:
        """State -> share of the slots of the first pair."""
        first = next(iter(self.prices), None)
        found = [p for p in self.prices if first and p.cpus[:2] == first.cpus[:2]]
        return {p.state: p.share for p in found if p.share is not None}

    def usual(self) -> str:
        """The state of most slots of the first pair; "" of none."""
        shares = self.shares
        return max(shares, key=shares.__getitem__) if shares else ""

    def of(self, *, state: str, others: int | None = None) -> list[Price]:
        """Prices of a state; those beside ``others`` cores."""
        return [p for p in self.prices if p.state == state and others in (None, p.others)]


def price_table(
    stored: StoredPrices, earlier: Iterable[StoredPrices] = (), *, now_s: float | None = None
) -> PriceTable:
    """All prices of ``stored``. ``earlier``: prices of the same machine from other runs: they tell
    which states there are, and stand in, with their age, for a state that this run did not see.
    ``now_s``: time since the epoch; None: ages are not shown."""
    before = list(earlier)
    own = _SlotPool(stored.batches)
    old = _SlotPool([batch for each in before for batch in each.batches])
    cpus = stored.platform.cpus
    known = own.pairs | old.pairs
    states = {pair: pair_states([*own.trips(pair), *old.trips(pair)]) for pair in known}
    prices = [*own.prices(states, cpus)]
    seen = {(p.object, p.size, p.others, p.state) for p in prices}
    made = max((b.made_at for each in before for b in each.batches), default="")
    age = 0.0
    if made and now_s is not None:
        age = max(0.0, now_s - datetime.fromisoformat(made).timestamp())
    objects = {(p.object, p.size, p.others) for p in prices}
    prices += [
        evolve(p, seconds_old=age, share=0.0)
        for p in old.prices(states, cpus)
        if (p.object, p.size, p.others) in objects
        and (p.object, p.size, p.others, p.state) not in seen
    ]
    together = sum(len(rows[rows[:, WHO] < 0]) for rows in own.rows.values())
    counted = sum(p.slots for p in prices if p.seconds_old is None)
    visits = own.visits(states)
    refused = dict(stored.refused) | own.errors
    pairs = {tuple(cpus[core] for core in pair): states[pair] for pair in own.pairs}
    return PriceTable(
        prices=tuple(prices),
        changed=together - counted - visits,
        slots=together,
        stopped=own.stopped,
        refused=refused,
        states=pairs,
    )


class _SlotPool:
    """The slots of several batches by what they are of; rounds of different batches differ."""

    def __init__(self, batches: Sequence[PriceBatch]) -> None:
        parts: dict[PriceWork, list[Rows]] = {}
        self.errors: dict[str, str] = {}
        first, every, ran = 0, 0, 0
        for batch in batches:
            slots = np.array(batch.slots, np.float64).reshape(-1, _COLUMNS)
            slots[:, ROUND] += first
            following = int(slots[:, ROUND].max(initial=first)) + 1
            every += len(slots)
            slots = slots[slots[:, STOPPED] <= STOPPED_MOST * slots[:, FIRST_NS]]
            ran += len(slots)
            for place, (work, error) in enumerate(zip(batch.works, batch.errors, strict=True)):
                if error:
                    self.errors[work.object] = error
                own = slots[slots[:, WORK] == place]
                if len(own):
                    parts.setdefault(work, []).append(own)
            first = following
        #: Share of the slots in which a core stood still.
        self.stopped = 1 - ran / every if every else 0.0
        self.rows = {work: np.concatenate(found) for work, found in parts.items()}

    @property
    def pairs(self) -> set[tuple[int, ...]]:
        return {work.cores[:2] for work in self.rows if len(work.cores) > 1}

    def trips(self, pair: tuple[int, ...]) -> Iterator[float]:
        for work, rows in self.rows.items():
            if work.cores[:2] == pair:
                yield from rows[:, BEFORE]
                yield from rows[:, AFTER]

    def prices(
        self, states: Mapping[tuple[int, ...], PairStates], cpus: Sequence[int]
    ) -> Iterator[Price]:
        """Hammered works in order, each with its visits."""
        visits = {(w.object, w.cores): rows for w, rows in self.rows.items() if w.visit}
        counts: dict[tuple[int, ...], Counter[str]] = {}
        for work, rows in self.rows.items():
            pair = work.cores[:2]
            if len(pair) > 1:
                found = _states(rows[rows[:, WHO] < 0], states[pair])
                counts.setdefault(pair, Counter()).update(found.tolist())
        for work, rows in self.rows.items():
            if work.visit:
                continue
            own = tuple(cpus[core] for core in work.cores)
            # Time of a call: by the calls that the cores do in the same time, each alone.
            alone = rows[rows[:, WHO] >= 0]
            each = alone[:, FIRST_NS] / alone[:, FIRST]
            cores = [_geometric(each[alone[:, WHO] == who]) for who in np.unique(alone[:, WHO])]
            base = Price(
                object=work.object,
                size=work.size,
                others=len(own) - 1,
                alone_ns=float(len(cores) / np.sum(1 / np.array(cores))) / work.operations,
                cpus=own,
                memory=not work.shared,
            )
            pair = work.cores[:2]
            if len(pair) < 2:
                yield evolve(base, slots=len(rows), reason="one CPU: nothing shared")
                continue
            all_of = sum(counts[pair].values())
            beside = visits.get((work.object, work.cores))
            for state, trip_ps in states[pair].trips_ps.items():
                blocks = _Blocks.of(rows, state, states[pair])
                if not len(blocks.together):
                    continue
                made = blocks.price(base, work.operations)
                made = evolve(
                    made,
                    state=state,
                    round_trip_ns=trip_ps / 1000,
                    share=counts[pair][state] / all_of,
                )
                if beside is not None:
                    made = _Blocks.of(beside, state, states[pair]).visited(made)
                yield made

    def shared(self, states: Mapping[tuple[int, ...], PairStates]) -> dict[tuple[str, str], Rows]:
        """What an operation takes in each slot together, ns, in order: by object, size and others
        in words (and cores, where there are several such groups), and by state."""
        groups = Counter(len(cores) for cores in {work.cores for work in self.rows})
        found = {}
        for work, rows in self.rows.items():
            if work.visit or len(work.cores) < 2:
                continue
            several = groups[len(work.cores)] > 1
            name = f"{work.object}:{work.size} beside {len(work.cores) - 1}"
            name += f" on cores {','.join(map(str, work.cores))}" * several
            for state in states[work.cores[:2]].trips_ps:
                blocks = _Blocks.of(rows, state, states[work.cores[:2]])
                if len(blocks.together):
                    found[name, state] = blocks.calls_ns / work.operations
        return found

    def visits(self, states: Mapping[tuple[int, ...], PairStates]) -> int:
        return sum(
            int((_states(rows[rows[:, WHO] < 0], states[work.cores[:2]]) != CHANGED).sum())
            for work, rows in self.rows.items()
            if work.visit and len(work.cores) > 1
        )


def _states(rows: Rows, states: PairStates) -> NDArray[np.str_]:
    return states.between(rows[:, BEFORE], rows[:, AFTER])


def _block(rows: Rows) -> Rows:
    """A number for each block, in order: a work that is listed twice has two in a round."""
    return np.asarray(rows[:, ROUND] + rows[:, WORK] / WORKS_MAX)


def _geometric(values: Rows) -> float:
    return float(np.exp(np.log(values).mean()))


_Mean = tuple[float | None, float | None, float | None]


@frozen(eq=False)
class _Blocks:
    """The blocks of a work in slots with one state: (ns, calls) of each. ``alone``:
    for each core that was alone, sums in each block; NaN where it was not. Some core was."""

    together: Rows
    alone: list[Rows]

    @classmethod
    def of(cls, rows: Rows, state: str, states: PairStates) -> _Blocks:
        together = rows[rows[:, WHO] < 0]
        together = together[_states(together, states) == state]
        together = together[np.argsort(_block(together))]
        own = rows[(rows[:, WHO] >= 0) & np.isin(_block(rows), _block(together))]
        together = together[np.isin(_block(together), _block(own))]
        alone = []
        for who in np.unique(own[:, WHO]):
            sums, mine = np.full((len(together), 2), np.nan), own[own[:, WHO] == who]
            place = np.searchsorted(_block(together), _block(mine))
            sums[place] = mine[:, [FIRST_NS, FIRST]]
            alone.append(sums)
        return cls(together, alone)

    @property
    def calls_ns(self) -> Rows:
        """What a call takes together, in each block."""
        ns = self.together[:, FIRST_NS] + self.together[:, OTHERS_NS]
        return np.asarray(ns / (self.together[:, FIRST] + self.together[:, OTHERS]))

    @property
    def alone_ns(self) -> Rows:
        """What a call takes alone, in each block."""
        return np.asarray(1 / np.nanmean([own[:, 1] / own[:, 0] for own in self.alone], axis=0))

    def _half_width(self, values: Rows, rounds: Rows) -> float | None:
        """Student's, for a mean over blocks: those of a round are one draw (K.-Y. Liang, S. L.
        Zeger: Longitudinal data analysis, Biometrika 73, 1986), and rounds with few of them say
        little (A. V. Carter et al., Review of Economics and Statistics 99, 2017). None: too few."""
        _, place, blocks = np.unique(rounds, return_inverse=True, return_counts=True)
        if len(values) < LEAST_SLOTS or len(blocks) < 2:
            return None
        sums = np.bincount(place, values - values.mean())
        alike = float((blocks**2).sum() ** 2 / (blocks**4).sum())  # as many rounds that are alike
        error = math.sqrt(len(sums) / (len(sums) - 1) * float((sums**2).sum())) / len(values)
        return t_quantile(0.975, max(1.0, alike - 1)) * error

    def _mean(self, values: Rows, where: NDArray[np.bool_] | None = None) -> _Mean:
        """Geometric mean over the blocks ``where``, and its 95 % interval."""
        chosen = np.ones(len(values), bool) if where is None else where
        if not chosen.any():
            return None, None, None
        logs = np.log(values[chosen])
        half = self._half_width(logs, self.together[chosen, ROUND])
        mean = math.exp(logs.mean())
        if half is None:
            return mean, None, None
        return mean, mean * math.exp(-half), mean * math.exp(half)

    def price(self, base: Price, operations: int) -> Price:
        count, each, alone = len(self.together), self.calls_ns, self.alone_ns
        shared, low, high = self._mean(each / operations)
        ratio, ratio_low, ratio_high = self._mean(each / alone)
        first, others = (
            self._mean(self.together[:, ns] / self.together[:, ns + 1] / operations)
            for ns in (FIRST_NS, OTHERS_NS)
        )
        seen = "in one round" if count >= LEAST_SLOTS else f"{count} times"
        handovers = self._handovers(base.others + 1, operations)
        return evolve(
            base,
            alone_ns=_geometric(alone) / operations,
            shared_ns=shared,
            low_ns=low,
            high_ns=high,
            ratio=ratio,
            ratio_low=ratio_low,
            ratio_high=ratio_high,
            victim_ns=first[0],
            victim_low_ns=first[1],
            victim_high_ns=first[2],
            aggressor_ns=others[0],
            aggressor_low_ns=others[1],
            aggressor_high_ns=others[2],
            slots=count,
            reason="" if low is not None else f"seen {seen}: no interval",
            handovers=tuple(handovers) if self.together[:, HANDOVERS].any() else (),
        )

    def _handovers(self, cores: int, operations: int) -> Iterator[Handover]:
        times = np.maximum(self.together[:, HANDOVERS], 1)
        calls = self.together[:, FIRST] + self.together[:, OTHERS]
        sleeps = self.together[:, SLEEPS] / times
        limits = (-math.inf, SPINNING, SLEEPING, math.inf)
        for mode, low, high in zip(MODES, limits[:-1], limits[1:], strict=True):
            chosen = (sleeps >= low) & (sleeps < high)
            ns, low_ns, high_ns = self._mean(calls * self.calls_ns / cores / times, chosen)
            if ns is not None:
                yield Handover(
                    mode=mode,
                    share=float(chosen.mean()),
                    ns=ns,
                    low_ns=low_ns,
                    high_ns=high_ns,
                    possession=_geometric((calls * operations / times)[chosen]),
                )

    def visited(self, price: Price) -> Price:
        if not len(self.together):
            return price
        each, alone = self.calls_ns, self.alone_ns
        shared, usual = _geometric(each), _geometric(alone)
        made = evolve(price, visited_extra_ns=shared - usual)
        off = shared * np.log(each) - usual * np.log(alone)
        half = self._half_width(off, self.together[:, ROUND])
        if half is None:
            return made
        ends = Interval.around(shared - usual, half)
        return evolve(made, visited_low_ns=ends.low, visited_high_ns=ends.high)


def shared_slots(every: Sequence[StoredPrices | None]) -> list[dict[tuple[str, str], Rows]]:
    """What `_SlotPool.shared` says of each of several results; results of the same CPUs tell
    their states apart by the round trips of all of them."""
    pools = [_SlotPool(each.batches if each else ()) for each in every]
    hosts = [each and (each.platform.fingerprint, each.platform.cpus) for each in every]
    trips: dict[object, list[float]] = {}
    for host, pool in zip(hosts, pools, strict=True):
        for pair in pool.pairs:
            trips.setdefault((host, pair), []).extend(pool.trips(pair))
    states = {place: pair_states(found) for place, found in trips.items()}
    return [
        pool.shared({pair: states[host, pair] for pair in pool.pairs})
        for host, pool in zip(hosts, pools, strict=True)
    ]
