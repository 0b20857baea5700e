"""Text files that people bring, whatever they went through on the way: packed, encoded, recorded.

In front of every reader of a foreign format. `read_text` gives plain lines; `unindented` and
`json_within` take what was pasted into a report, an issue or a log.
"""

from __future__ import annotations

import bz2
import codecs
import json
import lzma
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import frozen

from deadbeat.base.model.errors import DataError

#: Bytes that a file may have, packed or unpacked: far more than any tool writes, and a bound for
#: devices that never end and for a few bytes that unpack to terabytes.
LIMIT = 128 << 20
#: What xz and zstd may take to unpack, bytes; their own highest levels need 65 and 128 MiB.
_UNPACKING = 256 << 20
#: A file packed more often than this is not unpacked any further.
_LAYERS = 3
#: Bytes that show whether every second or fourth is zero.
_SAMPLE = 4096
#: Columns that a terminal is taken to have at most.
_COLUMNS = 1 << 16
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Encoding -> which bytes of a unit are zero in nearly all text of it.
_ZEROS = {"utf-32-le": "0111", "utf-32-be": "1110", "utf-16-le": "01", "utf-16-be": "10"}


@frozen
class Text:
    """What a file says.

    Attributes:
        name: What the file is called, fit to be shown.
        text: Its lines, each ended by ``\\n`` alone, without mark of order, NUL or terminal code.
        notes: What was assumed to read it, a clause each: ``read as Latin-1``.
    """

    name: str
    text: str
    notes: tuple[str, ...] = ()


def shown(path: Path | str) -> str:
    """The name of a file as it can be printed: bytes that are no UTF-8 and control characters
    replaced."""
    text = os.fsencode(path).decode(errors="replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def read_text(path: Path | str, *, what: str, hint: str, limit: int = LIMIT) -> Text:
    """The text of ``path``, a file, a pipe, or ``-`` for standard input.

    UTF-8, UTF-16 and UTF-32 with and without a mark of order, else Latin-1; packed by gzip, bzip2,
    xz or zstd; every kind of line end; of what a terminal recorded, what was on it at the end.

    Args:
        what: What it should be, for messages: ``task set``.
        hint: What to do where it cannot be read.
        limit: Bytes it may have, packed or not.

    Raises:
        DataError: It cannot be read, is damaged, binary, empty, or larger than ``limit``.
    """
    name = "standard input" if str(path) == "-" else shown(path)
    called = f"{what} {name}"
    try:
        if str(path) == "-":
            if sys.stdin is None:
                raise OSError("standard input is closed")
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(path).open("rb") as stream:
                data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {called}: {reason}", hint) from error
    _check_size(data, called, limit)
    return text_of(data, name=name, what=what, hint=hint, limit=limit)


def text_of(data: bytes, *, name: str, what: str, hint: str, limit: int = LIMIT) -> Text:
    """The text of a file's bytes; as `read_text`."""
    notes = []
    for _ in range(_LAYERS):
        packed = next(((form, un) for magic, form, un in _PACKERS if data.startswith(magic)), None)
        if packed is None:
            break
        form, unpack = packed
        try:
            data = unpack(data, limit + 1)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise DataError(f"{what} {name} is damaged {form} data: {error}", hint) from error
        _check_size(data, f"{what} {name}, unpacked,", limit)
        notes.append(f"unpacked by {form}")
    text, encoding = _decoded(data)
    if encoding != "UTF-8":
        notes.append(f"read as {encoding}")
    text = text.replace("\0", "")
    if len(re.findall(r"[^\t\n\r\f\b\a\x1b -\U0010ffff]", text)) > len(text) // 50:
        raise DataError(f"{what} {name} is binary, not text", hint)
    if not text.strip():
        raise DataError(f"{what} {name} is empty", hint)
    return Text(name, _plain(text), tuple(notes))


def _check_size(data: bytes, called: str, limit: int) -> None:
    if len(data) > limit:
        raise DataError(f"{called} is larger than {limit:,} bytes", "is it the right file?")


# -- packed


def _by_stream(start: Callable[[], Any]) -> Callable[[bytes, int], bytes]:
    """Unpacks all parts one after the other, as the program does."""

    def unpack(data: bytes, most: int) -> bytes:
        found = b""
        while data.strip(b"\0") and len(found) < most:
            unpacker = start()
            found += unpacker.decompress(data, most - len(found))
            if not unpacker.eof and len(found) < most:
                raise EOFError("it ends early")
            data = unpacker.unused_data
        return found

    return unpack


def _by_zstd(data: bytes, most: int) -> bytes:
    """By the program, which Python before 3.14 has no equal of."""
    with open(os.memfd_create("zst"), "w+b") as packed:  # noqa: PTH123  a descriptor has no path
        packed.write(data)
        packed.seek(0)
        command = ("zstd", "-dcq", f"--memory={_UNPACKING >> 20}MB")
        try:
            process = subprocess.Popen(
                command, stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except FileNotFoundError:
            raise OSError("the program zstd is not installed: unpack it elsewhere") from None
        with process:
            found = process.stdout.read(most) if process.stdout else b""
            if len(found) == most:
                process.kill()
            elif process.wait():
                said = process.stderr.read().decode(errors="replace") if process.stderr else ""
                raise ValueError(said.strip().splitlines()[-1] if said.strip() else "it ends early")
    return found


#: How packed data begins, what packed it, and what unpacks up to a limit of bytes.
_PACKERS = (
    (b"\x1f\x8b", "gzip", _by_stream(lambda: zlib.decompressobj(31))),
    (b"\xfd7zXZ\0", "xz", _by_stream(lambda: lzma.LZMADecompressor(memlimit=_UNPACKING))),
    (b"BZh", "bzip2", _by_stream(bz2.BZ2Decompressor)),
    (b"\x28\xb5\x2f\xfd", "zstd", _by_zstd),
)


# -- encoded


def _decoded(data: bytes) -> tuple[str, str]:
    """The text and its encoding."""
    encoding = next((each for mark, each in _BOMS if data.startswith(mark)), "")
    if not encoding and b"\0" in data[:_SAMPLE]:
        encoding = next((each for each, zeros in _ZEROS.items() if _has(data, zeros)), "")
    for each in (encoding, "utf-8") if encoding else ("utf-8",):
        with_mark = "utf-8-sig" if each == "utf-8" else each
        try:
            return data.decode(with_mark), each.upper()
        except UnicodeDecodeError as error:
            if each != "utf-8" and error.end >= len(data):  # cut off within a character
                return data[: error.start].decode(with_mark), each.upper()
    return data.decode("latin-1"), "Latin-1"


def _has(data: bytes, zeros: str) -> bool:
    """Whether the bytes of a unit are zero where ``zeros`` has 1, and only there, nearly always."""
    sample = data[: min(_SAMPLE, len(data) // len(zeros) * len(zeros))]
    units = len(sample) // len(zeros)
    counts = [sample[place :: len(zeros)].count(0) for place in range(len(zeros))]
    return units > 0 and all(
        count >= 0.9 * units if zero == "1" else count <= 0.1 * units
        for count, zero in zip(counts, zeros, strict=True)
    )


# -- recorded

_LINE_END = re.compile(r"\r+\n|\r")
#: A code of a terminal: a title, a movement or the like, any other; a control character; text.
_CODE = re.compile(
    r"\x1b\].*?(?:\a|\x1b\\|$)|\x1b(?:\[([\d;?<=>!]*))?[ -/]*([@-~])?"
    r"|([\n\r\b\a])|([^\x1b\n\r\b\a]+)",
    re.M,
)
#: The code that moves the cursor by lines and columns.
_MOVES = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1), "\b": (0, -1)}


def _plain(text: str) -> str:
    if "\x1b" not in text:
        return re.sub(r"[\b\a]", "", _LINE_END.sub("\n", text))
    # What a terminal shows at the end, what scrolled off it, and each screen before it was cleared.
    lines, top, row, column = [""], 0, 0, 0
    for found in _CODE.finditer(text):
        words, code, control, plain = found.groups()
        numbers = [int(word[:6]) for word in re.findall(r"\d+", words or "")]
        first, second = (*numbers, 0, 0)[:2]
        if plain:
            line = lines[row]
            lines[row] = line[:column].ljust(column) + plain + line[column + len(plain) :]
            column += len(plain)
            continue
        if control == "\n":
            lines += [""] * (row + 1 == len(lines))
            row, column = row + 1, 0
        elif control == "\r":
            column = 0
        elif code == "c" if words is None else code == "J" and first >= 2:
            lines += [""] * bool(lines[-1])
            top = row = len(lines) - 1
            column = 0
        elif words is not None and code in ("J", "K"):
            lines[row] = lines[row][:column] if first == 0 else ""
            lines[row + 1 :] = lines[row + 1 :] if code == "K" else []
        elif words is not None and code in ("H", "f"):
            row, column = top + first - 1, second - 1
        elif move := _MOVES.get(control or (words is not None and code) or ""):
            row += move[0] * max(first, 1)
            column += move[1] * max(first, 1)
        row = min(max(row, top), len(lines) - 1)
        column = min(max(column, 0), _COLUMNS)
    return "\n".join(lines) + "\n"


# -- pasted

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_ISO = rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
#: What mail, issues and logs of continuous integration put before a line; and syslog and
#: journalctl: a time of any of their forms, a host, a program with or without its number.
_BEFORE = re.compile(
    rf"^\s*(?:(?:[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}|(?:[A-Z][a-z]{{2}} )?{_ISO}(?: [A-Z]{{3,5}})?"
    r"|\[ *\d+\.\d+\]|\d{9,}\.\d+) [\w.-]+ [^\s:\[]+(?:\[\d+\])?:(?:\s+|$))?"
    rf"(?:\s|>|{_ISO}\s)*"
)


def unindented(text: str) -> str:
    """``text`` without what stands before its lines: blanks, signs of quotation (``>``) and the
    times that a log has; and without blanks at their ends."""
    return "".join(f"{_BEFORE.sub('', line).rstrip()}\n" for line in text.split("\n"))


#: Lines that begin as an object does, and are tried.
_TRIES = 20
_OBJECT = re.compile(r'(?:^|(?<=\}))\{(?=\s*["}])', re.M)
# A text that is not closed goes on to the end of its line: it is not looked for again.
_NO_NUMBER = re.compile(
    r'("(?:[^"\\\n]|\\.)*\\?(?:"|$))|(?<![\w.])[-+]?(?:nan|inf(?:inity)?)\b', re.I | re.M
)


def json_within(text: str) -> tuple[list[Any], str, str]:
    """The JSON objects in ``text``, which may stand among other lines; those lines; and what is
    wrong with the first that begins as one and is none ("": nothing).

    ``nan`` and ``inf``, which C prints and JSON does not know, are NaN.
    """
    plain = _NO_NUMBER.sub(lambda found: found[1] or "NaN", unindented(text))
    found: list[Any] = []
    rest, at, damage, tries = [], 0, "", 0
    while tries < _TRIES and (begin := _OBJECT.search(plain, at)):
        end = begin.end()
        try:
            each, end = json.JSONDecoder().raw_decode(plain, begin.start())
            found.append(each)
            rest.append(plain[at : begin.start()])
        except ValueError as error:
            damage, tries = damage or str(error), tries + 1
            rest.append(plain[at:end])
        except RecursionError:
            damage, tries = damage or "it is nested too deeply", _TRIES
        at = end
    return found, "".join((*rest, plain[at:])), damage
