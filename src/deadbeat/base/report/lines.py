"""Text in lines: broken between words on a terminal, never within a figure; tables.

Imports nothing heavy: an error is printed with it.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO
from unicodedata import category, east_asian_width

import click

from deadbeat.base.model.plain import PLAIN, is_plain

#: Least width of a column of words before another column is left out.
_WORDS = 20
#: Where there is no room at all, a column of words becomes as narrow as that.
_LEAST = 8
#: Space between two columns.
_GAP = 2


def width_of(stream: TextIO) -> int | None:
    """Columns of the terminal that ``stream`` is; None: it is none."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def echo(text: str, indent: str = "", *, err: bool = False) -> None:
    """A line, on a terminal broken between words."""
    width = width_of(sys.stderr if err else sys.stdout)
    click.echo("\n".join(broken(clean(text), width, indent)), err=err)


#: Spaces within a figure: 10 ms, 132 of 132, [0.5, 1.8], M = 1, 1.5 to 2.
_FIGURES = (
    re.compile(r"(?<=\d) (?=(?:%|times|[nuµm]?s|min|h|MB|kB|[KMG]iB|points)(?![A-Za-z]))"),
    re.compile(r"(?<=\d) (?=(?:of|to) [\d-])|(?<=\d of) (?=\d)|(?<=\d to) (?=[\d-])"),
    re.compile(r"(?<=\S) (?=[=≤≥<>±] )|(?<= [=≤≥<>±]) (?=\S)"),
    re.compile(r"(?<=\d,) (?=[+-]?[\d.,]+(?: \S+)?\])"),
)
#: A space that does not break; and where a long word may: a list, in a cell a path or name, too.
_FIRM, _MAY = "\N{NO-BREAK SPACE}", "\v"
_LIST, _NAME = re.compile("(?<=,)"), re.compile("(?<=[,/-])")


def _firm(text: str) -> str:
    """``text`` with spaces that do not break within its figures."""
    for pattern in _FIGURES:
        text = pattern.sub(_FIRM, text)
    return text


def broken(
    text: str, width: int | None, indent: str = "", *, at: re.Pattern[str] = _LIST
) -> list[str]:
    """``text`` in lines of at most ``width``, broken between words but not within a figure.

    Args:
        at: Where a word may break that is longer than a line.
    """
    if width is None:
        return [text]
    if len(text) <= width and text.isprintable():
        return [text.rstrip()]
    lines = []
    for line in _firm(text).split("\n"):
        begin = line[: len(line) - len(line.lstrip(" "))]
        words = [
            at.sub(_MAY, word) if len(word) > width else word
            for word in line[len(begin) :].split(" ")
        ]
        lines += textwrap.wrap(
            begin + " ".join(words), max(width, 1), subsequent_indent=begin + indent,
            replace_whitespace=False, break_long_words=False, break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return [line.replace(_FIRM, " ").replace(_MAY, "").rstrip() for line in lines]


def table_lines(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    width: int | None,
    numeric: Sequence[str] = (),
    spare: Sequence[str] = (),
    whole: bool = True,
) -> list[str]:
    """A table in lines of at most ``width``, in which no figure is folded and nothing is cut.

    Columns for which there is no room are left out: first the ``spare`` ones, which a line names,
    then the last ones, which stand below, behind the columns that tell the rows apart.

    Args:
        width: None: as much as it takes.
        whole: Whether what is left out stands below; else the line names it, too.
        numeric: Columns at the right with texts that are not broken; the others are words.
    """
    heads = [" ".join(clean(column).split()) for column in columns]
    texts = [[clean(cell) for cell in row] for row in rows]
    firm = {n for n, column in enumerate(columns) if column in numeric}
    longest = [
        max(cell_len(line) for cell in each for line in cell.split("\n"))
        for each in zip(*texts, strict=True)
    ]
    longest = longest or [0] * len(heads)
    head = [max(map(cell_len, _firm(each).split(" "))) for each in heads]
    widest = [max(a, cell_len(b)) for a, b in zip(longest, heads, strict=True)]
    narrow = [
        widest[n]
        if width is None
        else max(longest[n] if n else min(longest[n], 2 * _WORDS), head[n])
        if n in firm or n == 0
        else max(head[n], min(longest[n], max(_WORDS, _word(texts, n))))
        for n in range(len(heads))
    ]
    kept = list(range(len(heads)))
    if width is not None:
        leaving = [n for n in reversed(kept) if columns[n] in spare]
        leaving += [n for n in reversed(kept) if columns[n] not in spare and n]
        least = [
            max(_LEAST, head[n], _word(texts, n, "[ \n]|(?<=[,/-])")) for n in range(len(heads))
        ]
        for fewest in (2, 1):
            while len(kept) > fewest and _wide([narrow[n] for n in kept]) > width:
                kept.remove(leaving.pop(0))
            while _wide([narrow[n] for n in kept]) > width and (
                soft := [n for n in kept if n not in firm and narrow[n] > least[n]]
            ):
                narrow[max(soft, key=narrow.__getitem__)] -= 1
    room = None if width is None else width - _GAP * (len(kept) - 1)
    # Widths of columns: what room is left goes to those that lack most.
    least = [narrow[n] for n in kept]
    longest = [widest[n] for n in kept]
    if room is None:
        widths = [*longest]
    else:
        found = list(least)
        for _ in range(room - sum(least)):
            lacking = max(range(len(found)), key=lambda n: longest[n] - found[n])
            if longest[lacking] <= found[lacking]:
                break
            found[lacking] += 1
        widths = found
    lines = [*_row([heads[n] for n in kept], widths, [n in firm for n in kept], foot=True)]
    for row in texts:
        lines += _row([row[n] for n in kept], widths, [n in firm for n in kept])
    left_out = [heads[n] for n in range(len(heads)) if n not in kept]
    below = [n for n in range(len(heads)) if n not in kept and columns[n] not in spare]
    if whole and below and len(kept) > 1:
        left_out = [heads[n] for n in range(len(heads)) if n not in kept and n not in below]
        keys = _names(texts)
        shown = [*(keys if len(keys) < len(kept) else [0]), *below]
        more = [[row[n] for n in shown] for row in texts]
        named = [columns[n] for n in shown]
        lines += ["", *table_lines(named, more, width=width, numeric=numeric)]
    if left_out:
        lines += broken(f"no room here for: {', '.join(left_out)}", width)
    return lines


def _names(texts: Sequence[Sequence[str]]) -> list[int]:
    """The first columns, as many as tell the rows apart; one where no few do."""
    for count in (1, 2, 3):
        if len({tuple(row[:count]) for row in texts}) == len(texts):
            return [*range(count)]
    return [0]


def _word(texts: Sequence[Sequence[str]], column: int, between: str = "[ \n]") -> int:
    """Length of its longest word that one would not break."""
    lengths = (cell_len(word) for row in texts for word in re.split(between, _firm(row[column])))
    return max((length for length in lengths if length <= 2 * _WORDS), default=0)


def _wide(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _row(
    texts: Sequence[str], widths: Sequence[int], right: Sequence[bool], *, foot: bool = False
) -> Iterator[str]:
    """The lines of a row; ``foot``: shorter cells stand at its foot."""
    cells = [broken(text, wide, at=_NAME) for text, wide in zip(texts, widths, strict=True)]
    height = max(map(len, cells))
    for line in range(height):
        found = []
        for cell, wide, numeric in zip(cells, widths, right, strict=True):
            place = line - (height - len(cell) if foot else 0)
            text = cell[place] if 0 <= place < len(cell) else ""
            space = " " * (wide - cell_len(text))
            found.append(space + text if numeric else text + space)
        yield (" " * _GAP).join(found).rstrip()


def clean(text: str) -> str:
    """Without what a terminal would carry out instead of showing it."""
    if text.isascii() and text.isprintable():
        return text
    if not text.isascii() and is_plain():
        text = text.translate(PLAIN)
    return "".join(
        c if c.isprintable() or c == "\n" or category(c) == "Zs" else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def cell_len(text: str) -> int:
    """Columns of a terminal that ``text`` takes."""
    if text.isascii():
        return len(text)
    wide = sum(east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(category(c) in ("Mn", "Me") for c in text)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", **more: Any
) -> None:
    """A table on stdout under its title; further arguments as for `table_lines`."""
    if title:
        echo(title)
    click.echo("\n".join(table_lines(columns, rows, width=width_of(sys.stdout), **more)))
