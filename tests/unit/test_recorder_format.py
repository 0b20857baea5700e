"""Truth: sub-buffers of Linux 6.18 and what the same kernel printed of them (``trace``), recorded
together (golden/recorder.tar.xz): a loop under SCHED_FIFO, a SCHED_DEADLINE thread, an inverted
mutex, a fork; some events lost. Types of entries that it lacks: include/linux/ring_buffer.h."""

from __future__ import annotations

import re
import struct
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.derive.recorder import Recorder, read_events
from deadbeat.derive.records import Kind
from deadbeat.targets.base import Completed
from deadbeat.targets.local import LocalTarget

GOLDEN = Path(__file__).parents[1] / "golden/recorder.tar.xz"
LINE = re.compile(
    r" *(.+)-(?P<who>\d+) +\[(?P<cpu>\d+)\] \S+ (?P<s>\d+)\.(?P<us>\d{6}): (?P<text>.*)"
)
TIMER = r"hrtimer_start: .*function={} expires=(?P<b>\d+) softexpires=(?P<a>\d+)"
PRINTED = {
    Kind.SWITCH: r"sched_switch: .*prev_pid=(?P<tid>\d+) prev_prio=(?P<low>-?\d+)"
    r" .*next_pid=(?P<a>\d+) next_prio=(?P<high>-?\d+)",
    Kind.WAKING: r"sched_waking: .*pid=(?P<tid>\d+) prio",
    Kind.RUNTIME: r"sched_stat_runtime: .*pid=(?P<tid>\d+) runtime=(?P<a>\d+)",
    Kind.SLEEP_TIMER: TIMER.format("hrtimer_wakeup"),
    Kind.DEADLINE_TIMER: TIMER.format("dl_task_timer"),
    Kind.ENTER: r"sys_(?P<call>\w+)\((\w+: (?P<b>\w+))?(, \w+: (?P<c>\w+))?",
    Kind.EXIT: r"sys_(?P<call>\w+) -> (?P<b>\w+)",
    Kind.FORK: r"sched_process_fork: .*child_pid=(?P<a>\d+)",
    Kind.EXEC: r"sched_process_exec: .* pid=(?P<tid>\d+)",
    Kind.END: r"sched_process_exit: .* pid=(?P<tid>\d+)",
    Kind.PRIORITY: r"sched_pi_setprio: .*pid=(?P<tid>\d+) oldprio=(?P<a>\d+) newprio=(?P<b>\d+)",
    Kind.MIGRATE: r"sched_migrate_task: .*pid=(?P<tid>\d+) .*orig_cpu=(?P<a>.) dest_cpu=(?P<b>.)",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def decode(folder: Path) -> tuple[np.ndarray, list[str]]:
    """Records and words of the recorder about a folder laid out as an instance."""
    tool = tool_program(Toolchain.find(), "recorder")
    argv = [str(tool), str(folder), str(folder / "events.bin"), str(folder / "kallsyms")]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    return read_events(folder / "events.bin"), done.stdout.splitlines()


def test_records_are_what_the_kernel_prints(folder: Path) -> None:
    events, words = decode(folder)
    calls = {line.split()[2]: int(line.split()[1]) for line in words if line.startswith("call")}
    printed = 0
    by_cpu = {cpu: iter(events[(events["cpu"] == cpu) & (events["kind"] != 13)]) for cpu in (0, 1)}
    for line in (folder / "trace").read_text().splitlines():
        if not (found := LINE.match(line)):
            continue
        printed += 1
        event = next(by_cpu[int(found["cpu"])])
        assert (int(event["ns"]) + 500) // 1000 == int(found["s"]) * 1_000_000 + int(found["us"])
        fields = re.match(PRINTED[Kind(event["kind"])], found["text"])
        assert fields, line
        said = {key: text for key, text in fields.groupdict().items() if text is not None}
        assert int(event["tid"]) == int(said.pop("tid", found["who"]))
        if "call" in said:
            said["a"] = str(calls[said.pop("call")])
        low, high = (np.int64(event["c"]).astype(np.int32), event["c"] >> 32)
        for key, text in said.items():
            value = {"low": low, "high": high}.get(key, event[key if key in "abc" else "c"])
            assert int(value) % 2**64 == int(text, 0) % 2**64, (key, line)
    assert printed == len(events) - 1 == 240
    assert {int(kind) for kind in events["kind"]} == {*map(int, PRINTED), Kind.LOST}
    (lost,) = events[events["kind"] == Kind.LOST]
    stats = (folder / f"per_cpu/cpu{lost['cpu']}/stats").read_text()
    assert f"\noverrun: {lost['a']}\n" in stats
    assert np.all(np.diff(events["ns"].astype(np.int64)) >= 0)


def test_gaps_of_time_and_entries_without_an_event(folder: Path) -> None:
    """A charge 1 ns after each; a discarded entry and the empty rest say nothing."""
    number = re.search(
        r"ID: (\d+)", (folder / "events/sched/sched_stat_runtime/format").read_text()
    )
    assert number
    charge = struct.pack("<IHHiIIQ", 1 << 5 | 6, int(number[1]), 0, 7, 0, 7, 99)
    at = 3 << 59 | 5 << 27
    entries = charge + struct.pack("<II", 4 << 5 | 30, 2) + charge  # 2 << 27 | 4 ns later
    entries += struct.pack("<III", 1 << 5 | 29, 8, 0) + charge  # discarded
    entries += struct.pack("<II", 8 << 5 | 31, 7) + charge  # at 7 << 27 | 8, upper bits as before
    long = struct.pack("<II", 1 << 5, 28) + charge[4:]  # its length in a word of its own
    entries += long + struct.pack("<I", 29) + charge  # the rest is empty
    page = struct.pack("<QQ", at, len(entries)) + entries
    (folder / "per_cpu/cpu0/trace_pipe_raw").write_bytes(b"")
    (folder / "per_cpu/cpu1/trace_pipe_raw").write_bytes(page.ljust(4096, b"\0"))
    events, _ = decode(folder)
    assert set(zip(events["tid"], events["a"], strict=True)) == {(7, 99)}
    first = (2 << 27) + 4
    later = [1, first + 2, first + 4, (2 << 27) + 9, (2 << 27) + 10]
    assert [int(ns) - at for ns in events["ns"]] == later


class Contained(LocalTarget):
    """This machine, seen from a PID namespace."""

    def run(self, argv: object, *, timeout: float | None = None) -> Completed:
        return Completed(argv=(), returncode=0, stdout="pid:[4026532301]\n", stderr="")


def test_without_events_threads_are_known_all_the_same() -> None:
    process = subprocess.Popen(["sleep", "100"])
    try:
        with Contained() as target, Recorder(target) as recorder:
            recorder.begin(process.pid)
            found = recorder.finish()
    finally:
        process.kill()
        process.wait()
    assert [(each.tid, each.name, each.policy) for each in found.threads] == [
        (process.pid, "sleep", "other")
    ]
    assert len(found.events) == 0 and found.threads[0].cpus
    assert "in a PID namespace" in found.not_seen[0]
