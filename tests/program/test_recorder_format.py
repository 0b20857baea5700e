"""Truth: sub-buffers of Linux 6.18 and what the same kernel printed of them (``trace``), recorded
together (golden/recorder.tar.xz): a loop under SCHED_FIFO, a SCHED_DEADLINE thread, an inverted
mutex, a fork; some events lost. Types of entries that it lacks: include/linux/ring_buffer.h."""

import os
import re
import struct
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.recorder import Recorder, read_events
from deadbeat.program.derive.records import RecordKind

GOLDEN = Path(__file__).parents[1] / "golden/recorder.tar.xz"
LINE = re.compile(r".+-(?P<who>\d+) +\[(?P<cpu>\d+)\] \S+ (?P<s>\d+)\.(?P<us>\d+): (?P<text>.*)")
TIMER = r"hrtimer_start: .*function={} expires=(?P<b>\d+) softexpires=(?P<a>\d+)"
PRINTED = {
    RecordKind.SWITCH: r"sched_switch: .*prev_pid=(?P<tid>\d+) prev_prio=(?P<low>-?\d+)"
    r" .*next_pid=(?P<a>\d+) next_prio=(?P<high>-?\d+)",
    RecordKind.WAKING: r"sched_waking: .*pid=(?P<tid>\d+) prio",
    RecordKind.RUNTIME: r"sched_stat_runtime: .*pid=(?P<tid>\d+) runtime=(?P<a>\d+)",
    RecordKind.SLEEP_TIMER: TIMER.format("hrtimer_wakeup"),
    RecordKind.DEADLINE_TIMER: TIMER.format("dl_task_timer"),
    RecordKind.ENTER: r"sys_(?P<call>\w+)\((\w+: (?P<b>\w+))?(, \w+: (?P<c>\w+))?",
    RecordKind.EXIT: r"sys_(?P<call>\w+) -> (?P<b>\w+)",
    RecordKind.FORK: r"sched_process_fork: .*child_pid=(?P<a>\d+)",
    RecordKind.EXEC: r"sched_process_exec: .* pid=(?P<tid>\d+)",
    RecordKind.END: r"sched_process_exit: .* pid=(?P<tid>\d+)",
    RecordKind.PRIORITY: r"sched_pi_setprio: .*pid=(?P<tid>\d+) oldprio=(?P<a>\d+)"
    r" newprio=(?P<b>\d+)",
    RecordKind.MIGRATE: r"sched_migrate_task: .*pid=(?P<tid>\d+) .*orig_cpu=(?P<a>.)"
    r" dest_cpu=(?P<b>.)",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def decode(folder: Path, tool: str = "") -> tuple[np.ndarray, dict[str, int]]:
    """Records of a folder laid out as an instance, and numbers of calls."""
    tool = tool or str(tool_program(Toolchain.find(), "recorder"))
    argv = [tool, ".", "events.bin", "kallsyms"]
    done = subprocess.check_output(argv, cwd=folder, stdin=subprocess.DEVNULL, text=True)
    calls = [line.split() for line in done.splitlines()]
    numbers = {words[2]: int(words[1]) for words in calls if words[0] == "call"}
    return read_events(folder / "events.bin"), numbers


def joined(lines: Iterable[re.Match[str]]) -> list[dict[str, str]]:
    """Charges of one thread within 100 us and nothing between are one."""
    found: list[dict[str, str]] = []
    for line in lines:
        said = {**line.groupdict(), "us": f"{line['s']}{line['us']}", "more": "0"}
        last = found[-1] if found else {**said, "text": "", "us": "0"}
        one, two = (re.match(PRINTED[RecordKind.RUNTIME], each["text"]) for each in (last, said))
        if one and two and one["tid"] == two["tid"] and int(said["us"]) - int(last["us"]) < 100:
            said["more"] = str(int(found.pop()["more"]) + int(one["a"]))
        found.append(said)
    return found


def test_records_are_what_the_kernel_prints(folder: Path) -> None:
    events, calls = decode(folder)
    (lost,) = events[events["kind"] == RecordKind.LOST]
    assert f"\noverrun: {lost['a']}\n" in (folder / f"per_cpu/cpu{lost['cpu']}/stats").read_text()
    assert {int(kind) for kind in events["kind"]} == {*map(int, PRINTED), RecordKind.LOST}
    assert np.all(np.diff(events["ns"].astype(np.int64)) >= 0)
    events = events[events["kind"] != RecordKind.LOST]
    printed = [found for line in (folder / "trace").open() if (found := LINE.match(line))]
    for cpu in (0, 1):
        lines = joined(found for found in printed if int(found["cpu"]) == cpu)
        for event, line in zip(events[events["cpu"] == cpu], lines, strict=True):
            assert f"{(int(event['ns']) + 500) // 1000:011}" == line["us"]
            said = re.match(PRINTED[RecordKind(event["kind"])], line["text"])
            assert said, line
            wanted = {"tid": line["who"]}
            wanted |= {key: text for key, text in said.groupdict().items() if text is not None}
            if "call" in wanted:
                wanted["a"] = str(calls[wanted.pop("call")])
            values = {key: int(event[key]) for key in ("tid", "a", "b", "c")}
            values["a"] -= int(line["more"])
            values |= {"low": values["c"], "high": values["c"] >> 32}
            for key, text in wanted.items():
                most = 2**32 if key in ("low", "high") else 2**64
                assert values[key] % most == int(text, 0) % most, (key, line)


def test_gaps_of_time_and_entries_without_an_event(folder: Path) -> None:
    """A charge 1 ns after each, the last two of one thread; a discarded entry and the empty rest
    say nothing."""
    text = (folder / "events/sched/sched_stat_runtime/format").read_text()
    number = int(text.partition("ID: ")[2].split()[0])
    charge, other, last = (
        struct.pack("<IHHiIIQ", 1 << 5 | 6, number, 0, tid, 0, tid, 99) for tid in (7, 8, 9)
    )
    at = 3 << 59 | 5 << 27
    entries = charge + struct.pack("<II", 4 << 5 | 30, 2) + charge  # 2 << 27 | 4 ns later
    entries += struct.pack("<III", 1 << 5 | 29, 8, 0) + other  # discarded
    entries += struct.pack("<II", 8 << 5 | 31, 7) + last  # at 7 << 27 | 8, upper bits as before
    entries += struct.pack("<II", 1 << 5, 28) + last[4:]  # its length in a word of its own
    entries += struct.pack("<I", 29) + charge  # the rest is empty
    page = struct.pack("<QQ", at, len(entries)) + entries
    (folder / "per_cpu/cpu0/trace_pipe_raw").write_bytes(b"")
    (folder / "per_cpu/cpu1/trace_pipe_raw").write_bytes(page.ljust(4096, b"\0"))
    events, _ = decode(folder)
    gap = 2 << 27
    wanted = [(1, 7, 99), (gap + 6, 7, 99), (gap + 8, 8, 99), (gap + 10, 9, 198)]
    assert [(int(e["ns"]) - at, e["tid"], e["a"]) for e in events] == wanted


def test_windows_of_too_many_events_are_kept(folder: Path) -> None:
    """A file of 64 windows of one: it was full twice, so that every fourth is kept."""
    whole = decode(folder)[0].tolist()
    sources = sorted((Path(__file__).parents[2] / "runtime/observe").glob("recorder*.c"))
    tool = str(folder / "small")
    subprocess.run(
        ["gcc", "-D_GNU_SOURCE", "-DFILE_MOST=64", "-o", tool, *sources], check=True, timeout=60
    )
    events, _ = decode(folder, tool)
    assert 128 < len(whole) <= 256 and events.tolist() == whole[::4]


class Contained(LocalTarget):
    """This machine, seen from a PID namespace."""

    def run(self, argv: object, *, timeout: float | None = None) -> Completed:
        return Completed(argv=(), returncode=0, stdout="pid:[4026532301]\n", stderr="")


def test_without_events_threads_are_known_all_the_same() -> None:
    with Contained() as target, Recorder(target) as recorder:
        recorder.begin(os.getpid())
        found = recorder.finish()
    (own,) = (each for each in found.threads if each.tid == os.getpid())
    assert set(own.cpus) == os.sched_getaffinity(0) and own.cpu_ns >= 0
    assert len(found.events) == 0 and "in a PID namespace" in found.not_seen[0]


def test_a_thread_is_said_as_it_last_was() -> None:
    """Here the shell became another program of another policy."""
    command = ("sh", "-c", "read line; exec chrt -b 0 sleep 60")
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert child.stdin is not None
    with Contained() as target, Recorder(target) as recorder, child:
        recorder.begin(child.pid)
        child.stdin.write(b"go\n")
        child.stdin.close()
        while Path(f"/proc/{child.pid}/comm").read_text() != "sleep\n":
            assert child.poll() is None
        (thread,) = recorder.finish().threads
        child.kill()
    assert (thread.name, thread.policy, thread.priority) == ("sleep", "batch", 0)
