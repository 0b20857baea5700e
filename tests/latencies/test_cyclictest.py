"""Truth: what rt-tests writes (the JSON below is of version 2.40), and hand-counted histograms."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest
from helpers.latency_series import run_of

from deadbeat.base.model.errors import DataError, TargetError
from deadbeat.base.model.histogram import Histogram
from deadbeat.latencies.latency.circumstances import judge
from deadbeat.latencies.latency.cyclictest import (
    CyclictestEngine,
    as_seen,
    command,
    threads_command,
    threads_of,
)
from deadbeat.latencies.latency.engines import Request
from deadbeat.latencies.latency.foreign import Foreign, ForeignFile, expecting, with_missed
from deadbeat.latencies.latency.formats.cyclictest_json import IMPORTER as CYCLICTEST
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.fake import Conversation, FakeTarget

RUNTIME = "/fake/runtime"


def ended(name: str, returncode: int = 0, stderr: str = "") -> Completed:
    return Completed(argv=(name,), returncode=returncode, stdout="", stderr=stderr)


def written(**thread: Any) -> dict[str, Any]:
    first = {
        "histogram": {"3": 563, "4": 664, "1139": 1},
        "cycles": 1228,
        "min": 3,
        "max": 1139,
        "avg": 4.47,
        "cpu": 0,
        "node": 0,
    }
    return {
        "file_version": 1,
        "cmdline:": "cyclictest -q",
        "rt_test_version:": "2.40",
        "start_time": "Sun, 22 Nov 2026 09:23:43 +0000",
        "end_time": "Sun, 22 Nov 2026 09:23:45 +0000",
        "return_code": 0,
        "sysinfo": {"sysname": "Linux", "release": "6.1", "version": "#1", "realtime": 0},
        "num_threads": 1,
        "resolution_in_ns": 0,
        "thread": {"0": {**first, **thread}},
    }


def read(plain: dict[str, Any]) -> Foreign:
    return CYCLICTEST.take(ForeignFile.of(json.dumps(plain)), "f.json")


def test_keys_with_and_without_a_colon_and_microseconds() -> None:
    result = read(written())
    assert (result.version, result.policy, result.kernel) == (
        "cyclictest V 2.40",
        "other",
        "6.1 #1",
    )
    raw = result.cpus[0].raw
    assert (raw.total, raw.min_ns, raw.max_ns, raw.resolution_ns) == (1228, 3000, 1_139_000, 1000)
    assert raw.sum_ns == (3 * 563 + 4 * 664 + 1139) * 1000 and raw.overflow == 0
    plain = written()
    plain["rt_test_version"] = plain.pop("rt_test_version:")
    assert read(plain).version == "cyclictest V 2.40"


def test_resolution_one_means_nanoseconds() -> None:
    plain = written() | {"resolution_in_ns": 1}
    assert read(plain).cpus[0].raw.max_ns == 1139


def test_what_overflowed_is_the_rest_of_the_cycles() -> None:
    raw = read(written(cycles=1230, max=2_000_000, avg=1700.0)).cpus[0].raw
    assert (raw.overflow, raw.total) == (2, 1230)
    assert (raw.overflow_from_ns, raw.max_ns) == (1_140_000, 2_000_000_000)
    assert raw.sum_ns == 1700 * 1230 * 1000
    assert raw.quantile(999_000) is None or raw.quantile(500_000) is not None


@pytest.mark.parametrize(
    "plain",
    [
        "no JSON",
        "[]",
        "{}",
        json.dumps(written(histogram={"3": 9999})),
        json.dumps(written(histogram={"x": 1})),
        json.dumps({**written(), "thread": {"0": {"cycles": 1, "cpu": 0}}}),
    ],
)
def test_what_it_did_not_write_is_refused_in_one_line(plain: str) -> None:
    with pytest.raises(DataError, match=r"f\.json is damaged cyclictest --json") as error:
        CYCLICTEST.take(ForeignFile.of(plain), "f.json")
    assert "\n" not in str(error.value)


def test_skipped_periods_follow_from_the_latencies_that_reached_them() -> None:
    # 2.5 periods late: two were skipped, they would have been 1.5 and 0.5 late.
    raw = Histogram.of([100, 2500], resolution_ns=1)
    corrected = with_missed(raw, 1000)
    assert corrected.total == 4
    assert corrected.buckets.tolist() == Histogram.of([100, 500, 1500, 2500]).buckets.tolist()
    assert corrected.sum_ns == 100 + 2500 + 1500 + 500
    exactly = with_missed(Histogram.of([2000]), 1000)
    assert exactly.total == 3 and exactly.min_ns == 0


def test_a_thread_that_began_late_has_missed_nothing() -> None:
    cpu = expecting(read(written()).cpus[0], seconds=2.0, interval_ns=1_000_000)
    assert (cpu.expected, cpu.cycles, cpu.missed) == (2000, 1228, 1)
    assert cpu.corrected is not None and cpu.corrected.total == 1229


def test_the_command_says_what_is_asked() -> None:
    words = command(Request(cpus=(0, 2), seconds=3.0, interval_ns=500_000, priority=77), "/o")
    for word in ("--affinity=0,2", "--threads=2", "--priority=77", "--interval=500", "--mlockall"):
        assert word in words
    assert "--duration=3" in words and "--json=/o" in words and "--default-system" not in words
    other = command(
        Request(cpus=(0,), seconds=1.0, policy="other", priority=0, dma_latency="system"), "/o"
    )
    assert "--policy=other" in other and "--default-system" in other
    assert not any(word.startswith("--priority") for word in other)


def machine(
    returncode: int = 0, stderr: str = "", wrote: str | None = None, threads: str = ""
) -> FakeTarget:
    return FakeTarget(
        files={} if wrote is None else {"/fake/cyclictest.json": wrote},
        commands={"rm": ended("rm")},
        conversations={RUNTIME: Conversation(returncode=returncode, stderr=stderr)},
        outputs={"threads": threads},
    )


def measure(target: FakeTarget) -> Any:
    engine = CyclictestEngine(program=lambda _: RUNTIME)
    return engine.measure(target, Request(cpus=(0,), seconds=2.0))


def test_it_measures_under_the_guard_and_the_lock() -> None:
    target = machine(wrote=json.dumps(written()))
    measured = measure(target)
    assert [cpu.expected for cpu in measured.cpus] == [2000]
    argv = target.calls[-1]
    assert argv[:2] == (RUNTIME, "guard") and argv[argv.index("--lock") + 1] == "1"


def seen(number: int, priority: int, policy: int, *, cpu: int = 0, allowed: str = "0") -> str:
    """/proc/PID/task/TID/stat of cyclictest 2.40 on Linux 6.18, and a line of its status."""
    return (
        f"{number} (cyclictest) S 19026 19026 11855 0 -1 4194624 33 0 0 0 0 0 0 0 -51 0 3 0"
        " 4930740 169000960 8524 18446744073709551615 1 1 1 0 0 0 8192 0 18946 1 0 0 -1"
        f" {cpu} {priority} {policy} 0 0 0 1 1 1 1 1 1 1 0\nallowed {allowed}\n"
    )


def problems(target: FakeTarget) -> list[str]:
    request = Request(cpus=(0,), seconds=2.0)
    cpus = CyclictestEngine(program=lambda _: RUNTIME).measure(target, request).cpus
    cpus = tuple(attrs.evolve(cpu, expected=cpu.cycles, missed=0) for cpu in cpus)
    run = attrs.evolve(run_of(*cpus, engine="cyclictest"), seconds=2.0)
    return [problem.id for problem in judge(run, request)]


@pytest.mark.parametrize(
    ("threads", "found"),
    [
        (seen(12, 90, 1), []),
        (seen(12, 0, 0), ["wrong-policy", "wrong-priority"]),
        (seen(12, 89, 1), ["wrong-priority"]),
        (seen(12, 90, 2), ["wrong-policy"]),
        (seen(12, 90, 1, allowed="0-1"), ["wrong-cpu"]),
        (seen(12, 90, 1, allowed="1", cpu=1), ["wrong-cpu"]),
        ("", ["thread-unverified"]),
        (seen(12, 90, 1) + seen(13, 90, 1, allowed="1"), ["thread-unverified"]),
        ("12 (cyclictest) S 1\nallowed 0\n", ["thread-unverified"]),
    ],
)
def test_what_its_threads_really_had_is_read_back_and_judged(threads: str, found: list[str]):
    assert problems(machine(wrote=json.dumps(written()), threads=threads)) == found


def test_threads_belong_to_the_cpu_that_they_may_run_on() -> None:
    cpus = [attrs.evolve(read(written()).cpus[0], cpu=cpu) for cpu in (2, 5)]
    text = seen(9, 80, 1, allowed="5") + seen(10, 81, 1, allowed="2")
    assert [(c.cpu, c.priority, c.placed) for c in as_seen(cpus, threads_of(text))] == [
        (2, 81, 2),
        (5, 80, 5),
    ]
    loose = seen(9, 80, 1, allowed="0-7") + seen(10, 81, 1, allowed="0-7")
    assert [(c.priority, c.placed) for c in as_seen(cpus, threads_of(loose))] == [
        (80, -1),
        (81, -1),
    ]


@pytest.mark.hardware
@pytest.mark.skipif(shutil.which("cyclictest") is None, reason="cyclictest is not installed")
def test_the_command_that_reads_them_finds_those_of_our_file_alone(tmp_path: Path) -> None:
    cpu, out = min(os.sched_getaffinity(0)), tmp_path / "out"
    with subprocess.Popen(
        ("cyclictest", "-q", f"--json={out}", f"-a{cpu}", "-t1", "-D2"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        found = ()
        while process.poll() is None and not found:
            found = threads_of(_shell(threads_command(str(out))))
        assert _shell(threads_command(f"{out}2")) == ""
        process.terminate()  # killed it would leave a file in /dev/shm
    assert [(t.policy_name, t.priority, placed) for t, placed in found] == [("other", 0, cpu)]


def _shell(words: str) -> str:
    return subprocess.run(("sh", "-c", words), capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (machine(1, "Unable to change scheduling policy!\nProbably\n"), "SCHED_FIFO was refused"),
        (machine(1, "Unable to change scheduling policy!\n"), "--policy other marks every result"),
        (machine(125, "error busy 4711\n"), "another deadbeat measurement"),
        (machine(127, "guard: cyclictest cannot be started\n"), "rt-tests"),
        (machine(1, "could not do it\nWARN: distance is ignored\n"), "could not do it"),
        (machine(0, "", "{}"), "is damaged cyclictest --json"),
    ],
)
def test_a_failure_is_one_line_that_says_what_to_do(target: FakeTarget, words: str) -> None:
    with pytest.raises(TargetError) as error:
        measure(target)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_it_needs_the_permission_also_for_policy_other() -> None:
    engine = CyclictestEngine(program=lambda _: RUNTIME)
    request = Request(cpus=(0,), seconds=2.0, policy="other", priority=0)
    with pytest.raises(TargetError, match="--engine prober does without"):
        engine.measure(machine(1, "Unable to change scheduling policy!\n"), request)


def test_it_says_when_it_is_not_installed() -> None:
    missing = FakeTarget(commands={"sh": ended("sh", 127)})
    assert "rt-tests" in CyclictestEngine().unavailable(missing)
    there = FakeTarget(commands={"sh": ended("sh", 0)})
    assert CyclictestEngine().unavailable(there) == ""


def test_what_overflowed_missed_so_many_periods_at_least() -> None:
    """Two of 100 ms or later at 1 ms: a hundred each, of latencies that nobody knows."""
    raw = attrs.evolve(
        Histogram.of([5_000] * 98), overflow=2, overflow_from_ns=100_000_000, max_ns=400_000_000
    )
    cpu = attrs.evolve(read(written()).cpus[0], raw=raw, cycles=100)
    found = expecting(cpu, seconds=1.0, interval_ns=1_000_000)
    assert (found.missed, found.corrected) == (200, None)
