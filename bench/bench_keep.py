"""What watching a process for days takes: of a core and of memory, of a job (in pairs with and
without), and how many injected misses are found and named. Takes 10 minutes; ``bench_keep.py
SECONDS`` injects for so long, 200 an hour. Root."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from common import asked, report
from helpers.programs import ROOT, command_of

from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.program.run.results import ProgramStore

QUICK, WORDS = asked()
PAIRS, STRETCH_S = (1, 1.0) if QUICK else (12, 5.0)
CAUSES = {
    "work": "own work",
    "fault": "page fault",
    "preempted": "preempted",
    "lock": "lock",
    "waited": "waited",
}
#: From the instant of an injection to the release of its job, ns.
BEFORE_NS, AFTER_NS = 2_000_000, 30_000_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = command_of(ROOT / "tests/programs/late/for_days.c", Path(folder))[0]
        for loops, goal in ((1, "<= 0.5 %"), (5, "<= 2 %")):
            cost(Path(folder, f"cost{loops}"), program, loops, goal)
        injected(
            Path(folder, "injected"), program, int(WORDS[0]) if WORDS else 20 if QUICK else 300
        )


def keeping(folder: Path, pid: int, *more: str) -> subprocess.Popen[bytes]:
    """Learns for 4 s, and watches."""
    words = ("run", "--keep", "misses", "--pid", str(pid), "--name", "it", "--set", "learn=4s")
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "deadbeat", *words, *more]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet, stdin=quiet)


def cpu_ns(pid: int) -> int:
    folders = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((folder / "schedstat").read_text().split()[0]) for folder in folders)


def watches(pid: int) -> bool:
    return any(Path("/sys/kernel/tracing/instances").glob(f"deadbeat-{pid}-w-*"))


def cost(folder: Path, program: str, loops: int, goal: str) -> None:
    seconds = 60 + 2 * PAIRS * (STRETCH_S + 2)
    command = [program, str(int(seconds)), "0", "1000", str(loops)]
    said = folder.with_suffix(".txt")
    with said.open("w") as out, subprocess.Popen(command, stdout=out) as watched:
        keeper = keeping(folder, watched.pid)
        while not watches(watched.pid) and keeper.poll() is None:
            time.sleep(0.1)
        time.sleep(2)
        begin, at = cpu_ns(keeper.pid), time.monotonic()
        time.sleep(STRETCH_S * 4)
        took = (cpu_ns(keeper.pid) - begin) / (time.monotonic() - at) / 1e7
        status = Path(f"/proc/{keeper.pid}/status").read_text().split("VmHWM:")[1].split()[0]
        threads = f"{loops} of 1 kHz"
        report(f"keeper of {threads}", goal, took, "% of a core")
        report(f"memory of a keeper of {threads}", "<= 40 MB", int(status) / 1024, "MB")
        end(keeper)
        if loops == 1:
            tool = str(tool_program(Toolchain.find(), "recorder"))
            pairs(watched.pid, [tool, "keep", str(folder / "runs/it/kept/plan")], said)
        watched.kill()


def end(keeper: subprocess.Popen[bytes]) -> None:
    keeper.kill()
    keeper.wait()
    while any(Path("/sys/kernel/tracing/instances").glob(f"*-{keeper.pid}")):
        time.sleep(0.1)


def pairs(pid: int, command: list[str], said: Path) -> None:
    """Response time of the thread, and CPU time of a period with its wake-up, with and without."""
    more: dict[str, list[float]] = {"response time": [], "CPU time of a period": []}
    for _ in range(PAIRS):
        each = []
        for on in (False, True):
            keeper = subprocess.Popen(command, stdout=subprocess.DEVNULL) if on else None
            while keeper and not watches(pid):
                time.sleep(0.1)
            time.sleep(1)
            begin, at = cpu_ns(pid), time.monotonic_ns()
            time.sleep(STRETCH_S)
            until = time.monotonic_ns()
            period = (cpu_ns(pid) - begin) / (until - at) * 1e6
            rows = [line.split() for line in said.read_text().splitlines()]
            means = [int(ns) for _, end, ns in rows if at < int(end) < until]
            each.append((statistics.median(means or [0]), period))
            if keeper:
                end(keeper)
        for name, without, with_ in zip(more, *each, strict=True):
            more[name].append((with_ - without) / 1000)
    for name, values in more.items():
        values.sort()
        extra = {"pairs": PAIRS, "low": values[PAIRS // 6], "high": values[-1 - PAIRS // 6]}
        report(f"{name} with a keeper", "<= 1 us more", statistics.median(values), "us", extra)


def injected(folder: Path, program: str, seconds: int) -> None:
    folder.mkdir()
    apart = "18000" if seconds >= 1800 else "1500"
    with (folder / "said").open("w") as said:
        watched = subprocess.Popen([program, str(seconds), apart, "5000", "1", "7"], stdout=said)
        keeper = keeping(folder, watched.pid, "--set", "hourly=3600", "--set", "kept_mb=4000")
        time.sleep(seconds - 2)
        keeper.send_signal(signal.SIGINT)
        keeper.wait()
        watched.wait()
    store = ProgramStore.open(folder / "runs/it")
    report(*named(store, (folder / "said").read_text()))


def named(store: ProgramStore, said: str) -> tuple[str, str, float | None, str, dict[str, object]]:
    """How many of what was injected while it watched are named in a window."""
    late, since, until = [], 1 << 63, 0
    for run in store.runs():
        recording = store.events(run.key) if run.missed_at else None
        if recording and run.traced:
            since, until = min(since, recording.begin_ns), max(until, recording.end_ns)
            late += [(recording.begin_ns + each.at_ns, each.cause) for each in run.traced.late]
    found: Counter[str] = Counter()
    for line in said.splitlines():
        at, cause = line.split()[:2] if line[:1].isdigit() else ("0", "")
        if since < int(at) < until:
            near = [c for t, c in late if -BEFORE_NS <= t - int(at) <= AFTER_NS]
            found["injected"] += 1
            found["found"] += bool(near)
            found["named"] += CAUSES[cause] in near
    share = 100 * found["named"] / found["injected"] if found["injected"] else None
    return "injected misses named in their window", ">= 95 %", share, "%", dict(found)


if __name__ == "__main__":
    os.environ.pop("DEADBEAT_RUNS", None)
    main()
