"""Locks of a program that runs: the library that is preloaded into it, and what that wrote.

runtime/observe/shim.c says which files it writes. Whatever it cannot see is said in ``not_seen``:
a program without visible locks is never one without locks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.build.native import native_root, one_file_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.derive.records import RECORD, Kind, Recording, Thread
from deadbeat.model.errors import BuildError
from deadbeat.targets.base import Target

_CHUNK = 1 << 16
_HEAD = np.dtype([("magic", "S8"), ("count", "<u8"), ("lost", "<u8"), ("spare", "<u8", 2)])
_PROCESS = np.dtype(
    [
        *(("magic", "S8"), ("chunks", "<u8"), ("lost", "<u8"), ("pid", "<u4"), ("sleeps", "<u4")),
        ("call", "<i4", 6),
    ]
)
_CALLS = ("clock_nanosleep", "read", "epoll_pwait", "ppoll", "sched_yield", "futex")
_LOCKS = (Kind.INIT, Kind.WANT, Kind.GOT, Kind.TAKE, Kind.POST, Kind.COND_WAIT, Kind.BARRIER)
#: Bits of an address in a program: callers in the n-th process have n above them.
_ADDRESS_BITS = 48
_SANITIZER = re.compile(r"lib(?:clang_rt\.)?(?:hwa|a|t|m|l|ub)san\b|\b__(?:hwa|a|t|m)san_init\b")
_ELSEWHERE = re.compile(r"^/usr/(include|lib/gcc)/|/c\+\+/|/bits/")
_WHICH = 'for word; do case $(command -v -- "$word") in /*) command -v -- "$word";; esac; done'
_TOOL_S = 60.0


class Shim:
    """Is preloaded into ``command`` where that can take it: start it with ``environment``.

    Args:
        target: Machine of the program. ``preloaded``: LD_PRELOAD of the program, which stays.
        sleeps: Record sleeps and CPU times too, as there are no events of the kernel.

    Attributes:
        environment: What the program gets; {}: the shim stays out.
        not_seen: Why it sees less than all, a line each.
    """

    def __init__(
        self, target: Target, command: Sequence[str], *, preloaded: str = "", sleeps: bool = False
    ) -> None:
        self._target = target
        self._folder = f"{target.folder}/shim"
        self.environment: dict[str, str] = {}
        self.not_seen: list[str] = []
        source = native_root() / "runtime/observe/shim.c"
        try:
            library = one_file_program(Toolchain.find(static=False), source, preloaded=True)
        except BuildError as error:
            self.not_seen.append(f"locks are not visible: {error.message.splitlines()[0]}")
            return
        # whoever the program runs as writes into it
        script = 'mkdir -m 1777 -- "$1" && chmod a+x -- "$1/.."'
        target.run(("sh", "-c", script, "sh", self._folder))
        place = f"{self._folder}.so"
        target.put(library, place)
        paths = target.run(("sh", "-c", _WHICH, "sh", *command)).stdout.splitlines()
        own, *dumps = _dumps(target, [place, *dict.fromkeys(paths)]).items()
        self.not_seen += [
            f"locks of {Path(path).name} are not visible: {reason}"
            for path, dump in dumps
            if (reason := _hidden(dump, own[1]))
        ]
        if _SANITIZER.search(preloaded) or any(_SANITIZER.search(dump) for _, dump in dumps):
            self.not_seen = ["locks are not visible: the shim stays out beside a sanitizer"]
            return
        self.environment = {
            "LD_PRELOAD": f"{place}:{preloaded}".rstrip(":"),
            "DEADBEAT_SHIM": self._folder,
            "DEADBEAT_SHIM_SLEEPS": str(int(sleeps)),
        }

    def finish(self, recording: Recording) -> Recording:
        """``recording`` with what the shim wrote; its files are removed."""
        if not self.environment:
            return evolve(recording, not_seen=(*recording.not_seen, *self.not_seen))
        seen = read_folder(Path(self._folder), self._target)
        self.close()
        events = np.concatenate([recording.events, seen.events])
        silent = _silent(recording.threads, seen) if not self.not_seen else ()
        return evolve(
            recording,
            events=events[np.argsort(events["ns"], kind="stable")],
            calls=recording.calls or seen.calls,
            symbols={**seen.symbols, **recording.symbols},
            lost=recording.lost + seen.lost,
            not_seen=(*recording.not_seen, *self.not_seen, *silent),
        )

    def close(self) -> None:
        """Remove its files. Safe to call again."""
        self._target.run(("rm", "-rf", "--", self._folder, f"{self._folder}.so"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@frozen(kw_only=True, eq=False)
class Seen:
    """What the shim wrote: ``events`` in order of time; ``pids`` that it was loaded into."""

    events: NDArray[np.void]
    pids: frozenset[int]
    calls: dict[int, str]
    symbols: dict[int, str]
    lost: int


def read_folder(folder: Path, target: Target) -> Seen:
    """What is in ``folder``; callers are looked up with addr2line of ``target``, where it is."""
    parts, calls, symbols = [np.empty(0, RECORD)], {}, {}
    lost, pids = 0, set()
    images = sorted(folder.glob("p-*"), key=lambda path: int(path.name.rsplit("-", 1)[1]))
    for place, image in enumerate(images):
        process = np.fromfile(image, _PROCESS, 1)
        if not len(process) or process["magic"][0] != b"DBSHIM1":
            continue
        lost += int(process["lost"][0])
        pids.add(int(process["pid"][0]))
        calls = dict(zip(process["call"][0].tolist(), _CALLS, strict=True))
        name = image.name[2:]
        events = [np.empty(0, RECORD)]
        for path in sorted(folder.glob(f"t-{name}-*")):
            for chunk in np.memmap(path, np.uint8, "r").reshape(-1, _CHUNK):
                head = chunk[: _HEAD.itemsize].view(_HEAD)[0]
                end = _HEAD.itemsize + int(head["count"]) * RECORD.itemsize
                events.append(chunk[_HEAD.itemsize : end].view(RECORD))
                lost += int(head["lost"])
        mine = np.concatenate(events)
        maps = "".join(
            path.read_text() for path in sorted(folder.glob(f"m-{name}-*"), reverse=True)
        )
        of_shim = mine["kind"] >= Kind.INIT
        where = _where(np.unique(mine["b"][of_shim]), np.unique(mine["a"][of_shim]), maps, target)
        shift = (place << _ADDRESS_BITS) if place < 1 << 15 else 0
        mine["b"][of_shim] += shift
        symbols.update({at + shift: text for at, text in where[0].items()})
        symbols = {**where[1], **symbols}
        parts.append(mine)
    together = np.concatenate(parts)
    return Seen(
        events=together[np.argsort(together["ns"], kind="stable")],
        pids=frozenset(pids),
        calls=calls,
        symbols=symbols,
        lost=lost,
    )


def _silent(threads: Iterable[Thread], seen: Seen) -> list[str]:
    """Processes without the shim, and programs that took no lock that it knows."""
    unseen = {each.pid: each.name for each in threads if each.pid not in seen.pids}
    lines = [
        f"locks of {name} are not visible: it is static, runs with other rights (set-user-id),"
        " ended at once or has another C library"
        for name in dict.fromkeys(unseen.values())
    ]
    if seen.pids and not np.isin(seen.events["kind"], _LOCKS).any():
        lines.append("locks are not visible: the program takes none by pthread or C11")
    return lines


def _dumps(target: Target, paths: Sequence[str]) -> dict[str, str]:
    """Path -> what readelf says of it; "": nothing, as it is no program or there is no readelf."""
    found = dict.fromkeys(paths, "")
    words = ("readelf", "-hldW", "--dyn-syms", *paths, paths[0])
    text = target.run(("sh", "-c", '"$@" 2>/dev/null', "sh", *words), timeout=_TOOL_S).stdout
    for part in text.split("\nFile: ")[1:]:
        path, _, found_text = part.partition("\n")
        found[path.strip()] = found_text
    return found


def _hidden(dump: str, own: str) -> str:
    """Why the program with this dump cannot take the shim; "": it can, or is no program."""
    lines = {
        key: re.search(rf"^ *{key}: *(.*)$", text, re.MULTILINE)
        for key in ("Class", "Machine")
        for text in (dump,)
    }
    if not dump or lines["Class"] is None:
        return ""
    if any(match and match[1] not in own for match in lines.values()):
        return "it is a program of another machine or width"
    loader = re.search(r"program interpreter: (.*)\]", dump)
    if loader is None:
        return "it is static"
    return "" if "/ld-linux" in loader[1] else f"its C library is another ({loader[1]})"


def _where(
    callers: NDArray[np.int64], objects: NDArray[np.int64], maps: str, target: Target
) -> tuple[dict[int, str], dict[int, str]]:
    """Addresses of ``callers`` and of ``objects`` -> where they are, as far as ``maps`` know."""
    ranges, bases = [], {}
    last = ""
    for line in maps.splitlines():
        words = line.split(None, 5)
        begin, end = (int(each, 16) for each in words[0].split("-"))
        path = words[5] if len(words) > 5 else last  # what has no name goes on after its module
        if path.startswith("/"):
            ranges.append((begin, end, path))
            bases[path] = min(begin, bases.get(path, begin))
        last = path
    paths: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for kind, addresses in enumerate((callers, objects)):
        for address in addresses.tolist():
            path = next((path for begin, end, path in ranges if begin <= address < end), "")
            if path:
                paths[path][kind].append(address)
    code: dict[int, str] = {}
    data: dict[int, str] = {}
    dumps = _dumps(target, list(paths)) if paths else {}
    for path, (calls, locks) in paths.items():
        bias = 0 if re.search(r"^ *Type: *EXEC", dumps[path], re.MULTILINE) else bases[path]
        code.update(_lines(path, calls, bias, target))
        data.update(_variables(path, locks, bias, target))
    return code, data


def _tool(target: Target, *words: str) -> str:
    return target.run(("sh", "-c", '"$@" 2>/dev/null', "sh", *words), timeout=_TOOL_S).stdout


def _lines(path: str, callers: Sequence[int], bias: int, target: Target) -> dict[int, str]:
    """Return addresses -> ``function (file.c:212)``, or as much of it as is known."""
    module = Path(path).name
    found = {at: f"{module}+{at - bias:#x}" for at in callers}
    words = [f"{at - bias - 1:#x}" for at in callers]  # of the call, not of what comes after it
    text = _tool(target, "addr2line", "-afiC", "-e", path, *words) if words else ""
    for at, part in zip(callers, re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:], strict=False):
        lines = part.splitlines()
        frames = list(zip(lines[::2], lines[1::2], strict=False))
        own = [frame for frame in frames if not _ELSEWHERE.search(frame[1])] or frames
        if own and own[0][0] != "??":
            place = own[0][1].split(" (")[0].rpartition("/")[2]
            function = own[0][0].split("(")[0]
            found[at] = f"{function} ({found[at] if '?' in place else place})"
    return found


def _variables(path: str, objects: Sequence[int], bias: int, target: Target) -> dict[int, str]:
    """Addresses of objects -> the variables that they are in."""
    found: dict[int, str] = {}
    for line in _tool(target, "nm", "-SC", path).splitlines() if objects else ():
        words = line.split(None, 3)
        if len(words) == 4 and words[2] in "bBdD":
            begin, size = int(words[0], 16) + bias, int(words[1], 16)
            inside = [at for at in objects if begin <= at < begin + size]
            found |= {at: words[3] + (f"+{at - begin}" if at > begin else "") for at in inside}
    return found
