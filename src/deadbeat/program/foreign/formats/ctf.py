"""CTF of LTTng, or of perf, a folder, which babeltrace2 prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from deadbeat.program.foreign.base import TraceFormat
from deadbeat.program.foreign.fields import FieldReader
from deadbeat.program.foreign.gathered import Gathered
from deadbeat.program.foreign.text import blocks
from deadbeat.program.foreign.tool import read_by

_LINE = re.compile(r"^\[(\d{1,12})\.(\d{9})\] (?:\S+ )?([\w:]+): (\{.*)", re.M | re.A)
_FIELD = re.compile(
    r'(\w+) = (?:"((?:[^"\\]|\\.)*)"|\( [^()]* : container = (-?\w+) \)|(-?\w+))', re.A
)
#: Priorities of LTTng begin at the ordinary ones.
_SHIFT = 100


def _read_lines(stream: IO[bytes]) -> Gathered:
    reader = FieldReader()
    for block in blocks(stream):
        for seconds, part, name, rest in _LINE.findall(block):
            fields: dict[str, int | str] = {}
            for key, text, inner, value in _FIELD.findall(rest):
                word = inner or value
                try:
                    fields.setdefault(key, int(word, 0) if word else text)
                except ValueError:
                    fields[key] = word
            ns, cpu = int(seconds + part), _whole(fields, "cpu_id", "perf_cpu")
            reader.shift = _SHIFT * ("cpu_id" in fields)
            if name.startswith("ros2:"):
                reader.found.user_event(name[5:], ns, cpu, fields)
                continue
            side, _, call = name.partition("_entry_")
            if call and side in ("syscall", "compat_syscall"):
                values = [*(v for v in fields.values() if isinstance(v, int)), 0, 0]
                reader.call(call, ns, cpu, *values[1:3], leaves=False)
            elif name.startswith("syscall_exit_"):
                call = name.removeprefix("syscall_exit_")
                reader.call(call, ns, cpu, _whole(fields, "ret"), leaves=True)
            else:
                flags = fields.get("common_flags")
                reader.event(name, ns, cpu, fields.get, flags if isinstance(flags, int) else None)
        reader.found.flush()
    return reader.found


def _whole(fields: dict[str, int | str], *names: str) -> int:
    found = (fields[name] for name in names if name in fields)
    return next((value for value in found if isinstance(value, int)), 0)


def _read(path: Path) -> Gathered:
    words = ("babeltrace2", "--omit-home-plugin-path", "--no-delta", "--clock-seconds")
    return read_by((*words, str(path.absolute())), "babeltrace2", _read_lines)


def _fits(path: Path, _: bytes) -> bool:
    return path.is_dir() and next(path.rglob("metadata"), None) is not None


FORMAT = TraceFormat(name="CTF", fits=_fits, read=_read)
