"""The answer in words and on one screen: what sharing costs, what slows down, what misses."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import capital, origin
from deadbeat.base.report.document import CellMap, percent
from deadbeat.base.report.machines import Verdicted
from deadbeat.tasksets.contention import facts
from deadbeat.tasksets.contention.grids import at_places, axis_of, cores_of, milli, point_words
from deadbeat.tasksets.contention.predicted import predicted_words, replay_words
from deadbeat.tasksets.contention.spec import VERB
from deadbeat.tasksets.model.figures import RANGE, CellFigures, Figure
from deadbeat.tasksets.model.results import Summary
from deadbeat.tasksets.prices.page import price_words

_FACTOR = attrgetter("factor")
#: More shielded groups than this are read in the table.
_SHIELDED_SHOWN = 4
_TWO = "{:.2f}".format


def group_answers(summary: Summary) -> dict[str, list[str]]:
    by_group = grouped(summary.cells, attrgetter("group"))
    return {group: _group_lines(cells) for group, cells in by_group.items()}


def _group_lines(cells: Sequence[CellFigures]) -> list[str]:
    first = min(cells, key=_FACTOR)
    count = first.task_sets
    if not count:
        return ["No task set has a result."]
    levels = f", {len(cells)} deadline factors each" if len(cells) > 1 else ""
    lines = [f"{count:,} task sets{levels}. {_slowdown_line(first)}"]
    lines.append(_miss_line(first, several=len(cells) > 1))
    return [*lines, _until(cells)] if len(cells) > 1 else lines


def _slowdown_line(cell: CellFigures) -> str:
    found = cell.slowdown
    if found.value is None:
        return "Slowdown: undecided."
    ends = found.interval("{:.3f}".format)
    which = " of the critical tasks" if cell.critical_cores else ""
    # `median slowdown 1.02, 5 % of the sets above 1.31, worst 2.4`.
    named = {"p50": "median slowdown", "p95": "5 % of the sets above", "max": "worst"}
    known = ((words, cell.figure(f"slowdown_{name}")) for name, words in named.items())
    texts = (
        f"{words} {_bare(found, ('{:.3g}' if found.value >= 10 else '{:.3f}').format)}"
        for words, found in known
        if found.value is not None
    )
    quantiles = ", ".join(texts) or f"slowdown {_bare(cell.slowdown)}"
    return f"{capital(quantiles)}{which}; mean {_bare(found)} ({ends})."


def _bare(found: Figure, digits: Callable[[float], str] = "{:.3f}".format) -> str:
    """A value, or the least it is, without its interval."""
    return found._replace(low=None).text(digits)


def _miss_line(cell: CellFigures, *, several: bool) -> str:
    share = cell.figure("miss_set_share")
    where = f"At D/C = {cell.factor:g}: " if several else ""
    if share.value is None:
        return f"{where}Misses: undecided."
    if share.value == 0:
        none = "no set" if where else "No set"
        return f"{where}{none} missed a deadline{_at_most(cell)}."
    words = f"{where}{percent(share.value)} of the sets missed a deadline"
    words += f" ({share.interval(percent)})"
    half = cell.value("deadline_miss_p50_nonzero")
    if half is not None:
        words += f"; half of these missed more than {percent(half)} of their jobs"
    return f"{words}; {percent(cell.miss_ratio.value or 0.0)} of all jobs."


def _at_most(cell: CellFigures) -> str:
    high = cell.figure("miss_set_share").high
    return "" if high is None else f" (95 %: at most {percent(high)} of such sets would miss one)"


def _until(cells: Sequence[CellFigures]) -> str:
    ordered = sorted(cells, key=_FACTOR)
    missed = [cell for cell in ordered if cell.miss_ratio.value]
    if not missed:
        return "No level has a miss."
    last = missed[-1]
    if last is ordered[-1]:
        return f"Deadlines are still missed at the longest, D/C = {last.factor:g}."
    after = ordered[ordered.index(last) + 1]
    return f"From D/C = {after.factor:g} on no set missed a deadline{_at_most(after)}."


def stress_sentence(summary: Summary) -> str:
    """The answer: how slow and how late random task sets get, and how well critical ones fare."""
    decided = [cell for cell in summary.cells if cell.value("slowdown_p50") is not None]
    if not decided:
        return facts.nothing_decided(summary)
    worst = facts.most(decided, "slowdown_p95")
    p50, p95, slowest = (worst.figure(f"slowdown_{name}") for name in ("p50", "p95", "max"))
    first = decided[0].deadline_factor
    sets = sum(cell.task_sets for cell in decided if cell.deadline_factor == first)
    floor = facts.noise_floor(summary).share
    text = (
        f"Of {sets} task sets the slowest 5 %{_of_group(worst, decided)}"
        f" run {'at least ' * (not p95.bounds)}{p95.text(_TWO)} times as long as alone"
        f" (median {p50.text(_TWO)}, worst {slowest.text(_TWO)});"
    )
    late = [cell for cell in decided if cell.value("miss_set_share")]
    if late:
        worse = facts.most(late, "miss_set_share")
        share = percent(worse.value("miss_set_share") or 0.0)
        # Whether the host alone may be to blame; "" where that was not measured.
        if worse.value("miss_excess") is None:
            beyond = ""
        else:
            more = "certainly" if worse.misses else "not certainly"
            beyond = f" ({more} more jobs than miss alone)"
        text += f" {share} of the sets{_of_group(worse, decided)} miss a deadline{beyond}."
    else:
        text += " no set misses a deadline."
    if floor is None:
        text += " The smallest effect that can show is not known: too few sets share nothing."
    elif (p95.value or 0.0) <= 1 + floor:
        text += " The slowdown is no more than can be seen here."
    # How much of the interference reaches critical tasks, against the same sets unshielded.
    unshielded = {
        (cell.group, cell.deadline_factor): cell for cell in decided if not cell.critical_cores
    }
    found = []
    for cell in decided:
        if not cell.critical_cores:
            continue
        base = cell.group.rsplit(" k=", 1)[0]
        slow = f"{_bare(cell.slowdown)} times as long as alone"
        shielding_text = f"With {_name(cell, decided)} critical tasks run {slow}"
        other = unshielded.get((base, cell.deadline_factor))
        if other is not None:
            shielding_text += f", {_bare(other.slowdown)} times where nothing is shielded ({base})"
        found.append((cell.slowdown.value or 0.0, shielding_text + "."))
    if len(found) <= _SHIELDED_SHOWN:
        shielding = [shielding_text for _, shielding_text in found]
    else:
        shielding = [f"Of {len(found)} shielded groups the worst:", max(found)[1]]
    return " ".join([text, *shielding])


def _name(cell: CellFigures, cells: Sequence[CellFigures]) -> str:
    several = len({other.deadline_factor for other in cells}) > 1
    return cell.group + (f" at T = {cell.factor:g} C" if several else "")


def _of_group(cell: CellFigures, cells: Sequence[CellFigures]) -> str:
    return f" of group {_name(cell, cells)}" if len(cells) > 1 else ""


Cells = Sequence[CellFigures]
#: Figures of which a cell has one at least, or has no answer.
_ANSWERS = {"stress": ["slowdown_p50"], "profile": ["slowdown_mean", "deadline_miss_ratio"]}


def unanswered(summary: Summary) -> bool:
    """Whether no point or group has an answer."""
    return not any(_having(summary.cells, name) for name in _ANSWERS[summary.mode])


def headline(summary: Summary) -> tuple[str, ...]:
    """The answer in sentences: where a campaign starts to miss and to slow down, or how bad a
    stress campaign gets."""
    if summary.mode == "stress":
        words = (stress_sentence(summary), others_words(summary), *replay_words(summary))
        return tuple(filter(None, words))
    if not summary.cells:
        return ("Nothing was measured yet.",)
    if unanswered(summary):
        return (facts.nothing_decided(summary),)
    own = facts.grid_of(summary)
    ordered = sorted(own.cells, key=_ORDER)
    every = facts.factors(ordered)
    cells = [cell for cell in ordered if cell.factor == every[0]]
    floor = facts.noise_floor(summary).share
    places = len(axis_of(own, "sync_share")) * len(axis_of(own, "contended_ratio"))
    prices = facts.price_table(summary)
    misses = (_miss_words(cells) + _longer_words(ordered, every), *_loads_words(summary))
    dearest, *known = price_words(prices) if prices else ("",)
    lines = (
        dearest,
        *(misses if dearest else ()),
        *known,
        _shared_words(summary) if summary.points else _slowdown_words(cells, floor),
        others_words(summary),
        *replay_words(summary),
        *(() if dearest else misses),
        predicted_words(summary),
        _open_words(cells, places * len({cell.cores for cell in cells})),
    )
    return tuple(filter(None, lines))


#: From this share of the time of its jobs on a campaign says what others took.
_OTHERS = 0.01


def others_words(summary: Summary) -> str:
    """What others took of the jobs, and the slowdowns without it; "" where it is hardly any."""
    every = [share for each in summary.sets if (share := each.others_share) is not None]
    known = _having(summary.cells, "slowdown_undisturbed")
    if not known or sum(every) < _OTHERS * len(every):
        return ""
    taken = percent(sum(every) / len(every))
    words = f"Others took {taken} of the jobs' time, by the kernel's word; without it, "
    alone = [c.value("slowdown_undisturbed") or 0.0 for c in known if c.cores == 1]
    if alone:
        words += f"the slowdown is {min(alone):.2f} to {max(alone):.2f} at M = 1; "
    worst = facts.most(known, "slowdown_undisturbed")
    found = worst.figure("slowdown_undisturbed")
    where = f"in group {worst.group}" if worst.group else f"at {point_words(worst)}"
    words += f"the largest mean is {_TWO(found.value or 0.0)} ({found.interval(_TWO)}), {where}"
    return f"{words}."


def _shared_words(summary: Summary) -> str:
    """Where most time is spent on shared objects: the point, its ends, and what is saturated."""
    usual = min((point.tasks_per_core or 1 for point in summary.points), default=1)
    grid = [p for p in summary.points if p.by_class and (p.tasks_per_core or 1) == usual]
    if not grid:
        return "No point shares objects between cores."
    worst = max(grid, key=lambda p: (p.cores, p.sync_share, p.contended_ratio))
    share = worst.sync_share * worst.contended_ratio
    start = f"With {'all' if share == 1 else percent(share) + ' of the'} time spent on objects"
    start += f" shared by {worst.cores} cores"
    late = {name: percent(worst.by_class[name].unfinished_share or 0) for name in worst.saturated}
    left = [f"{name}: saturated, {share} of its jobs unfinished" for name, share in late.items()]
    if worst.slowdown is None:
        why = f"{len(left)} of {len(worst.by_class)} objects are saturated" if left else "undecided"
        return f"{start}, there is no mean slowdown: {why}."
    both = Figure(worst.slowdown, worst.low, worst.high).ends
    ends = f" ({both[0]:.2f} to {both[1]:.2f})" if both else ""
    ordered = sorted((c.slowdown, name) for name, c in worst.by_class.items() if c.slowdown)
    (low, cheap), (high, dear) = ordered[0], ordered[-1]
    words = f"{start}, sets take {worst.slowdown:.2f} times as long{ends}:"
    words += f" {cheap} {low:.2f}, {dear} {high:.2f}"
    return f"{words}; left out: {'; '.join(left)}." if left else f"{words}."


_ORDER = attrgetter("cores", "sync_share", "contended_ratio", "factor")


def _having(cells: Cells, name: str) -> list[CellFigures]:
    return [cell for cell in cells if cell.value(name) is not None]


# -- misses


def _miss_words(cells: Cells) -> str:
    known = _having(cells, "deadline_miss_ratio")
    if not known:
        return "Misses: no point has an answer."
    factor = known[0].factor
    deadline = f"Deadlines of {factor:g} C" if factor else "Deadlines equal to periods"
    compared = _having(known, "miss_excess")
    if not compared:
        worst = facts.most(known, "deadline_miss_ratio")
        return (
            f"{deadline}: most jobs miss at {point_words(worst)}: {_missed(worst)}; how many the"
            " machine causes by itself is unknown."
        )
    certain = [cell for cell in compared if cell.misses]
    if not certain:
        ends = [cell.figure("miss_excess").high for cell in compared]
        most = max((end for end in ends if end is not None), default=None)
        bound = f" (up to {percent(most or 0)} of the jobs could still miss: too few were measured)"
        return f"{deadline}: no extra misses are shown{bound * (most is not None)}."
    first, worst = certain[0], facts.most(certain, "miss_excess")
    words = f"{deadline}: extra misses from {point_words(first)} on: {_missed(first)}"
    if worst is not first:
        words += f"; most at {point_words(worst)}: {_missed(worst)}"
    return f"{words}."


def cases(summary: Summary) -> Iterator[Verdicted]:
    """A case for each point or group: whether more jobs miss than of the same tasks alone."""
    for cell in _having(summary.cells, "deadline_miss_ratio"):
        known = cell.value("miss_excess") is not None
        yield Verdicted(
            name=f"{cell.group or point_words(cell)}, {facts.deadline_words(cell)}",
            group=f"{summary.mode}.misses",
            verdict="failed" if cell.misses else "passed" if known else "skipped",
            message=_missed(cell),
            weight=cell.value("miss_excess") or 0.0,
        )


def _missed(cell: CellFigures) -> str:
    text = f"{_share(cell)} of jobs"
    alone = cell.value("alone_miss_ratio")
    return text if alone is None else f"{text}, alone {percent(alone)}"


def _longer_words(cells: Cells, every: Sequence[float]) -> str:
    if len(every) < 2:
        return ""
    missed = [f for f in every if any(cell.misses for cell in cells if cell.factor == f)]
    if not missed:
        return ""
    if missed[-1] == every[-1]:
        return f" They are still missed at D = {every[-1]:g} C."
    after = every[every.index(missed[-1]) + 1]
    return f" From D = {after:g} C on no extra misses are shown."


def _loads_words(summary: Summary) -> tuple[str, ...]:
    return tuple(map(_loaded_words, facts.loads(facts.loaded_cells(summary))))


def _loaded_words(cells: Cells) -> str:
    known = _having(cells, "deadline_miss_ratio")
    start = capital(load_words(cells[0], ", "))
    if not known:
        return f"{start}: no point has an answer."
    worst = facts.most(known, "deadline_miss_ratio")
    words = f"{start}: {_share(worst)} of jobs miss at {point_words(worst)}"
    calm = [cell for cell in known if cell.cores == worst.cores and not cell.contended_ratio]
    if calm and worst.contended_ratio:
        words += f", {_share(calm[-1])} where they share no object (α = 0)"
    fewest = min(cell.cores for cell in known)
    if fewest != worst.cores:
        least = [cell for cell in known if cell.cores == fewest]
        most = facts.most(least, "deadline_miss_ratio")
        words += f"; {_share(most)} already at M = {fewest}"
    return f"{words}."


def load_words(cell: CellFigures, joint: str = " and ") -> str:
    """``2 tasks a core and D = 2 C``."""
    tasks = cell.tasks_per_core or 1
    return f"{tasks} task{'s' if tasks > 1 else ''} a core{joint}{facts.deadline_words(cell)}"


def _share(cell: CellFigures) -> str:
    return percent(cell.miss_ratio.value or 0.0)


# -- slowdown


def slows(cell: CellFigures, floor: float | None) -> bool:
    """Whether the slowdown's interval excludes 1 by more than the smallest effect."""
    low = cell.slowdown.low
    return low is not None and low > 1 + (floor or 0.0)


def _slowdown_words(cells: Cells, floor: float | None) -> str:
    known = _having(cells, "slowdown_mean")
    if not known:
        return "Slowdown: no point has an answer."
    worst = facts.most(known, "slowdown_mean")
    slow = [cell for cell in known if slows(cell, floor)]
    found, most = worst.slowdown, worst.slowdown.value or 0.0
    narrow = found.ends is not None and found.ends[1] - found.ends[0] < 0.1

    def digits(value: float) -> str:
        return f"{value:.{3 if narrow or value < 10 else 1}f}"

    words = f"The largest slowdown (time together / alone) is {_bare(found, digits)}"
    words += f" ({found.interval(digits)}), at {point_words(worst)}. "
    least = sum(cell.slowdown.bounds for cell in known)
    words += f"{least} of {len(known)} points have a lower bound in place of a mean. " * (least > 0)
    if slow:
        ranges = any(cell.figure("slowdown_mean").basis == RANGE for cell in known)
        how = "slowed down over all of their range" if ranges else "certainly slowed down"
        words += f"{len(slow)} of {len(known)} points are {how}, the first is"
        words += f" {point_words(slow[0])}; "
    elif floor is not None and most > 1 + floor:
        return f"{words}None is certain: no interval lies wholly above {1 + floor:.3f}."
    else:
        words += "No point is certainly slowed down; "
    if floor is None:
        return f"{words}how small an effect could be seen is unknown: too few sets share nothing."
    return f"{words}only slowdowns of {percent(floor)} or more could be seen."


def _open_words(cells: Cells, places: int) -> str:
    """A point of the grid that has no row is missing, too."""
    undecided = sum(cell.slowdown.value is None for cell in cells)
    parts = ((undecided, "undecided"), (places - len(cells), "not measured"))
    missing = [f"{count} {state}" for count, state in parts if count > 0]
    return f"Without an answer: {', '.join(missing)}, of {places} points." if missing else ""


#: From which slowdown on a cell is drawn stronger.
_STEPS = (1.1, 1.25, 1.5)


def short_answer(summary: Summary) -> tuple[str, ...]:
    """What stands above the picture: above prices the dearest one, where misses begin and what
    helps; above a map all of it."""
    lines = headline(summary)
    if facts.listed_prices(summary):
        return lines[: _above(summary)]
    return (*lines, *facts.about(summary))


def _above(summary: Summary) -> int:
    """How many sentences are about the dearest price and about misses."""
    return 2 + len(_loads_words(summary)) if summary.cells and not unanswered(summary) else 1


def below_prices(summary: Summary) -> tuple[str, ...]:
    """What stands below the list of prices, where that is the picture."""
    if not facts.listed_prices(summary):
        return ()
    return (*headline(summary)[_above(summary) :], *facts.about(summary))


def slowdown_map(summary: Summary) -> CellMap | None:
    """Slowdown of the M with the largest one, by rho (rows) and alpha (columns); None: no point has
    an answer. What lies surely beyond the noise has a block, and what misses surely more, with a
    ``+``.
    """
    own = facts.grid_of(summary)
    points = facts.levels(own.cells)[0].of(own.cells)
    known = [point for point in points if point.slowdown.value is not None]
    if not known:
        return None
    cores = facts.most(known, "slowdown_mean").cores
    shares, ratios = axis_of(own, "sync_share"), axis_of(own, "contended_ratio")
    floor = facts.noise_floor(summary).share
    places = at_places(points, cores)
    cells = [[places.get((milli(share), milli(ratio))) for ratio in ratios] for share in shares]
    every = cores_of(own)
    of = f" (the worst of M = {', '.join(map(str, every))})" if len(every) > 1 else ""
    title = f"slowdown with M = {cores} cores{of}; ρ: share of synchronisation, α: of it on shared"
    title += " objects"
    title += "; +: certainly more misses than alone" * any(c.misses for c in places.values())
    title += "; ≥: at least, jobs did not finish" * any(c.slowdown.bounds for c in places.values())
    return CellMap(
        title=title,
        corner="ρ \\ α",
        columns=[f"{ratio:g}" for ratio in ratios],
        rows=[f"{share:g}" for share in shares],
        cells=[[_text(cell) for cell in line] for line in cells],
        strength=[[_strength(cell, floor) for cell in line] for line in cells],
    )


def _text(cell: CellFigures | None) -> str:
    value = cell and cell.slowdown.value
    if cell is None or value is None:
        return "?"
    return "≥" * cell.slowdown.bounds + f"{value:.2f}" + "+" * cell.misses


def _strength(cell: CellFigures | None, floor: float | None) -> int:
    """Rank of what is certainly slower, and of what certainly misses more."""
    if cell is None or not (slows(cell, floor) or cell.misses):
        return 0
    return strength_of(cell.slowdown.value or 0.0)


def strength_of(slowdown: float) -> int:
    return 1 + sum(slowdown >= step for step in _STEPS)


def next_steps(summary: Summary) -> list[tuple[str, str]]:
    verb = VERB[summary.mode]
    name = shlex.quote(facts.campaign_name(summary))
    if origin(facts.labels(summary)) != "measured":
        return [(f"deadbeat {verb} --quick", "measure this machine")]
    steps = []
    if summary.meta.get("failed"):
        steps.append((f"deadbeat {verb} --retry", "measure again what has no result"))
    if summary.meta.get("causes"):
        steps.append((f"deadbeat why {name}", "why the worst jobs were late"))
    elif facts.platform(summary).get("kind") == "hardware":
        steps.append((f"deadbeat {verb} --quick --causes", "find out who had the core or the lock"))
    again = f"deadbeat {verb} --programs-from {name}"
    return [*steps, (again, "the same programs on another kernel")]
