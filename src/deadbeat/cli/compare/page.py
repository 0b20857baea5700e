"""A comparison as a document: one self-contained page, and its figures on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from attrs import evolve

from deadbeat.base.model.comparison import (
    CellComparison,
    Comparison,
    ComparisonResult,
    MetricComparison,
)
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.platform import difference_row
from deadbeat.base.model.words import loud
from deadbeat.base.report.charts import Chart
from deadbeat.base.report.document import (
    UNKNOWN,
    Document,
    FactList,
    Figures,
    Findings,
    Lines,
    Note,
    Part,
    Section,
    Sentence,
    Subsection,
    Table,
    flatten,
    said,
    texts_table,
)
from deadbeat.base.report.html import terms, write_page
from deadbeat.base.report.paper import FORMATS, Words, write_charts
from deadbeat.base.verdicts.words import (
    bound_text,
    cell_text,
    count_text,
    interval_text,
    p_text,
    value_text,
    verdict_line,
    verdict_text,
    words_list,
)
from deadbeat.cli.compare.charts import comparison_charts
from deadbeat.latencies.load.document import remedies_beside

COMPARE_FILE = "compare.html"
#: Deadline factors with overlaid distributions on paper; the page has all, and says so.
_LEVELS = 2
_NOISE = "smallest effect that could be seen: column “could have shown” of the verdict"
#: Most results in figures of several over each other: more are not told apart.
OVERLAID = 12
#: Figures of the subjects over each other; see `Comparable.overlays`.
Overlays = Callable[[int | None], list[Chart]]

#: Most cells of a list of those that differ.
_CELLS_SHOWN = 10
_METRICS = (
    said("metric", lambda each: each.metric, format=lambda metric: metric.title,
         terminal=lambda metric: metric.words),
    said("verdict", verdict_text, words=True),
    said("effect [95 %]", interval_text),
    said("p (Holm)", lambda each: p_text(each.p if each.p_holm is None else each.p_holm)),
    said("minimum effect", lambda each: bound_text(each.metric, each.minimum), terminal=False),
    said("A/A gate", lambda each: bound_text(each.metric, each.gate)),
    said("could have shown", lambda each: bound_text(each.metric, each.smallest_effect)),
    said("cells", count_text, words=True),
)  # fmt: skip
_COLUMNS = (
    "p (Holm): corrected over the metrics; A/A gate: how far results differ here with no change;"
    " could have shown: the smallest effect that is found with 80 %"
)


def _value(cell: CellComparison, value: float | None) -> str | None:
    return None if value is None else value_text(cell.metric, value)


_CELLS = (
    said(
        "cell", lambda c: cell_text(c) + f", D/C = {c.deadline_factor:g}" * bool(c.deadline_factor)
    ),
    said("metric", lambda cell: cell.metric.title, words=True),
    said("verdict", lambda cell: cell.verdict, words=True),
    said("effect [95 %]", interval_text),
    said("p (Holm)", lambda cell: p_text(cell.p_holm)),
    said("baseline, mean", lambda cell: _value(cell, cell.baseline), terminal=False),
    said("other, mean", lambda cell: _value(cell, cell.other), terminal=False),
    said("pairs", lambda cell: cell.pairs),
)


def write_comparison(
    result: ComparisonResult,
    out_dir: Path,
    *,
    formats: Sequence[str] = FORMATS,
    overlays: Overlays = lambda levels: [],
) -> tuple[Path, Document]:
    """Writes the figures and ``compare.html`` into ``out_dir``; returns the page's path and what
    it says. ``formats``: of the figures on paper; none: only the page. Raises DeadbeatError: the
    folder or a file cannot be written."""
    drawn: list[Chart] = []
    if formats:
        drawn = [*comparison_charts(result), *overlays(_LEVELS)]
        kernels = " / ".join(str(campaign.get("kernel") or "?") for campaign in result.campaigns)
        words = Words(
            labels=", ".join(loud(result.labels)), caption=f"{title(result)} · kernels {kernels}."
        )
        write_charts(Path(out_dir) / "figures", drawn, words, formats)
    document = comparison_document(result, overlays=overlays, papers=len(drawn))
    return write_page(Path(out_dir) / COMPARE_FILE, document), document


def comparison_document(
    result: ComparisonResult, *, overlays: Overlays = lambda levels: [], papers: int = 0
) -> Document:
    """The comparison for people. ``papers``: how many figures the folder ``figures`` has."""
    over = overlays(None)
    # The distributions, then the effects.
    lead = [each for each in over if each.family and each.family == over[0].family] or over[:1]
    charts = [*lead, *comparison_charts(result), *(each for each in over if each not in lead)]
    left_out = (
        f"The folder figures/ has {papers} of these {len(charts)} figures: distributions over task"
        " sets at the shortest and the longest deadline factor alone."
    ) * (0 < papers < len(charts))
    if (several := len(result.campaigns)) > OVERLAID:
        few = f"Results over each other are the baseline and the last {OVERLAID - 1} of {several}."
        left_out = f"{few} {left_out}".rstrip()
    words = terms(*filter(None, [result.look.terms]))
    parameters = [(key, value or "none") for key, value in flatten(result.parameters)]
    # The largest differences, all cells are in the figures; and remedies beside each other.
    found = _each(result, lambda *each: [*_differing(*each), *_apart(*each)])
    if result.remedies:
        names = [str(campaign.get("name", "?")) for campaign in result.campaigns]
        found.append(remedies_beside(names, result.remedies))
    first = result.campaigns[0] if result.campaigns else None
    columns = (
        said("side", lambda each: "baseline" if each is first else "compared"),
        said("campaign", itemgetter("name")),
        *(said(key, itemgetter(key)) for key in ("kernel", "preemption", "platform", "runs")),
        said("labels", lambda each: ", ".join(each["labels"]) or "none"),
        said("folder", itemgetter("path")),
    )
    campaigns = Table(name="campaigns-table", columns=columns, rows=result.campaigns)
    return Document(
        title=title(result),
        kind="comparison",
        product="deadbeat compare",
        source="the stored results of what is compared",
        labels=loud(result.labels),
        noise=_NOISE,
        answer=_trend(result) or [f"{verdict_line(each)}." for each in result.comparisons],
        picture=_glance(result),
        below=[
            f"{each.severity}: {each.message}"
            for each in result.findings
            if each.id == "host-state-differs"
        ],
        steps=[(line, "") for line in _needs(result)],
        details="the same command with --all",
        sections=(
            Section("verdict", "Verdict", _verdict(result)),
            Section("findings", "Findings", [Findings(result.findings, result.labels)]),
            Section("figures", "Figures", [Note(left_out), Figures(charts)]),
            Section("cells", "Cells that differ", found),
            Section(
                "campaigns",
                result.look.called,
                [
                    campaigns,
                    Subsection("What differs", _differences(result)),
                    Subsection("Parameters", [FactList(parameters)]),
                ],
            ),
            Section("reading", "How to read this", [FactList(words, terms=True)]),
        ),
    )


def _trend(result: ComparisonResult) -> list[str]:
    """Where the results in the order of time changed for good; []: they are too few to say."""
    if result.trend is None:
        return []
    return [
        f"{each.metric[:1].upper()}{each.metric[1:]} of {each.cell}"
        f" {'drifts' if each.drifts else 'changed'} between {each.last} and {each.first}"
        f"{' (commit {} to {})'.format(*each.commits) * all(each.commits)}:"
        f" {each.before:.4g} to {each.after:.4g} {each.unit} (p {each.p:.1g})."
        for each in result.trend
    ] or [f"Over the {len(result.campaigns)} results in order of time no change is shown."]


def _side(name: str, metric: MetricComparison) -> str:
    value = getattr(metric.cells[0], name)
    return UNKNOWN if value is None else value_text(metric.metric, value)


_SINGLE = (
    said("baseline, mean", lambda row: _side("baseline", row[1])),
    said("this, mean", lambda row: _side("other", row[1])),
)


def _glance(result: ComparisonResult) -> Table:
    """What the first screen has of every metric; of several results those with a vote."""
    several = len(result.comparisons) > 1
    rows = [
        (each.other, metric)
        for each in result.comparisons
        for metric in each.metrics
        if metric.vote or not several
    ]
    single = all(len(metric.cells) == 1 for _, metric in rows)
    columns = (
        *([said("result", itemgetter(0), words=True)] if several else []),
        said("metric", lambda row: row[1].metric.words, words=True),
        *(_SINGLE if single else ()),
        said("verdict", lambda row: verdict_text(row[1]), words=True),
        said("effect [95 %]", lambda row: interval_text(row[1])),
        said("minimum", lambda row: bound_text(row[1].metric, row[1].minimum), spare=True),
    )
    means = "baseline, this: means of what each run shows; show pools all runs" * single
    return Table(name="metrics-glance", columns=columns, rows=rows, note=means)


def _needs(result: ComparisonResult) -> list[str]:
    """What would decide what is undecided."""
    several = len(result.comparisons) > 1
    return [
        f"{each.other}: {line}" if several else line
        for each in result.comparisons
        for line in each.needs
    ]


def title(result: ComparisonResult) -> str:
    """``B, C against A``."""
    names = [str(campaign.get("name", "?")) for campaign in result.campaigns]
    return f"{', '.join(names[1:])} against {names[0]}" if names else "nothing"


def _each(result: ComparisonResult, parts: Callable[[int, Comparison], list[Part]]) -> list[Part]:
    """Parts of every comparison, under its name where there are several."""
    found: list[Part] = []
    for number, comparison in enumerate(result.comparisons, 1):
        own = parts(number, comparison)
        heading = f"{comparison.other} against {comparison.baseline}"
        found += [Subsection(heading, own)] if len(result.comparisons) > 1 else own
    return found


def _verdict(result: ComparisonResult) -> list[Part]:
    def metrics(number: int, each: Comparison) -> list[Part]:
        title = f"each cell counted once, {each.other} against {each.baseline}"
        name = f"metrics-{number}"
        table = Table(name=name, columns=_METRICS, rows=each.metrics, title=title, terminal=True)
        return [table]

    needs = _needs(result)
    decide = Subsection("What would decide it", [Lines(needs, terminal=True)])
    # `minimum effect: 10.0 % of p50 and max; 0.10 points of missed periods`.
    found = grouped(
        result.comparisons[0].metrics, lambda each: bound_text(each.metric, each.minimum)
    )
    names = {size: words_list([m.metric.words for m in own]) for size, own in found.items()}
    text = (f"{size} of {own}" if len(found) > 1 else size for size, own in names.items())
    return [
        *_each(result, metrics),
        Sentence(_COLUMNS, page=False, terminal=True),
        Sentence(f"minimum effect: {'; '.join(text)}", page=False, terminal=True),
        *_gates(result),
        *([decide] if needs else []),
        Note(_NOISE),
    ]


def _gates(result: ComparisonResult) -> list[Part]:
    """What the gates rest on; of which, where it is not the same for all."""
    found: dict[str, dict[str, list[str]]] = {}
    for comparison in result.comparisons:
        for metric in comparison.metrics:
            if metric.gate_basis:
                own = found.setdefault(metric.gate_basis, {})
                own.setdefault(comparison.other, []).append(metric.metric.words)
    several = len(result.comparisons) > 1
    lines: list[Part] = []
    for basis, own in found.items():
        of = "; ".join(
            f"{f'{other}: ' if several else ''}{words_list(metrics)}"
            for other, metrics in own.items()
        )
        which = f" ({of})" if len(found) > 1 else ""
        line = f"A/A gate{which}: {basis.removeprefix('A/A: ')}."
        lines.append(Sentence(line, terminal=True))
    return lines


def _differing(number: int, comparison: Comparison) -> list[Part]:
    every = (cell for metric in comparison.metrics for cell in metric.cells)
    found = [cell for cell in every if cell.verdict in ("worse", "better")]
    if not found:
        return [Sentence("No single cell is better or worse.")]
    found.sort(key=lambda cell: -abs(cell.effect or 0.0))
    more = len(found) > _CELLS_SHOWN
    return [
        Table(
            name=f"cells-{number}",
            columns=_CELLS,
            rows=found[:_CELLS_SHOWN],
            title="Cells that differ most" if more else "Cells that differ",
            note=f"{len(found)} cells differ: the figures have them all." if more else "",
            terminal=True,
        )
    ]


def _apart(number: int, comparison: Comparison) -> Iterator[Part]:
    """Every cell of a metric that has its own: prices, which one looks up."""
    columns = [evolve(each, terminal=True) for each in _CELLS if each.key != "metric"]
    for each in comparison.metrics:
        if each.metric.apart:
            name = f"{each.metric.name}-{number}"
            yield Table(
                name=name, columns=columns, rows=each.cells, title=each.metric.title, terminal=True
            )


def _differences(result: ComparisonResult) -> list[Part]:
    """Lines ``what: A's value | B's value`` as a table for each campaign that differs."""
    if not result.differences:
        nothing = "No recorded property of the machines and kernels differs."
        return [Sentence(nothing, terminal=True)]
    several = len(result.comparisons) > 1
    made: list[Part] = []
    for number, comparison in enumerate(result.comparisons, 1):
        prefix = f"{comparison.other}: " if several else ""
        own = [line for line in result.differences if line.startswith(prefix)]
        if own:
            columns = ("what", comparison.baseline, comparison.other)
            rows = [difference_row(line.removeprefix(prefix)) for line in own]
            name = f"differences-{number}"
            made.append(texts_table(name, columns, rows, title="What differs", terminal=True))
    return made
