"""Prices for people and for files: a table, a chart, and sentences."""

from __future__ import annotations

import attrs

from deadbeat.base.experiment.base import Known
from deadbeat.base.model.words import Json, duration, ns_range, ns_text
from deadbeat.base.report.building import CurvePoint, aside, curve
from deadbeat.base.report.charts import Chart, Panel
from deadbeat.base.report.document import Column, Figures, Part, Sentence, Table, percent
from deadbeat.tasksets.prices.table import LEAST_SLOTS, Price, PriceTable

_HOW = (
    "ns per operation of one core: alone (the cores, each alone), and while all are at"
    " the same object without a pause. Seldom adds: what one operation costs above that where each"
    " core does 0.5 µs of its own work after it. A budget takes that one, and the state in which"
    " it is dearest. Hand-over: time until a lock comes from another core; an operation takes the"
    " number of cores x that / operations per possession. Intervals: 95 %, over rounds of new"
    " processes."
)
_MODES = {"spinning": "spinning", "mixed": "spinning or sleeping", "sleeping": "sleeping"}
#: Objects that a screen shows with their hand-over.
_HANDED_SHOWN = 2


def _extra(price: Price) -> str | None:
    extra, high = price.visited_extra_ns, price.visited_high_ns
    if extra is None:
        return None
    low = price.visited_low_ns
    if low is not None and high is not None and low <= 0:
        return f"< {ns_text(max(high, 0.1))}"
    return f"+{ns_text(extra)}"


def _time(price: Price, ns: float | None) -> str | None:
    """A time of a price, in the unit of its row."""
    if ns is None or max(price.alone_ns, price.shared_ns or 0.0) < 1e6:
        return None if ns is None else ns_text(ns)
    return f"{ns / 1e6:.3g} ms"


def _handovers(price: Price) -> str | None:
    """``2,940 ns spinning (77 %, 2.5 operations per possession), 6,890 ns sleeping (3 %, 3.1)``."""
    texts = [
        f"{ns_text(each.ns)} {_MODES[each.mode]} ({percent(each.share)}, {each.possession:.2g}"
        + " operations per possession" * (at == 0)
        + ")"
        for at, each in enumerate(price.handovers)
    ]
    return ", ".join(texts) or None


_RAW = tuple(Column(key=each.name, page=False, terminal=False) for each in attrs.fields(Price))
PRICE_COLUMNS = (
    Column(key="name", heading="object", value=lambda p: p.object, raw=False, words=True),
    Column(key="of", heading="size", value=lambda p: p.size, raw=False, terminal=False),
    Column(key="beside", heading="others", value=lambda p: p.others, raw=False, terminal=False),
    Column(key="in", heading="state", value=lambda p: p.state or None, raw=False, terminal=False,
           words=True),
    Column(key="alone", heading="alone", value=lambda p: _time(p, p.alone_ns), raw=False),
    Column(key="shared", heading="shared", value=lambda p: _time(p, p.shared_ns), raw=False),
    Column(key="ends", heading="95 % of shared", raw=False, spare=True,
           value=lambda p: ns_range(p.low_ns, p.high_ns)),
    Column(key="times", heading="x", value=lambda p: p.ratio, raw=False,
           format=lambda x: f"{x:,.0f}" if x >= 100 else f"{x:.3g}"),
    Column(key="extra", heading="seldom adds", value=_extra, raw=False),
    Column(key="unfinished", heading="saturated", raw=False, terminal=False, format=percent,
           value=lambda p: p.unfinished_share or 0.0 if p.saturated else None),
    Column(key="seen", heading="slots", value=lambda p: p.slots, raw=False, terminal=False),
    Column(key="why", heading="", value=lambda p: p.reason or None, raw=False, terminal=False,
           words=True),
    *_RAW,
)  # fmt: skip

_HANDED = (
    *PRICE_COLUMNS[:4],
    Column(key="handed", heading="hand-over", value=_handovers, raw=False, long=True),
)


def shown_prices(table: PriceTable) -> list[Price]:
    """Beside one other core, in the state seen most, at the first size: the dearest first."""
    state, first = table.usual(), dict[str, Price]()
    for price in table.prices:
        if price.state in (state, "") and price.others <= 1 and price.seconds_old is None:
            first.setdefault(price.object, price)
    return sorted(first.values(), key=lambda p: -(p.ratio or 0.0))


def price_list(table: PriceTable) -> Table:
    """For a terminal."""
    return Table(
        name="prices", columns=PRICE_COLUMNS, rows=shown_prices(table), terminal=True,
        note=handover_words(table), hint=_HOW,
    )  # fmt: skip


def known_prices(table: PriceTable) -> Known:
    return Known(words=dearest_words(table), table=price_list(table))


def dearest_words(table: PriceTable) -> str:
    """``Sharing a pipe between 2 cores costs 2,250 ns an operation; alone 830 ns.``; "" of none."""
    shown = [p for p in shown_prices(table) if p.shared_ns is not None]
    if not shown:
        return ""
    worst = shown[0]
    assert worst.shared_ns is not None
    return (
        f"Sharing {worst.object} between 2 cores costs {ns_text(worst.shared_ns)} an operation;"
        f" alone {ns_text(worst.alone_ns)}."
    )


def state_words(table: PriceTable) -> str:
    """Which states there were, and what differs most between them; "" of a steady pair."""
    state, shares = table.usual(), table.shares
    others = [each for each in table.prices if each.state != state and each.others == 1]
    if not others:
        return ""
    other = others[0].state
    trips = {p.state: p.round_trip_ns for p in table.prices if p.round_trip_ns is not None}
    text = f"{state.capitalize()} (round trip {ns_text(trips[state])}); "
    old = [each.seconds_old for each in others if each.seconds_old is not None]
    if len(old) == len(others):
        return f"{text}{other} was not seen: prices of it are of {duration(min(old))} ago."
    here = {(p.object, p.size): p for p in table.of(state=state, others=1)}
    pairs = [(here.get((p.object, p.size)), p) for p in others if p.shared_ns is not None]
    dearer = sorted(
        ((p.shared_ns or 0) / (mine.shared_ns or 1), p)
        for mine, p in pairs
        if mine and mine.shared_ns
    )
    named = dict[str, str]()
    for _, p in reversed(dearer):
        named.setdefault(p.object, f"{p.object} {ns_text(p.shared_ns or 0.0)}")
    some = ", ".join([*named.values()][:2])
    return (
        f"{text}in {percent(shares.get(other, 0.0))} of the slots {other}"
        f" ({ns_text(trips[other])}): {some}."
    )


def handover_words(table: PriceTable) -> str:
    """How the dearest objects that sleep are handed over."""
    sleep = {p.object for p in table.prices for each in p.handovers if each.mode != "spinning"}
    shown = [p for p in shown_prices(table) if p.object in sleep and p.handovers]
    texts = [f"{p.object} {_handovers(p)}" for p in shown[:_HANDED_SHOWN]]
    return "Hand-over: " + "; ".join(texts) + "." if texts else ""


def missing_words(table: PriceTable) -> str:
    """Which columns are dashes, and why; objects that could not be measured, by name."""
    alone = [p for p in table.prices if p.shared_ns is None and p.reason]
    words = [f"Shared, x, seldom adds: not measured, {alone[0].reason}."] if alone else []
    by_reason: dict[str, list[str]] = {}
    for name, why in table.refused.items():
        by_reason.setdefault(why, []).append(name)
    words += [f"Not measured: {', '.join(names)} ({why})." for why, names in by_reason.items()]
    return " ".join(words)


def price_words(table: PriceTable) -> tuple[str, str]:
    """What stands above a list of prices, and what below."""
    below = " ".join(filter(None, [state_words(table), missing_words(table)]))
    return dearest_words(table) or "No price of sharing was measured.", below


def price_chart(table: PriceTable) -> Chart:
    shown = shown_prices(table)
    place = {each.object: at for at, each in enumerate(shown)}
    size = {each.object: each.size for each in shown}
    own = [p for p in table.prices if size.get(p.object) == p.size and p.shared_ns is not None]
    groups = list(dict.fromkeys((p.others, p.state) for p in own))
    count = len(groups) + 1
    curves = [
        curve(
            "alone",
            (CurvePoint(place[p.object] + aside(0, count), p.alone_ns) for p in shown),
            look=4,
            kind="errors",
        )
    ]
    for look, (others, state) in enumerate(groups):
        beside = "one other core" if others == 1 else f"{others} others"
        points = []
        for p in own:
            if (p.others, p.state) == (others, state):
                ends = ns_range(p.low_ns, p.high_ns)
                known = f" ({ends})" if ends else f", seen {p.slots} times"
                hover = f"{p.object}:{p.size} {p.state} {ns_text(p.shared_ns or 0.0)}{known}"
                points.append(
                    CurvePoint(
                        place[p.object] + aside(look + 1, count),
                        p.shared_ns or 0.0,
                        p.low_ns,
                        p.high_ns,
                        text=hover,
                    )
                )
        curves.append(curve(f"beside {beside}, {state}", points, look=look, kind="errors"))
    panel = Panel(
        title="",
        x_label="",
        y_label="ns per operation",
        curves=tuple(curves),
        categories=tuple(place),
        y_log=True,
    )
    caption = f"{table.slots:,} slots in which all cores worked. Bars: 95 % intervals."
    return Chart(name="prices", title="Prices of sharing", caption=caption, panels=(panel,))


def price_parts(table: PriceTable) -> tuple[Part, ...]:
    """The section of a page: the chart, every price, and what could not be measured."""
    whole = Table(name="all-prices", columns=PRICE_COLUMNS, rows=table.prices, hint=_HOW)
    handed = [price for price in table.prices if price.handovers]
    locks = [Table(name="hand-overs", title="Hand-over", columns=_HANDED, rows=handed)]
    doubts = [
        f"{table.changed} of {table.slots} slots changed their state: in no price."
        * bool(table.changed),
        f"In {percent(table.stopped)} of all slots a core stood still: in no price."
        * bool(table.stopped),
        f"A state with fewer than {LEAST_SLOTS} slots has no interval."
        * any(p.slots < LEAST_SLOTS for p in table.prices),
    ]
    text = " ".join(filter(None, [price_words(table)[1], *doubts]))
    parts: tuple[Part, ...] = (Figures([price_chart(table)]), whole, *(locks if handed else []))
    return (*parts, *([Sentence(text)] if text else []))


def price_rows(table: PriceTable | None) -> list[dict[str, Json]]:
    """``results.prices`` of ``--json``."""
    return [attrs.asdict(price) for price in (table.prices if table else ())]
