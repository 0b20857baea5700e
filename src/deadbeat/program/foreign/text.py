"""Events as lines of text: of tracefs and atrace, trace-cmd report, perf script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import IO

from attrs import define, field

from deadbeat.program.derive.records import IN_INTERRUPT, RecordKind
from deadbeat.program.foreign.gathered import HANDLERS, INSIDE, WAKE_UP, Gathered

#: Read at once; a longer line is none.
_BLOCK, _LONG = 1 << 20, 1 << 16
#: ``comm-tid (process) [cpu] flags time: event: fields``; of perf ``comm process/tid [cpu] ...``;
#: of trace-cmd with flags ``comm-tid  0d..2. ...``.
LINE = re.compile(
    r"^ *(\S.*?(?:\[\d{1,5}\](?: +[^\s:]{1,12})?| \d{1,5}[^\s\d:]\S{2,7}))"
    r" +(\d{1,12})\.(\d{3,9}): +(?:\w+:)?(\w+)(.*)",
    re.M | re.A,
)
_HEAD = re.compile(
    r"(?:\w+: {2,})?"  # the name of an instance
    r"(?:(?P<comm>.{1,64})-(?P<tid>\d{1,10})(?: +\( *(?P<pid>\d{1,10}|-+)\))?"
    r"|(?P<name>.{1,64}?) +(?:(?P<process>\d{1,10})/ *)?(?P<thread>\d{1,10}))"
    r" +(?:\[(?P<cpu>\d+)\](?: +(?P<flags>\S+))?|(?P<number>\d+)(?P<letters>\S+))",
    re.A,
)
#: A name that is none.
_NAMELESS = re.compile(r"<(\.\.\.|\d+|idle)>")
_LOST = re.compile(r"^ *CPU:(\d{1,5}) \[(?:LOST )?(\d*) ?EVENTS(?: DROPPED)?\].*$", re.M)
#: A fraction of a second to ns, by its digits.
_SCALE = {digits: 10 ** (9 - digits) for digits in range(3, 10)}
_SWITCH = re.compile(
    r"prev_comm=(.*?) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) (?:==> )?"
    r"next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)",
    re.A,
)
_WAKE = re.compile(r"comm=.* pid=(\d+) prio=-?\d+", re.A)
#: The same by the plugins of trace-cmd and perf.
_SHORT_SWITCH = re.compile(r": *(.*?):(\d+) \[(-?\d+)\] (\S+) ==> (.*):(\d+) \[(-?\d+)\]", re.A)
_SHORT_WAKE = re.compile(r": *.*:(\d+) \[-?\d+\]", re.A)
_STATES = {"S": 1, "D": 2, "T": 4, "t": 8, "X": 0x10, "x": 0x10, "Z": 0x20, "P": 0x40, "I": 0x80}
#: The third of the flags: in a hard, soft, hard within soft, or non-maskable interrupt.
_IN_HANDLER = {"h": 0x08, "s": 0x10} | dict.fromkeys("HzZ", IN_INTERRUPT)
#: Event -> kind and pattern; its groups are thread, a, b and c.
_OF_THREADS: dict[str, tuple[int, str]] = {
    "sched_stat_runtime": (RecordKind.RUNTIME, r" pid=(\d+) runtime=(\d+)"),
    "sched_process_fork": (RecordKind.FORK, r" (?:parent_)?pid=(\d+) .*child_pid=(\d+)"),
    "sched_process_exec": (RecordKind.EXEC, r" pid=(\d+) old_pid=(\d+)"),
    "sched_process_exit": (RecordKind.END, r" pid=(\d+) prio="),
    "sched_pi_setprio": (RecordKind.PRIORITY, r" pid=(\d+) oldprio=(-?\d+) newprio=(-?\d+)"),
    "sched_migrate_task": (RecordKind.MIGRATE, r" pid=(\d+) .*orig_cpu=(\d+) dest_cpu=(\d+)"),
}
#: The same of whoever runs; groups: a, b.
_OF_RUNNING: dict[str, tuple[int, str]] = {
    "page_fault_user": (RecordKind.FAULT, ""),
    "page_fault_kernel": (RecordKind.FAULT, ""),
    "rss_stat": (RecordKind.FAULT_END, ""),
    "signal_deliver": (RecordKind.KILLED, r"sig=(\d+) .*sa_handler=(?:0x)?0+\b"),
}
_TIMER = re.compile(r"function=(\w+)\S* expires=(-?\d+) softexpires=(-?\d+)", re.A)
_TIMERS = {"hrtimer_wakeup": RecordKind.SLEEP_TIMER, "dl_task_timer": RecordKind.DEADLINE_TIMER}
_CALL = re.compile(r"(?:sys_)(enter_|exit_)?(\w+)", re.A)
_VALUE = re.compile(r"(?:: |=)(-?(?:0x)?[0-9a-f]+)", re.A)
_RETURN = re.compile(r"(?:-> |ret=|: )(-?(?:0x)?[0-9a-f]+)$", re.A)

Head = tuple[int, int, int | None]  # thread, CPU, flags (None: not known)
#: What to do with the fields of an event: what is None is not read.
Action = Callable[[int, Head, str], None]


@define
class TextReader:
    """Reads lines into ``found``."""

    found: Gathered = field(factory=Gathered)
    _heads: dict[str, Head] = field(factory=dict)
    _actions: dict[str, Action | None] = field(factory=dict)
    _decimal: bool = False  # numbers of calls without 0x; else of the kernels that print no 0x
    _digits: int = 0
    _lost: dict[int, int] = field(factory=dict)

    def read(self, stream: IO[bytes]) -> Gathered:
        """All of ``stream``."""
        for block in blocks(stream):
            if "EVENTS" in block and _LOST.search(block):
                first, *parts = _LOST.split(block)
                self._block(first)
                for cpu, many, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
                    self._lost[int(cpu)] = int(many or 1)
                    self._block(text)
            else:
                self._block(block)
            self.found.flush()
        units = {9: "", 6: "1 µs", 3: "1 ms"}
        self.found.form = units.get(self._digits, f"{self._digits} digits of a second")
        return self.found

    def _block(self, text: str) -> None:
        heads, actions = self._heads, self._actions
        lines = LINE.findall(text)
        self._digits = max(self._digits, len(lines[0][2]) if lines else 0)
        self.found.seen.update(map(itemgetter(3), lines))
        for words, seconds, part, name, rest in lines:
            if (head := heads.get(words)) is None:
                head = heads[words] = self._head(words)
            if name not in actions:
                actions[name] = self._action(name)
            ns = int(seconds + part) * _SCALE[len(part)]
            if self._lost and head[1] in self._lost:
                many = self._lost.pop(head[1])
                self.found.lost += many
                self.found.rows.append((ns, 0, RecordKind.LOST, head[1], many, 0, 0))
            if head[2] is None and name in INSIDE:
                self.found.interrupted(name, head[1], head[0])
            if (action := actions[name]) is not None:
                action(ns, head, rest)

    def _head(self, words: str) -> Head:
        match = _HEAD.fullmatch(words)
        if match is None:
            return 0, 0, 0
        tid = int(match["tid"] or match["thread"])
        name = (match["comm"] or match["name"]).strip()
        if tid and not _NAMELESS.fullmatch(name):
            self.found.names.setdefault(tid, name)
        pid = match["pid"] or match["process"] or "-"
        if pid.isdecimal() and tid:
            self.found.pids[tid] = int(pid)
        flags = match["flags"] or match["letters"] or ""
        known = len(flags) > 3
        self.found.flags |= known
        inside = _IN_HANDLER.get(flags[2:3], IN_INTERRUPT * (not tid))
        return tid, int(match["cpu"] or match["number"]), inside if known else None

    def __attrs_post_init__(self) -> None:
        self._actions |= {
            "sched_switch": self._switch,
            "sched_waking": self._wake(RecordKind.WAKING),
            "sched_wakeup": self._wake(WAKE_UP),
            "hrtimer_start": self._timer,
            "PERF_RECORD_LOST": self._lost_by_perf,
            **{name: self._of_thread(*each) for name, each in _OF_THREADS.items()},
            **{name: self._of_running(*each) for name, each in _OF_RUNNING.items()},
        }
        for handler, (word, c) in HANDLERS.items():
            for side, kind in (("entry", RecordKind.INTERRUPT), ("exit", RecordKind.INTERRUPT_END)):
                self._actions[f"{handler}_{side}"] = self._of_running(kind, rf"{word}=(\d+)", c)

    def _action(self, name: str) -> Action | None:
        """What to do with system calls of a name."""
        call = _CALL.fullmatch(name)
        number = self.found.call(call[2]) if call else None
        return None if call is None or number is None else self._call(number, call[1] or "")

    def _switch(self, ns: int, head: Head, rest: str) -> None:
        match = _SWITCH.search(rest) or _SHORT_SWITCH.match(rest)
        if match is None:
            return
        comm, tid, priority, word, other_comm, other, other_priority = match.groups()
        goes, comes = int(tid), int(other)
        self.found.names[goes], self.found.names[comes] = comm, other_comm
        state = 0x100 if word[0] == "R" and len(word) > 1 else _STATES.get(word[0], 0)
        if word[0] in "0123456789":
            number = int(word, 0)
            state = number & 0xFF or 0x100 * (number > 0xFF)
        c = int(other_priority) << 32 | int(priority) & 0xFFFFFFFF
        self.found.rows.append((ns, goes, RecordKind.SWITCH, head[1], comes, state, c))

    def _wake(self, kind: int) -> Action:
        def wake(ns: int, head: Head, rest: str) -> None:
            if match := _WAKE.search(rest) or _SHORT_WAKE.match(rest):
                tid, cpu, inside = head
                if inside is None:
                    inside = self.found.interrupted("", cpu, tid)
                self.found.rows.append((ns, int(match[1]), kind, cpu, tid, inside, 0))

        return wake

    def _timer(self, ns: int, head: Head, rest: str) -> None:
        match = _TIMER.search(rest)
        if match and (kind := _TIMERS.get(match[1])):
            soft, hard = int(match[3]), int(match[2])
            self.found.rows.append((ns, head[0], kind, head[1], soft, hard, 0))

    def _lost_by_perf(self, ns: int, head: Head, rest: str) -> None:
        many = max(map(int, re.findall(r"\d{1,18}", rest)), default=1)
        self.found.lost += many
        self.found.rows.append((ns, 0, RecordKind.LOST, head[1], many, 0, 0))

    def _of_thread(self, kind: int, pattern: str) -> Action:
        search = re.compile(pattern, re.A).search

        def event(ns: int, head: Head, rest: str) -> None:
            if match := search(rest):
                tid, a, b = map(int, (*match.groups(), 0, 0)[:3])
                if kind == RecordKind.FORK:
                    self.found.makers[a] = tid
                self.found.rows.append((ns, tid, kind, head[1], a, b, 0))

        return event

    def _of_running(self, kind: int, pattern: str, c: int = 0) -> Action:
        search = re.compile(pattern, re.A).search

        def event(ns: int, head: Head, rest: str) -> None:
            if match := search(rest):
                a = int(match[1]) if match.groups() else 0
                self.found.rows.append((ns, head[0], kind, head[1], a, 0, c))

        return event

    def _call(self, number: int, side: str) -> Action:
        """A system call: ``side`` it, or, as tracefs prints it, by what follows its name."""

        def call(ns: int, head: Head, rest: str) -> None:
            self.found.seen["call"] += 1
            leaves = side == "exit_" or (not side and rest.startswith(" ->"))
            if leaves:
                match = _RETURN.search(rest)
                row = RecordKind.EXIT, head[1], number, self._number(match[1] if match else "0"), 0
            else:
                self._decimal |= "0x" in rest
                values = [self._number(each) for each in _VALUE.findall(rest) if each]
                # by trace-cmd, the number of the call stands before
                values = [*values[rest.startswith(": __syscall_nr=") :], 0, 0]
                row = RecordKind.ENTER, head[1], number, values[0], values[1]
            self.found.rows.append((ns, head[0], *row))

        return call

    def _number(self, word: str) -> int:
        """A number of a call, which has 64 bits and a sign."""
        try:
            value = int(word, 16 if "0x" in word or not self._decimal else 10)
        except ValueError:
            return 0
        value &= (1 << 64) - 1
        return value - (value >> 63 << 64)


def blocks(stream: IO[bytes]) -> Iterator[str]:
    """Whole lines of it; what has no end for long is none."""
    rest, skips = b"", False
    while data := stream.read(_BLOCK):
        if skips:
            _, found, data = data.partition(b"\n")
            skips = not found
        lines, found, last = (rest + data).rpartition(b"\n")
        rest = last
        if len(rest) > _LONG:
            rest, skips = b"", True
        if found:
            yield lines.decode(errors="replace").replace("\r", "")
    yield rest.decode(errors="replace")
