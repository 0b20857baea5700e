"""A load test in words: for the terminal and the page alike."""

from __future__ import annotations

import re

from deadbeat.base.model.comparison import Effect
from deadbeat.base.model.words import beside_label
from deadbeat.base.stats.estimate import Estimate
from deadbeat.base.verdicts.words import interval_text
from deadbeat.latencies.load.model import ALL, PLAIN, REFERENCE, LoadSummary
from deadbeat.latencies.load.spec import PAPER_ADDITIONS, PAPER_LIMIT_NS

#: A round that takes so much longer or shorter than asked changes what its deadline means.
_OTHER_ROUND = 0.2
_NAMES = {PLAIN: "as it is", ALL: "all remedies", REFERENCE: "no real-time thread"}


def condition_words(condition: str) -> str:
    return _NAMES.get(condition, condition)


def failures_of(summary: LoadSummary) -> int:
    """Failures that the causes explain: without a remedy, with the most ordinary threads."""
    plain = [cell for cell in summary.cells if cell.condition == PLAIN and cell.runs]
    return max(plain, key=lambda cell: cell.normal).failures if plain else 0


def helps(summary: LoadSummary) -> list[str]:
    """Which single remedies are shown to end misses, the best first."""
    single = [each for each in summary.effects if each.condition != ALL and each.verdict]
    if not (single and failures_of(summary)):
        return []
    shown = [each for each in single if each.verdict == "better"]
    shown.sort(key=lambda each: each.failures_after)
    parts = [
        f"{each.condition} ({each.failures_before:.2f} to {each.failures_after:.2f} failures/s)"
        for each in shown
    ]
    return [f"What helps: {', '.join(parts)}." if parts else "No single remedy is shown to help."]


def _round_ns(summary: LoadSummary) -> tuple[float, bool]:
    """What a round takes undisturbed, and whether that is not what was asked for."""
    alone_ns, sized_ns = summary.alone_ns, summary.round_ns
    if alone_ns is None or abs(alone_ns - sized_ns) < _OTHER_ROUND * sized_ns:
        return sized_ns, False
    return float(f"{alone_ns:.3g}"), True


def resized(summary: LoadSummary) -> list[str]:
    """What the deadline is where rounds are not as long as asked."""
    round_ns, other = _round_ns(summary)
    if not other:
        return []
    return [
        f"Rounds were sized for {milliseconds(summary.round_ns)} ms but took"
        f" {milliseconds(round_ns)} ms undisturbed, so this deadline is"
        f" {summary.deadline_ns / round_ns:.2g} rounds long."
    ]


def form_of(summary: LoadSummary) -> str:
    """What the real-time thread does, for every figure."""
    every = f" every {milliseconds(summary.period_ns)} ms" if summary.period_ns else " back to back"
    spec = summary.spec
    policy = f"SCHED_FIFO {spec['priority']}" if spec["policy"] == "fifo" else "SCHED_OTHER"
    return (
        f"rounds of {milliseconds(_round_ns(summary)[0])} ms{every},"
        f" deadline {milliseconds(summary.deadline_ns)} ms, {policy}"
    )


def labels(summary: LoadSummary) -> tuple[str, ...]:
    """Marks of every figure."""
    found = []
    if summary.kind == "simulated":
        found.append("SIMULATED: a made-up machine")
    elif summary.kind != "hardware":
        found.append(f"{summary.kind}: no figure is a real one")
    if summary.spec["policy"] != "fifo":
        found.append("not real-time: SCHED_OTHER")
    return (*found, *beside_label(summary.spec.get("beside")))


def milliseconds(ns: float) -> str:
    return f"{ns / 1e6:.6g}"


def ranged(estimate: Estimate | None, digits: int = 2, *, scale: float = 1.0) -> str:
    """A value and its interval: ``0.95 [0.90, 1.00]``; "-" of nothing."""
    if estimate is None:
        return "-"
    text = signless(estimate.value * scale, digits)
    if estimate.low is None or estimate.high is None:
        return text
    low, high = (signless(end * scale, digits) for end in (estimate.low, estimate.high))
    return f"{text} [{low}, {high}]"


def signless(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def difference(effect: Effect) -> str:
    """How the miss ratio changes; where neither side misses a bound on occasions per second."""
    if effect.occasions_high is None:
        return interval_text(effect.misses)
    return f"< {effect.occasions_high:.2f} occasions"


def asked(name: str, value: object) -> str:
    """A value of the specification."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if length := re.fullmatch(r"(\d+)ns", text):
        return f"{milliseconds(int(length[1]))} ms"
    return f"{text} s" if name == "seconds" else text


def headline(summary: LoadSummary) -> str:
    """The answer in a sentence or two."""
    plain = [cell for cell in summary.cells if cell.condition == PLAIN and cell.runs]
    if not plain:
        return "No run without a remedy counts yet."
    failing = [cell.normal for cell in plain if cell.failures]
    most = max(plain, key=lambda cell: cell.normal)
    if not failing:
        bound = max(c.failures_per_s.high or 0.0 for c in plain if c.failures_per_s)
        return (
            f"No deadline was missed with up to {most.normal} ordinary threads; with 95 %"
            f" confidence each number of them has fewer than {bound:.2f} occasions of failure per"
            " second (failures in a row are one occasion)."
        )
    first = min(failing)
    begins = f"from {first} ordinary threads on" if first else "even without ordinary threads"
    text = (
        f"Deadlines are missed {begins}; with {most.normal} of them"
        f" {ranged(most.failures_per_s)} failures per second."
    )
    after = summary.cell(most.normal, ALL)
    if after is not None and after.runs:
        text += f" With all remedies possible here: {ranged(after.failures_per_s)}."
    return text


def together(summary: LoadSummary) -> list[str]:
    """What several real-time threads do, with the most ordinary ones."""
    found = (cell for cell in summary.cells if cell.failures_each and cell.normal == summary.most)
    return [
        f"{len(cell.failures_each)} real-time threads with {cell.normal} ordinary ones: failures"
        " per second of each"
        f" {', '.join('never ran' if x is None else f'{x:.2f}' for x in cell.failures_each)};"
        f" work lost {ranged(cell.work_lost, 1, scale=100)} %."
        for cell in found
    ]


def threshold(summary: LoadSummary) -> str:
    """What a failure is."""
    limit = f"A failure is a round over {milliseconds(summary.deadline_ns)} ms"
    if summary.spec.get("additions") == PAPER_ADDITIONS and summary.deadline_ns == PAPER_LIMIT_NS:
        alone = milliseconds(_round_ns(summary)[0])
        paper = "rounds of 900 million additions that take over 2 s"
        return f"{limit}, as in the paper ({paper}); here one takes {alone} ms alone."
    return " ".join([f"{limit}.", *resized(summary)])


def without_causes(summary: LoadSummary) -> str:
    """What is said where no cause is: only what was measured can have taken nothing."""
    plain = [cell for cell in summary.cells if cell.condition == PLAIN]
    known = [cell.normal for cell in plain if cell.runs and cell.lost is not None]
    if not any(cell.runs for cell in plain):
        return "Not known: no run without a remedy counts."
    if not known:
        return "Not known: what a round takes alone was not measured."
    text = f"Nothing took a noticeable share of its time with {max(known)} ordinary threads."
    most = max(cell.normal for cell in plain)
    return text if most in known else f"{text} With {most} it is not known: no run counts."
