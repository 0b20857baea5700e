"""Locks of a program that runs: the library that is preloaded into it, and what that wrote.

runtime/observe/shim.c says which files it writes, and drain.c empties them. Whatever it cannot see
is said in ``not_seen``: a program without visible locks is never one without locks.
"""

from __future__ import annotations

import os
import re
import stat
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.base.model.errors import BuildError, TargetError
from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.host.proc import STATUS, colon_fields
from deadbeat.machine.targets.base import ClosedAfterwards, Target, is_here
from deadbeat.machine.targets.keeper import REMOVE, keeping
from deadbeat.program.derive.records import RECORD, SHARED, Recording, RecordKind
from deadbeat.program.derive.symbols import MAP, headers_of, tool, where

_HEADER, _CHUNK, _CHUNKS_MOST = 1 << 14, 1 << 12, 16256
_PIECE = np.dtype(
    [
        *(("process_ns", "<u8"), ("thread_ns", "<u8"), ("pid", "<u4"), ("tid", "<u4")),
        *(("turn", "<u4"), ("count", "<u4"), ("spare", "<u8")),
        *(("records", RECORD, _CHUNK // RECORD.itemsize - 1), ("rest", "S16")),
    ]
)
#: Fields that no two chunks share, the least first.
_NAME = ("turn", "tid", "thread_ns", "pid", "process_ns")
_TAKEN = 2
_CALLS = (
    *("clock_nanosleep", "read", "epoll_pwait", "ppoll", "sched_yield", "futex"),
    "sched_setscheduler",
)
_PROCESS = np.dtype(
    [
        *(("magic", "S8"), ("lost", "<u8"), ("pid", "<u4"), ("sleeps", "<u4"), ("chunks", "<u4")),
        *(("next", "<u4"), ("filtered", "<u4"), ("call", "<i4", len(_CALLS)), ("held", "<u4")),
        *(("held_error", "<i4"), ("spare", "S56")),
        ("state", "u1", _CHUNKS_MOST),
    ]
)
#: Begin and end of a wait, and what ends it.
_WAITS = (
    (RecordKind.COND_WAIT, RecordKind.GOT, RecordKind.SIGNAL),
    (RecordKind.WANT, RecordKind.GOT, RecordKind.UNLOCK),
    (RecordKind.ENTER, RecordKind.TAKE, RecordKind.POST),
)
#: Bits of an address in a program: callers in the n-th process have n above them.
_ADDRESS_BITS = 48
#: Kinds of records -> the column of their object.
_OBJECTS = (
    ([kind for kind in RecordKind if kind >= RecordKind.INIT], "a"),
    ([RecordKind.COND_WAIT], "c"),
)
#: Kinds of records up to which an object is of a sort.
_WORDS = (
    (RecordKind.UNLOCK, "lock"),
    (RecordKind.POST, "semaphore"),
    (RecordKind.SIGNAL, "condition"),
    (RecordKind.BARRIER, "barrier"),
)
_FILE = re.compile(r"[pmd](-[0-9]+){2,3}", re.ASCII)
_LOST = "it limits its files (RLIMIT_FSIZE), or a disk is full"
_SANITIZERS = "__(hwa|a|t|m|l)san_init"
_WHICH = 'file=$(command -v -- "$1") && [ -f "$file" ] && echo "$file"'
_FOLDERS = """d=/dev/shm; [ -w $d ] || d="$0/.."
mkdir -p -m 711 "$0" "$d/$1" && chmod a+x "$0/.." && mkdir -m 1777 "$d/$1/$2"
echo "$d/$1/$2"
"""


def _random() -> str:
    return os.urandom(6).hex()


class Shim(ClosedAfterwards):
    """Is preloaded into ``command`` where that can take it: start it with ``environment``.

    Args:
        target: Machine of the program; ``toolchain``: builds for it, None: for this one.
        preloaded: LD_PRELOAD of the program, which stays.
        sleeps: Record sleeps and CPU times too, as there are no events of the kernel.
        inherit: Give every mutex priority inheritance, as far as one can take it.
        memory: "heap": malloc keeps what it has; "locked": so is all memory. ``slack_ns``: of
            timers of its ordinary threads; 0: as it is.
        out: It is not wanted.

    Attributes:
        environment: What the program gets; {}: the shim stays out.
        not_seen: Why it sees less than all, a line each.
    """

    def __init__(
        self,
        target: Target,
        command: Sequence[str],
        *,
        toolchain: Toolchain | None = None,
        preloaded: str = "",
        sleeps: bool = False,
        inherit: bool = False,
        memory: str = "",
        slack_ns: int = 0,
        out: bool = False,
    ) -> None:
        self._target = target
        self._kept = f"{target.folder}/shim"
        self._held = ExitStack()
        self.environment: dict[str, str] = {}
        self.not_seen: list[str] = []
        if out:
            self.not_seen.append("locks are not visible: --set no_locks=true leaves them out")
            return
        made = toolchain or Toolchain.find()
        try:
            library = tool_program(made, "shim", preloaded=True)
        except BuildError as error:
            self.not_seen.append(f"locks are not visible: {error.message.splitlines()[0]}")
            return
        if re.search(r"[\s:]", self._kept):  # each ends a path of LD_PRELOAD
            self.not_seen.append(f"locks are not visible: {self._kept!r} holds a blank or a colon")
            return
        place = f"{self._kept}.so"
        target.put(library, place)
        # the program alone: an argument may be a FIFO, a device, or have no end
        paths = target.run(("sh", "-c", _WHICH, "sh", command[0])).stdout.splitlines()
        own, *dumps = headers_of(target, [place, *dict.fromkeys(paths)]).items()
        self.not_seen += [
            f"locks of {Path(path).name} are not visible: {reason}"
            for path, dump in dumps
            if (reason := _hidden(dump, own[1]))
        ]
        beside = [*paths, *preloaded.replace(":", " ").split()]
        if beside and tool(target, "grep", "-lE", _SANITIZERS, *beside):
            self.not_seen = ["locks are not visible: the shim stays out beside a sanitizer"]
            self.close()
            return
        self._begin(made)
        status = colon_fields(target.read_text(STATUS) or "")
        self.environment = {
            "LD_PRELOAD": f"{place}:{preloaded}".rstrip(":"),
            "DEADBEAT_SHIM": self._folder,
            "DEADBEAT_SHIM_FILTERS": status.get("Seccomp_filters", "0"),
            "DEADBEAT_SHIM_SLEEPS": str(int(sleeps)),
            "DEADBEAT_SHIM_PROTOCOL": "inherit" if inherit else "",
            "DEADBEAT_SHIM_MEMORY": memory,
            "DEADBEAT_SHIM_SLACK": str(slack_ns or ""),
            # of what it starts, that wants to be the first library
            "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0",
        }

    def _begin(self, toolchain: Toolchain) -> None:
        """What it writes into is memory where there is some: whoever the program runs as may
        write there, and no other knows its name."""
        drain, name = str(tool_program(toolchain, "drain")), f"deadbeat-{os.getpid()}-{_random()}"
        self._held.enter_context(keeping(self._target, REMOVE, f"/dev/shm/{name}"))
        words = ("sh", "-c", _FOLDERS, self._kept, name, _random())
        self._folder = self._target.run(words).stdout.strip()
        outer = self._folder.rpartition("/")[0]
        self._held.callback(self._target.run, ("rm", "-rf", "--", outer))
        if not is_here(self._target):
            self._target.put(Path(drain), drain := f"{self._target.folder}/drain")
        self._drain = self._held.enter_context(
            self._target.start((drain, self._folder, self._kept))
        )

    def finish(self, recording: Recording) -> Recording:
        """``recording`` with what the shim wrote; its files are removed."""
        missing = [*recording.not_seen, *self.not_seen]
        if not self.environment:
            return evolve(recording, not_seen=tuple(missing))
        with suppress(TargetError):  # it was killed: then chunks are where they were
            self._drain.close()
        places = [self._kept, self._folder]
        if is_here(self._target):
            seen, pids = read_folders([*map(Path, places)], self._target)
        else:
            with tempfile.TemporaryDirectory() as here:
                folders = [
                    self._fetched(place, Path(here, str(n))) for n, place in enumerate(places)
                ]
                seen, pids = read_folders(folders, self._target)
        self.close()
        if not self.not_seen:
            missing += _silent(recording, seen, pids)
        missing += seen.not_seen
        return evolve(
            recording,
            events=_merged(recording.events, seen.events),
            calls=recording.calls or seen.calls,
            symbols=seen.symbols | recording.symbols,
            maps={pid: text + seen.maps.get(pid, "") for pid, text in recording.maps.items()},
            lost=recording.lost + seen.lost,
            held=seen.held,
            held_error=seen.held_error,
            not_seen=tuple(missing),
        )

    def _fetched(self, folder: str, here: Path) -> Path:
        """A folder, sent here."""
        packed = f"{self._kept}.tar"
        self._target.run(("tar", "-C", folder, "-cf", packed, "."))
        self._target.get(packed, here.with_suffix(".tar"))
        with tarfile.open(here.with_suffix(".tar")) as files:
            files.extractall(here, filter="data")
        return here

    def close(self) -> None:
        """Remove its files. Safe to call again."""
        self._held.close()
        self._target.run(
            ("rm", "-rf", "--", *(f"{self._kept}{end}" for end in ("", ".so", ".tar")))
        )


def read_folders(folders: Sequence[Path], target: Target) -> tuple[Recording, dict[int, int]]:
    """What is in ``folders``, and the processes that the shim was loaded into, with when last.
    Tools of ``target`` say where callers and locks are. A caller in the n-th program has n above
    `_ADDRESS_BITS`."""
    parts: list[NDArray[np.void]] = []
    calls: dict[int, str] = {}
    symbols: dict[int, str] = {}
    lost, pids, above, filtered = 0, dict[int, int](), 0, False
    held, held_error = list[int](), 0
    shared: dict[tuple[str, int], int] = {}
    files: dict[tuple[str, ...], list[Path]] = defaultdict(list)
    for path in sorted(each for folder in folders for each in folder.iterdir()):
        # Whether it is a file as the shim writes it: anything may lie in a folder that all may
        # use.
        if _FILE.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
            files[tuple(path.name.split("-", 3)[:3])].append(path)
    images = [path for key, (path, *_) in files.items() if key[0] == "p"]
    images.sort(key=lambda path: int(path.name.rsplit("-", 1)[1]))
    for image in images:
        process = np.fromfile(image, _PROCESS, 1)
        if not len(process) or process["magic"][0] != b"DBSHIM2":
            continue
        lost += int(process["lost"][0])
        filtered |= bool(process["filtered"][0])
        held.append(int(process["held"][0]))
        held_error = int(process["held_error"][0]) or held_error
        own = tuple(image.name.split("-")[1:])
        pids[int(own[0])] = int(own[1])
        calls = dict(zip(process["call"][0].tolist(), _CALLS, strict=True))
        for chunks in _by_process(process[0], image, files["d", *own]):
            whole = np.arange(chunks["records"].shape[1]) < chunks["count"][:, None]
            mine = _in_order([chunks["records"][whole]])
            locks = mine["kind"] >= RecordKind.INIT
            pid, ns = int(chunks[0]["pid"]), int(chunks[0]["process_ns"])
            pids[pid] = max(ns, pids.get(pid, 0))
            maps = _text(files["m", str(pid), str(ns)] or files["m", *own])
            places = [np.unique(mine[name][locks]).tolist() for name in ("b", "a")]
            callers, objects = where(places[0], places[1], maps, target)
            objects |= _by_site(mine[locks], callers, objects)
            mine["b"][locks] += above
            symbols = objects | symbols | {at + above: text for at, text in callers.items()}
            symbols |= _share(mine, maps, shared)
            parts += [mine, *(_wakings(mine) if process["sleeps"][0] else ())]
            above = min(above + (1 << _ADDRESS_BITS), ((1 << 15) - 1) << _ADDRESS_BITS)
    none: dict[str, Any] = {"threads": (), "begin_ns": 0, "end_ns": 0}
    events = _in_order(parts)
    reason = "it filters its calls (seccomp)" if filtered else _LOST
    why = (f"all locks: {lost:,} records of them could not be written: {reason}",) * bool(lost)
    every_maps = {int(key[1]): _text(paths) for key, paths in files.items() if key[0] == "m"}
    facts: dict[str, Any] = {"calls": calls, "symbols": symbols, "maps": every_maps, "lost": lost}
    facts |= {"held": reduce(and_, held, held[0] if held else 0), "held_error": held_error}
    found = Recording(events=events, not_seen=why, **facts, **none)
    return found, pids


def _text(paths: Sequence[Path]) -> str:
    """Maps of a process, the last first."""
    return "".join(path.read_text(errors="replace") for path in reversed(paths))


def _by_process(process: np.void, image: Path, kept: Sequence[Path]) -> Iterator[NDArray[np.void]]:
    """Chunks of each process in a file: those that were kept, and those that are still there."""
    with image.open("rb") as file:
        file.seek(_HEADER)
        there = np.fromfile(file, _PIECE, min(int(process["chunks"]), _CHUNKS_MOST))
    there = there[process["state"][: len(there)] >= _TAKEN]
    every = np.concatenate([*(np.fromfile(path, _PIECE) for path in kept), there])
    every = every[np.lexsort([every[name] for name in _NAME])]
    heads = np.column_stack([every[name].astype("u8") for name in _NAME])
    new = np.ones(len(every), bool)  # one may be in both
    new[1:] = (heads[1:] != heads[:-1]).any(axis=1)
    begins = np.flatnonzero(np.diff(every["process_ns"][new])) + 1
    yield from np.split(every[new], begins) if len(every) else ()


def with_variables(recording: Recording, maps: str, target: Target) -> Recording:
    """``recording`` of one process without the shim: its futexes with the names of the variables
    that they are in, as far as ``maps`` (/proc/PID/maps) and the symbols of its files tell."""
    futexes = [number for number, name in recording.calls.items() if name.startswith("futex")]
    events = recording.events
    calls = (events["kind"] == RecordKind.ENTER) & np.isin(events["a"], futexes)
    _, objects = where((), np.unique(events["b"][calls]).tolist(), maps, target)
    return evolve(recording, symbols=objects | recording.symbols)


def _wakings(events: NDArray[np.void]) -> Iterator[NDArray[np.void]]:
    """What the kernel would say of who ended a wait: the last that could, while it lasted."""
    for begins, ends, wakes in _WAITS:
        rows = events[np.isin(events["kind"], (begins, ends))]
        rows = rows[np.argsort(rows["tid"], kind="stable")]
        waits = (rows["kind"][:-1] == begins) & (rows["kind"][1:] == ends)
        waits &= rows["tid"][:-1] == rows["tid"][1:]
        begin, end = rows[:-1][waits], rows[1:][waits]
        of = end["a"] if begins == RecordKind.ENTER else begin["a"]
        wakers = events[events["kind"] == wakes]
        for each in np.unique(of[np.isin(of, wakers["a"])]):
            mine, theirs = of == each, wakers[wakers["a"] == each]
            last = np.searchsorted(theirs["ns"], end["ns"][mine], "right") - 1
            found = theirs[np.maximum(last, 0)]
            found["a"], found["tid"] = found["tid"].copy(), end["tid"][mine]
            found["kind"], found["b"] = RecordKind.WAKING, 0
            yield found[(last >= 0) & (found["ns"] >= begin["ns"][mine])]


def _merged(events: NDArray[np.void], seen: NDArray[np.void]) -> NDArray[np.void]:
    """Both in order of time, in a file as the first are: there may be a GB of them."""
    if not len(events) or not len(seen):
        return seen if len(seen) else events
    at = np.searchsorted(events["ns"], seen["ns"], "right") + np.arange(len(seen))
    rest = np.ones(len(events) + len(seen), bool)
    rest[at] = False
    with tempfile.TemporaryFile() as file:
        try:  # a full disk gives an error here, not a signal later
            os.posix_fallocate(file.fileno(), 0, rest.size * RECORD.itemsize)
            found: NDArray[np.void] = np.memmap(file, RECORD, "r+", shape=rest.shape)
        except OSError:
            found = np.empty(rest.shape, RECORD)
    found[rest], found[at] = events, seen
    return found


def _in_order(parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    together = np.concatenate([np.empty(0, RECORD), *parts])
    return together[np.argsort(together["ns"], kind="stable")]


def _silent(recording: Recording, seen: Recording, pids: Mapping[int, int]) -> Iterator[str]:
    """Processes without the shim, and programs that took no lock that it knows. What is forked has
    the shim of its parent, and says nothing before its first lock."""
    events = recording.events
    execs = events[events["kind"] == RecordKind.EXEC]
    began = dict(zip(execs["tid"].tolist(), execs["ns"].tolist(), strict=True))
    hidden = dict.fromkeys(
        each.name
        for each in recording.threads
        if pids.get(each.pid, -1) < began.get(each.pid, -1 if len(events) else 0)
    )
    reason = (
        "it is static, has a sanitizer, runs with other rights (set-user-id, sudo) or in a"
        " container, or ended at once"
    )
    for name in hidden:
        yield f"locks of {name} are not visible: {reason}"
    if pids and not seen.lost and not hidden and not (seen.events["kind"] >= RecordKind.INIT).any():
        yield "it took no lock of pthread or C11"


def _hidden(dump: str, own: str) -> str:
    """Why the program with this dump cannot take the shim; "": it can, or is no program."""
    if any(line not in own for line in re.findall(r"^ *(?:Class|Machine): .*$", dump, re.M)):
        return "it is for another machine or width"
    return "it is static" if dump and "program interpreter: " not in dump else ""


def _by_site(
    rows: NDArray[np.void], callers: Mapping[int, str], known: Mapping[int, str]
) -> dict[int, str]:
    """Names of objects that are in no variable: the function that makes or first takes them, one
    with a line before others, so that they are the same in each run."""
    names: dict[str, list[int]] = defaultdict(list)
    pairs = np.unique(rows[["a", "kind", "b"]][~np.isin(rows["a"], [*known])])
    for at in np.unique(pairs["a"]).tolist():
        kinds = pairs["kind"][pairs["a"] == at].tolist()
        sites = [
            ("+" in text or " (" not in text, kind != RecordKind.INIT, text)
            for _, kind, caller in pairs[pairs["a"] == at].tolist()
            if (text := callers.get(caller))
        ]
        if sites:
            word = next(word for most, word in _WORDS if max(kinds) <= most)
            names[f"{word} of {min(sites)[2]}"].append(at)
    return {
        at: text + f"#{place + 1}" * (len(each) > 1)
        for text, each in names.items()
        for place, at in enumerate(each)
    }


def _share(rows: NDArray[np.void], maps: str, known: dict[tuple[str, int], int]) -> dict[int, str]:
    """Gives objects in memory that processes share one address in ``rows`` of each, from `SHARED`
    on; their names. ``known``: file and place in it -> that address, of all processes."""
    names = {}
    for first, until, mode, offset, file, path in MAP.findall(maps):
        begin = int(first, 16)
        for kinds, column in _OBJECTS if mode.endswith("s") else ():
            within = np.isin(rows["kind"], kinds) & (rows[column] >= begin)
            within &= rows[column] < int(until, 16)
            for at in np.unique(rows[column][within]).tolist():
                place = file, int(offset, 16) + at - begin
                one = known.setdefault(place, SHARED + len(known))
                what = Path(path.removesuffix(" (deleted)")).name
                names[one] = f"{'memory' if what == 'zero' else what}+{place[1]:#x}"
                rows[column][within & (rows[column] == at)] = one
    return names
