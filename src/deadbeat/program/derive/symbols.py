"""Where addresses are in a program: functions with file and line, variables, by the tools of the
machine that has its files."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets.base import Target

MAP = re.compile(r"^(\w+)-(\w+) (\S+) (\w+) (\S+ \d+) *(.*)\n", re.MULTILINE)
_ELSEWHERE = re.compile(r"^/usr/(include|lib/gcc)/|^/rustc/|/c\+\+/|/bits/")
#: Within another function one without a name, in words; what is in none; types in angle brackets,
#: arguments; a type that is not behind a name, with its trait.
_PLAIN = (
    (re.compile(r"\(anonymous namespace\)::| const$"), ""),
    (re.compile(r"^.*?([\w:~]+)(\([^()]*\))?::\{(lambda)\([^{}]*\)#(\d+)\}.*"), r"\1::\3\4"),
    (re.compile(r"::\{+(closure)#?(\d*)\}+.*"), r"::\1\2"),
    (re.compile(r"(?<=[\w:])<[^<>]*>|\([^()]*\)"), ""),
    (re.compile(r"^<([^<>]*?)(?: as [^<>]*)?>"), r"\1"),
)
_TOOL_S = 60.0


def tool(target: Target, *words: str) -> str:
    """What a tool prints of whatever it can read; "": there is no such tool."""
    try:
        return target.run(("sh", "-c", '"$@" 2>/dev/null', "sh", *words), timeout=_TOOL_S).stdout
    except TargetError:  # too slow
        return ""


def headers_of(target: Target, paths: Sequence[str]) -> dict[str, str]:
    """Path -> what readelf says of it; "": nothing, as it is no program or there is no readelf."""
    parts = tool(target, "readelf", "-hlW", *paths, paths[0]).split("\nFile: ")[1:]
    return dict.fromkeys(paths, "") | dict(part.split("\n", 1) for part in parts)


def where(
    callers: Collection[int],
    objects: Collection[int],
    maps: str,
    target: Target,
    *,
    outer: bool = False,
) -> tuple[dict[int, str], dict[int, str]]:
    """Addresses of ``callers`` and of ``objects`` -> where they are, as far as ``maps`` know;
    ``outer``: by the function that others were made part of."""
    ranges = {0: (0, "")}
    bases: dict[str, int] = {}
    last = ""
    for first, until, *_, path in MAP.findall(maps):
        begin, end = int(first, 16), int(until, 16)
        last = path or last  # what has no name goes on after its module
        ranges.setdefault(begin, (end, last))
        bases[last] = min(begin, bases.get(last, begin))
    begins = sorted(ranges)
    found: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for kind, addresses in enumerate((callers, objects)):
        for at in sorted(addresses):
            end, path = ranges[begins[bisect_right(begins, at) - 1]]
            if at < end and path.startswith("/"):
                found[path][kind].append(at)
    code: dict[int, str] = {}
    data: dict[int, str] = {}
    headers = headers_of(target, list(found)) if found else {}
    for path, (calls, locks) in found.items():
        bias = 0 if re.search(r"^ *Type: *EXEC", headers[path], re.M) else bases[path]
        # Return addresses -> ``function (file.c:212)``, or as much of it as is known.
        module = Path(path).name
        lines_found = {at: f"{module}+{at - bias:#x}" for at in calls}
        words = [f"{at - bias - 1:#x}" for at in calls]  # of the call, not of what comes after it
        text = tool(target, "addr2line", "-afiC", "-e", path, *words) if words else ""
        functions: list[tuple[int, int]] = []
        for at, part in zip(calls, re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:], strict=False):
            lines = part.splitlines()
            frames = list(zip(lines[::2], lines[1::2], strict=False))
            own = [frame for frame in frames if not _ELSEWHERE.search(frame[1])] or frames
            if not own or own[0][0] == "??":
                continue
            function, place = own[-1 if outer else 0]
            if "?" in place:  # by the function before it, which may have ended
                functions = functions or _functions(path, target)
                begin, size = functions[bisect_right(functions, (at - bias, 0)) - 1]
                if not begin < at - bias <= begin + size:
                    continue
            function = _plain(function)
            place = place.split(" (")[0].rpartition("/")[2]
            lines_found[at] = f"{function} ({lines_found[at] if '?' in place else place})"
        code |= lines_found
        data |= _variables(path, locks, bias, target)
    return code, data


def _plain(function: str) -> str:
    """A function as its author names it, without types and arguments."""
    before = ""
    while before != function:
        before = function
        for pattern, word in _PLAIN:
            function = pattern.sub(word, function)
    return function.rpartition(" ")[2]


def _functions(path: str, target: Target) -> list[tuple[int, int]]:
    """Where each function begins, in order, and its size."""
    text = tool(target, "nm", "-S", path) + tool(target, "nm", "-DS", path)
    every = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwWiu] ", text, re.M)
    return sorted([(0, 0), *((int(begin, 16), int(size, 16)) for begin, size in every)])


def _variables(path: str, objects: Sequence[int], bias: int, target: Target) -> dict[int, str]:
    """Addresses of ``objects``, in order -> the variables that they are in; several of one name by
    the file that each is in."""
    found: dict[int, tuple[str, str]] = {}
    file = ""
    for line in tool(target, "nm", "-apSC", path).splitlines() if objects else ():
        words = line.split(None, 3)
        if len(words) == 3 and words[1] == "a":  # before what is known in this file alone
            file = words[2]
        elif len(words) == 4 and words[2] in "bBdD":
            begin, size = int(words[0], 16) + bias, int(words[1], 16)
            for at in objects[bisect_left(objects, begin) : bisect_left(objects, begin + size)]:
                name = words[3].replace("(anonymous namespace)::", "")
                of = name + (f"+{at - begin}" if at > begin else "")
                found[at] = of, f" ({file})" * (words[2] in "bd")
    several = Counter(of for of, _ in found.values())
    return {at: of + file * (several[of] > 1) for at, (of, file) in found.items()}
