"""Recordings as the text that others would have recorded of them."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from deadbeat.base.model.platform import example_platform
from deadbeat.program.derive.records import IN_INTERRUPT, Recording, RecordKind
from deadbeat.program.derive.switches import switches_of
from deadbeat.program.run.results import FIRST, FOLDERS, ProgramStore
from deadbeat.program.run.spec import ProgramSpec

STRANGERS = Path(__file__).parents[1] / "golden/strangers"

_STATES = {0: "R", 0x100: "R+", 1: "S", 2: "D", 4: "T", 8: "t", 0x10: "X", 0x20: "Z", 0x80: "I"}
_HANDLERS = {0: ("irq_handler", "irq={} name=x"), 1: ("softirq", "vec={} [action=x]"),
             2: ("local_timer", "vector={}"), 3: ("call_function", "vector={}"),
             4: ("reschedule", "vector={}"), 5: ("irq_work", "vector={}")}  # fmt: skip


#: Of interrupts, softirqs and both.
_LETTERS = {0: ".", 0x08: "h", 0x10: "s", 0x18: "H"}


def stranger(name: str, folder: Path = STRANGERS) -> Recording:
    """A recording of tests/golden/strangers, or of another folder."""
    with TemporaryDirectory() as work:
        plain = FOLDERS.plain(ProgramSpec(name=name, command=(name,)))
        store = ProgramStore.create(Path(work, name), plain, example_platform())
        (store.path / "events").mkdir(exist_ok=True)
        shutil.copy(folder / f"{name}.npz", store.path / "events/0001.npz")
        found = store.events(FIRST)
    assert found is not None
    return found


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def names_in(recording: Recording) -> dict[int, str]:
    return {0: "swapper", **recording.names, **{t.tid: t.name for t in recording.threads}}


def events_of(recording: Recording) -> list[Any]:
    """Its records, with the switches that are missing."""
    events = recording.events
    rows = np.concatenate([switches_of(recording), events[events["kind"] != RecordKind.SWITCH]])
    found: list[Any] = rows[np.argsort(rows["ns"], kind="stable")].tolist()
    return found


def fields(recording: Recording, row: Any) -> tuple[str, str] | None:
    """Name and fields of an event as tracefs prints them; None: it is of the shim."""
    names = names_in(recording)
    _, tid, kind, _, a, b, c = row
    name = names.get(tid, "<...>")
    if kind == RecordKind.SWITCH:
        low, high = _signed(c & 0xFFFFFFFF), _signed(c >> 32 & 0xFFFFFFFF)
        state = _STATES.get(b, "S")
        return "sched_switch", (
            f"prev_comm={name} prev_pid={tid} prev_prio={low} prev_state={state} ==>"
            f" next_comm={names.get(a, '<...>')} next_pid={a} next_prio={high}"
        )
    if kind in (RecordKind.ENTER, RecordKind.EXIT):
        call = recording.calls.get(a, f"call_{a}")
        if kind == RecordKind.EXIT:
            return f"sys_{call}", f"-> {b & (1 << 64) - 1:#x}"
        return f"sys_{call}", f"(first: {b & (1 << 64) - 1:#x}, second: {c & (1 << 64) - 1:#x})"
    if kind in (RecordKind.INTERRUPT, RecordKind.INTERRUPT_END):
        handler, text = _HANDLERS[c]
        side = "entry" if kind == RecordKind.INTERRUPT else "exit"
        return f"{handler}_{side}", text.format(a)
    function = "hrtimer_wakeup" if kind == RecordKind.SLEEP_TIMER else "dl_task_timer"
    timer = f"hrtimer=00000000abcdef01 function={function} expires={b} softexpires={a} mode=ABS"
    of = f"comm={name} pid={tid}"
    known = {
        RecordKind.WAKING: ("sched_waking", f"{of} prio=120 target_cpu=000"),
        RecordKind.RUNTIME: ("sched_stat_runtime", f"{of} runtime={a} [ns]"),
        RecordKind.SLEEP_TIMER: ("hrtimer_start", timer),
        RecordKind.DEADLINE_TIMER: ("hrtimer_start", timer),
        RecordKind.FORK: ("sched_process_fork", f"{of} child_comm={name} child_pid={a}"),
        RecordKind.EXEC: ("sched_process_exec", f"filename=/x pid={tid} old_pid={a}"),
        RecordKind.END: ("sched_process_exit", f"{of} prio={c} group_dead=false"),
        RecordKind.PRIORITY: ("sched_pi_setprio", f"{of} oldprio={a} newprio={b}"),
        RecordKind.MIGRATE: ("sched_migrate_task", f"{of} prio=1 orig_cpu={a} dest_cpu={b}"),
        RecordKind.FAULT: (
            "page_fault_user",
            f"address={a & (1 << 64) - 1:#x} ip=x error_code=0x6",
        ),
        RecordKind.FAULT_END: ("rss_stat", "mm_id=1 curr=1 type=MM_ANONPAGES size=4096B"),
        RecordKind.KILLED: ("signal_deliver", f"sig={a} errno=0 code=0 sa_handler=0 sa_flags=0"),
    }
    return known.get(kind)


def lines(
    recording: Recording, without: Collection[str] = (), *, pids: bool = False, digits: int = 6
) -> Iterator[str]:
    """Lines of tracefs, with the switches that are missing; ``without`` events of these names
    (``sys``: system calls); ``pids``: with the column of processes; ``digits`` of a fraction of a
    second."""
    pid_of = {each.tid: each.pid for each in recording.threads}
    names = names_in(recording)
    for row in events_of(recording):
        ns, tid, kind, cpu, a, b, _ = row
        if kind == RecordKind.LOST:
            yield f"CPU:{cpu} [LOST {a} EVENTS]"
            continue
        if (found := fields(recording, row)) is None:
            continue
        event, text = found
        if event in without or ("sys" in without and event.startswith("sys_")):
            continue
        runs = a if kind == RecordKind.WAKING else tid
        inside = b & IN_INTERRUPT if kind == RecordKind.WAKING else 0
        flags = f"d.{_LETTERS[inside]}2."
        scale = 10 ** (9 - digits)
        seconds, part = divmod((ns + scale // 2) // scale, 10**digits)
        process = f" ({pid_of.get(runs, '-------')!s:>7})" * pids
        between = "" if text[0] == "(" else " " if text[0] == "-" else ": "
        yield (
            f"{names.get(runs, '<...>'):>16}-{runs:<7}{process} [{cpu:03d}] {flags}"
            f" {seconds}.{part:0{digits}}: {event}{between}{text}"
        )


def written(recording: Recording, without: Collection[str] = (), **how: Any) -> str:
    """The text of a ``trace`` file."""
    head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:2\n#\n"
    return head + "".join(f"{line}\n" for line in lines(recording, without, **how))
