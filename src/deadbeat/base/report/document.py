"""What a result says, as one document: terminal, page and files are made from it.

A document has sections, a section has parts: sentences, tables, figures, findings, facts. It knows
neither markup nor a terminal; `report.html` and `report.terminal` render it. A column of a table is
declared once: its key in files, its heading, where its value comes from and how it reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from attrs import field, frozen

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.words import Json
from deadbeat.base.report.charts import Chart
from deadbeat.base.store.files import csv_text

#: Shown for a value that was not measured.
NOTHING = "–"
#: Shown for a fact that a result does not hold.
UNKNOWN = "not recorded"

Format: TypeAlias = Callable[[Any], str]


def as_text(value: object) -> str:
    """A count with separators, any other value as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def machine_facts(
    platform: Mapping[str, Json], *, cores: int = 0, kernel: str = ""
) -> tuple[tuple[str, str], ...]:
    """What stands under the title of every result: machine, kernel and preemption model.

    Args:
        platform: A `deadbeat.base.model.platform.Platform` as plain values.
        cores: How many it ran on; 0: unknown.
        kernel: In place of the platform's.
    """
    host = [
        str(platform[key])
        for key in ("name", "soc", "machine")
        if platform.get(key) not in (None, "", "none")
    ]
    host += [f"{cores} cores"] if cores else []
    return (
        ("Machine", " · ".join(dict.fromkeys(host)) or UNKNOWN),
        ("Kernel", kernel or str(platform.get("kernel") or UNKNOWN)),
        ("Preemption model", str(platform.get("preemption") or UNKNOWN)),
    )


def percent(share: float) -> str:
    """A share as text in percent with two significant digits: 0.0123 -> ``1.2 %``."""
    value = 100 * share
    if value == 0:
        return "0 %"
    decimals = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f} %"


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Leaves of nested plain values as ``a.b.c``, text; a list of scalars is one leaf."""
    if isinstance(value, Mapping):
        for key in value:
            yield from flatten(value[key], f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple) and any(
        isinstance(item, Mapping | list | tuple) for item in value
    ):
        for position, item in enumerate(value):
            yield from flatten(item, f"{path}[{position}]")
    elif isinstance(value, list | tuple):
        yield path, ", ".join(_leaf(item) for item in value)
    elif path:
        yield path, _leaf(value)


def _leaf(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@frozen(kw_only=True)
class Column:
    """A column of a table, for every renderer.

    Attributes:
        key: Its name in CSV and JSON, and of the row's item or attribute unless ``value`` is given.
        heading: On page and terminal; "": in files alone.
        format: The text of a value that is not None.
        unit: Put behind the heading.
        terminal: Whether a terminal has room for it; or its format there.
        raw: Whether files hold it.
        interval: The value has ``value``, ``low`` and ``high``: three columns of a file.
        words: Words rather than figures: left-aligned. ``long``: sentences, which wrap.
        spare: A terminal without room for all columns leaves this one out.
        markup: Elements of a row behind its text on a page; whoever makes them escapes.
    """

    key: str
    heading: str = ""
    value: Callable[[Any], Any] | None = None
    format: Format = as_text
    unit: str = ""
    help: str = ""
    terminal: bool | Format = True
    page: bool = True
    raw: bool = True
    interval: bool = False
    words: bool = False
    long: bool = False
    spare: bool = False
    markup: Format | None = None

    @property
    def title(self) -> str:
        return f"{self.heading} ({self.unit})" if self.unit else self.heading

    def of(self, row: Any) -> Any:
        if self.value is not None:
            return self.value(row)
        return row[self.key] if isinstance(row, Mapping) else getattr(row, self.key)

    def text(self, row: Any, *, terminal: bool = False) -> str:
        value = self.of(row)
        if value is None:
            return NOTHING
        short = terminal and not isinstance(self.terminal, bool)
        return self.terminal(value) if short and callable(self.terminal) else self.format(value)


def said(heading: str, value: Callable[[Any], Any], **more: Any) -> Column:
    """A column for people alone: no file holds it."""
    return Column(key=heading, heading=heading, value=value, raw=False, **more)


def detail(key: str, heading: str, **more: Any) -> Column:
    """A column that a terminal has no room for."""
    return Column(key=key, heading=heading, terminal=False, **more)


@frozen(kw_only=True)
class Table:
    """Rows of one kind under columns.

    Attributes:
        name: Identifier of the element on the page.
        title: Over it in the terminal; read aloud on the page.
        rows: Any values; the columns know how to read them. The first column names the row.
        note: One line below it. ``hint``: how to read it, on the page alone.
        printed: Which rows a terminal shows; None: all.
        order: Keys of the shown columns in order; empty: as declared.
        terminal: Whether it is printed. ``page``: whether the page holds it.
    """

    name: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    title: str = ""
    note: str = ""
    hint: str = ""
    printed: Callable[[Any], object] | None = None
    order: Sequence[str] = ()
    differs: Callable[[Any], object] | None = None
    terminal: bool = False
    page: bool = True
    dense: bool = False

    def shown(self, *, terminal: bool) -> list[Column]:
        by_key = {column.key: column for column in self.columns}
        ordered = [by_key[key] for key in self.order] if self.order else self.columns
        return [c for c in ordered if c.heading and (c.terminal if terminal else c.page)]

    def texts(self, *, terminal: bool = False) -> list[list[str]]:
        columns = self.shown(terminal=terminal)
        rows = [r for r in self.rows if not terminal or self.printed is None or self.printed(r)]
        return [[column.text(row, terminal=terminal) for column in columns] for row in rows]


def texts_table(
    name: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    wrapped: bool = False,
    **more: Any,
) -> Table:
    """A table of rows that are texts already.

    Args:
        wrapped: They are words, which break where there is no room.
    """
    columns = [
        said(heading, itemgetter(place), words=wrapped, long=wrapped and place > 0)
        for place, heading in enumerate(headings)
    ]
    return Table(name=name, columns=columns, rows=rows, **more)


@frozen
class Sentence:
    """A paragraph.

    Attributes:
        answer: It is the answer itself: in large print.
        terminal, page: Where it is shown.
    """

    text: str
    answer: bool = field(default=False, kw_only=True)
    terminal: bool = field(default=False, kw_only=True)
    page: bool = field(default=True, kw_only=True)


@frozen
class Note:
    """How to read something: in small print, on the page alone."""

    text: str


@frozen
class Lines:
    """Several lines of one kind; ``heads`` (empty: none) name them."""

    lines: Sequence[str | Sequence[str]]
    heads: Sequence[str] = field(default=(), kw_only=True)
    terminal: bool = field(default=False, kw_only=True)
    page: bool = field(default=True, kw_only=True)


@frozen
class FactList:
    """Names and values.

    Attributes:
        empty: Said where there is none.
        terms: The values are definitions in sentences. ``grid``: all in sight, beside each other.
    """

    pairs: Sequence[tuple[str, str]]
    empty: str = field(default="Not recorded.", kw_only=True)
    terms: bool = field(default=False, kw_only=True)
    grid: bool = field(default=False, kw_only=True)


@frozen(kw_only=True)
class Remark:
    """Something found, with a word for how grave or certain it is.

    Attributes:
        id: The finding that is explained on the page.
    """

    kind: str
    label: str
    text: str
    detail: str = ""
    cure: str = ""
    id: str = ""


@frozen
class Remarks:
    """Things that were found."""

    remarks: Sequence[Remark]
    empty: str = field(default="", kw_only=True)


@frozen
class Findings:
    """What makes the result doubtful, with its explanations."""

    findings: Sequence[Finding]
    labels: Sequence[str] = ()


@frozen
class Figures:
    """Charts, and what is said where there is none."""

    charts: Sequence[Chart]
    empty: str = ""


@frozen
class Markup:
    """Elements of a page that has scripts of its own. Whoever makes it escapes its texts."""

    html: str


@frozen
class Subsection:
    """Parts under a heading of their own; ``folded``: behind it."""

    title: str
    parts: Sequence[Part]
    folded: bool = field(default=False, kw_only=True)


#: Rows of a table that a page shows without a click.
_LONG = 24


def folded(table: Table, what: str = "All") -> Part:
    """A long table, for a page behind a click."""
    count = len(table.rows)
    return Subsection(f"{what}: {count:,} rows", (table,), folded=True) if count > _LONG else table


@frozen(kw_only=True)
class CellMap:
    """A map of cells for a terminal.

    Attributes:
        title: What a cell says, and what the axes are.
        columns, rows: Headings; ``cells``: a row of texts for each of ``rows``.
        strength: How strong each cell is: 0 (nothing beyond noise) to 4.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Sequence[str]]
    strength: Sequence[Sequence[int]]
    corner: str = ""


Part: TypeAlias = (
    Sentence | Note | Lines | Table | FactList | Remarks | Findings | Figures | Markup | Subsection
)


@frozen
class Section:
    """Parts under a heading; ``link`` (default: the heading) leads there, "" for none."""

    id: str
    title: str
    parts: Sequence[Part]
    link: str | None = None


#: Rows of its picture that a result shows on its first screen.
ROWS = 8


@frozen(kw_only=True)
class Document:
    """A result for people.

    Attributes:
        kind: What made it: ``load``, ``latency``, ``doctor`` ....
        product: Over the name of the result.
        source: What it is made from, for the footer: ``the stored runs of this matrix``.
        labels: Hold for every figure. ``noise``: stands in every caption.
        about: A sentence under the name. ``head``: facts there.
        answer: What a terminal says first: one or two sentences. ``picture``: a small table or map
            beside it, of which ``rows`` are shown; ``below``: what follows it, in lines.
            ``steps``: what to do next: a command, and what for, the best first. ``details``: the
            command that shows the rest; "": deadbeat show.
        data_files: Where the figures' data is beside the page, for who has no JavaScript.
        styles, scripts: Further assets of the page. ``data``: its data by element, encoded.
        draws: The scripts draw, also where there is no chart.
    """

    title: str
    kind: str
    sections: Sequence[Section]
    product: str = ""
    source: str = ""
    labels: Sequence[str] = ()
    noise: str = ""
    about: str = ""
    head: Sequence[tuple[str, str]] = ()
    answer: Sequence[str] = ()
    picture: Table | CellMap | None = None
    rows: int = ROWS
    below: Sequence[str | Table] = ()
    steps: Sequence[tuple[str, str]] = ()
    details: str = ""
    data_files: str = ""
    styles: Sequence[str] = ()
    scripts: Sequence[str] = ()
    data: Mapping[str, str] = field(factory=dict)
    draws: bool = False

    def parts(self) -> Iterator[Part]:
        for section in self.sections:
            yield from inside(section.parts)

    @property
    def findings(self) -> list[Finding]:
        return [
            each for part in self.parts() if isinstance(part, Findings) for each in part.findings
        ]

    @property
    def charts(self) -> list[Chart]:
        return [
            chart for part in self.parts() if isinstance(part, Figures) for chart in part.charts
        ]

    @property
    def lead(self) -> list[Chart]:
        """The first figure, with those behind the same choice: a page has it beside the answer."""
        charts = self.charts
        family = charts[0].family if charts else ""
        return [chart for chart in charts if family and chart.family == family] or charts[:1]


def inside(parts: Sequence[Part]) -> Iterator[Part]:
    """Parts in order, those of groups after the group."""
    for part in parts:
        yield part
        if isinstance(part, Subsection):
            yield from inside(part.parts)


_ENDS = {"": "value", "_low": "low", "_high": "high"}


def keys_of(columns: Iterable[Column]) -> list[str]:
    """Names of the columns of a file; an interval has three."""
    return [key for column in columns if column.raw for key in _keys(column)]


def records(columns: Sequence[Column], rows: Iterable[Any]) -> Iterator[dict[str, Json]]:
    """Each row as plain values by key; what is not known is None."""
    for row in rows:
        found: dict[str, Json] = {}
        for column in columns:
            if column.raw:
                value = column.of(row)
                if not column.interval:
                    values = [value]
                else:
                    values = [getattr(value, name, None) for name in _ENDS.values()]
                found.update(zip(_keys(column), values, strict=True))
        yield found


def csv_of(columns: Sequence[Column], rows: Iterable[Any]) -> str:
    return csv_text(tuple(keys_of(columns)), records(columns, rows))


def _keys(column: Column) -> list[str]:
    return [column.key + end for end in _ENDS] if column.interval else [column.key]
