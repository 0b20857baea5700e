"""Truth: the formats as their tools write them, with values counted by hand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer_of

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.store.texts import Text
from deadbeat.cli.main import main
from deadbeat.latencies.latency.foreign import Foreign, as_run
from deadbeat.latencies.latency.foreign import read_foreign as read_text_of
from deadbeat.latencies.latency.formats.cyclictest_json import called
from deadbeat.latencies.latency.model import IDLE
from deadbeat.latencies.latency.store import LatencyStore


def read_foreign(text: str, name: str) -> Foreign:
    (found,) = read_text_of(Text(name, text))
    return found


JSON = json.dumps(
    {
        "file_version": 1,
        "cmdline:": "cyclictest -q -p80 --interval=500 -D 1m -h 100",
        "rt_test_version:": "2.40",
        "start_time": "Sun, 22 Nov 2026 09:23:43 +0000",
        "sysinfo": {"nodename": "board", "release": "6.1", "version": "#1", "realtime": 1},
        "resolution_in_ns": 0,
        "thread": {"0": {"histogram": {"3": 9, "700": 1}, "cycles": 10, "min": 3, "max": 700,
                         "avg": 72.7, "cpu": 1, "node": 0}},
    }
)  # fmt: skip
TEXT = """# /dev/cpu_dma_latency set to 0us
# Histogram
000000 000000\t000000
000003 000563\t000268
000004 000004\t000300
# Total: 000000567 000000568
# Min Latencies: 00003 00003
# Avg Latencies: 00003 00012
# Max Latencies: 00004 00864
# Histogram Overflows: 00000 00007
# Histogram Overflow at cycle number:
# Thread 0:
# Thread 1: 01604 01626
"""
WITH_ALL = """# Histogram
000003 000563\t000268\t000831
# Total: 000000563 000000268 000000831
# Min Latencies: 00003 00003
# Avg Latencies: 00003 00003
# Max Latencies: 00003 00003 00003
# Histogram Overflows: 00000 00000 00000
"""
JITTER = json.dumps(
    {
        "version": 3,
        "sysinfo": {"nodename": "board", "release": "6.1", "version": "#1"},
        "cpu": {
            "0": {"histogram": {"2": 5, "3": 4}, "count": 10, "min": 2, "max": 1500, "avg": 152.2}
        },
    }
)
OSADL = json.dumps(
    {
        "format": {"name": "RT Dataset", "version": "1.0"},
        "timestamps": {"origin": "2026-01-02T03:04:05+01:00", "dataset": "2026-01-02T03:04:06"},
        "system": {"hostname": "r0s0"},
        "kernel": {"version": "6.1-rt", "config": [], "cmdline": "quiet"},
        "condition": {
            "load": "idle",
            "cycles": 100,
            "interval": 200,
            "cyclictest": "cyclictest -l100 -m -Sp99 -i200 -h400 -q",
        },
        "latency": {
            "granularity": "microseconds",
            "cores": [[0, 1, 2, 3], [0, 0, 60, 40], [0, 50, 49, 0]],
            "maxima": [3, 77],
        },
    }
)


def test_json_of_cyclictest_tells_how_it_was_called() -> None:
    foreign = read_foreign(JSON, "f")
    assert (foreign.engine, foreign.host, foreign.kernel) == ("cyclictest", "board", "6.1 #1")
    assert (foreign.interval_ns, foreign.priority, foreign.policy) == (500_000, 80, "fifo")
    assert (foreign.seconds, foreign.started) == (60.0, "2026-11-22T09:23:43+00:00")
    run = as_run(foreign, IDLE, 2, name="f", user=Foreign(priority=80))
    assert run.key.text == "idle.cyclictest.0002" and run.priority == 80
    assert run.cpus[0].expected == 120_000 and run.cpus[0].missed == 1
    assert {problem.id for problem in run.problems} == {"imported"} and run.valid


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (Foreign(priority=90), "--priority 90: f says 80"),
        (Foreign(interval_ns=1_000_000), "--interval 1ms: f says 500us"),
    ],
)
def test_what_a_file_says_is_not_said_otherwise(told: Foreign, message: str) -> None:
    foreign = read_foreign(JSON, "f")
    with pytest.raises(UsageError) as caught:
        as_run(foreign, IDLE, 0, name="f", user=told)
    assert caught.value.message == message


def test_text_of_cyclictest() -> None:
    foreign = read_foreign(TEXT, "f")
    one, two = (cpu.raw for cpu in foreign.cpus)
    assert (one.total, one.overflow, one.max_ns, one.min_ns) == (567, 0, 4000, 3000)
    assert (two.total, two.overflow, two.max_ns) == (575, 7, 864_000)
    for told, lacks in (
        (Foreign(priority=90), "does not say its interval (give --interval)"),
        (Foreign(interval_ns=1_000_000), "does not say its priority (give --priority)"),
        (Foreign(), "its interval and its priority (give --interval and --priority)"),
    ):
        with pytest.raises(UsageError, match=re.escape(lacks)):
            as_run(foreign, IDLE, 0, name="f", user=told)
    told = Foreign(interval_ns=1_000_000, priority=90)
    run = as_run(foreign, IDLE, 0, name="f", user=told)
    assert [cpu.expected for cpu in run.cpus] == [567, 575] and run.seconds == 0.575
    both = read_foreign(WITH_ALL, "f")
    assert [cpu.raw.total for cpu in both.cpus] == [563, 268]


def test_osadl_tells_maxima_above_its_classes() -> None:
    foreign = read_foreign(OSADL, "f")
    assert (foreign.interval_ns, foreign.priority, foreign.host) == (200_000, 99, "r0s0")
    assert (foreign.kernel, foreign.cmdline) == ("6.1-rt", "quiet")
    one, two = (cpu.raw for cpu in foreign.cpus)
    assert (one.total, one.max_ns, one.overflow) == (100, 3000, 0)
    assert (two.total, two.max_ns, two.overflow) == (100, 77_000, 1)


def damaged(text: str, **changes: Any) -> str:
    return json.dumps({**json.loads(text), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Histogram\n# Max Latencies: 00003\n",
        TEXT.replace("000563", "000562"),
        damaged(JITTER, cpu={"0": {"histogram": {"2": 5}}}),
        damaged(OSADL, latency={"cores": [[0, 1], [1]]}),
        damaged(OSADL, latency={"cores": [[0], [1]], "granularity": "weeks"}),
        damaged(JSON, thread={"0": {"histogram": {"3": 99}, "cycles": 1}}),
    ],
)
def test_what_is_damaged_is_one_line(text: str) -> None:
    with pytest.raises((DataError, UsageError)) as error:
        read_foreign(text, "f")
    assert "\n" not in str(error.value) and error.value.message.startswith("f")


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cyclictest -p 90", (1_000_000, 90, "fifo", None)),
        ("cyclictest -Sp99 -i200 -D2h", (200_000, 99, "fifo", 7200.0)),
        ("cyclictest --policy=rr --priority=5", (1_000_000, 5, "rr", None)),
        ("cyclictest -D 10", (1_000_000, 0, "other", 10.0)),
        ("cyclictest -p0 -S -m", (1_000_000, 5, "fifo", None)),
        ("cyclictest --policy rr", (1_000_000, 5, "rr", None)),
        ("cyclictest --policy other -p 7", (1_000_000, 7, "fifo", None)),
        ("cyclictest -p 7 --policy other", (1_000_000, 7, "fifo", None)),
        ('cyclictest -p "90', (1_000_000, 5, "fifo", None)),
        ("cyclictest -smp -p 80 -i 300", (300_000, 5, "fifo", None)),
        ("cyclictest -mqp80 -t 2 -a 0,1 -i300 --dur=1m", (300_000, 80, "fifo", 60.0)),
        ("cyclictest -a -p 7 --pol rr -h100 -- -p 9", (1_000_000, 7, "rr", None)),
        ("/usr/bin/cyclictest -q -p 7 -D 10 > x -p 9 # -p 10", (1_000_000, 7, "fifo", 10.0)),
    ],
)
def test_command_lines_of_cyclictest(command: str, found: tuple[Any, ...]) -> None:
    how = called(command, threads=4)
    assert (how.interval_ns, how.priority, how.policy, how.seconds) == found


def test_the_command_makes_a_matrix_of_files(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "a.json"
    file.write_text(JSON)
    other = tmp_path / "b.json"
    other.write_text(OSADL)
    words = ["import", "--no-figures", "--runs", str(tmp_path / "runs"), str(file)]
    assert main([*words, f"cpu:50={file}", str(file), "--json"]) == 0
    answer = answer_of(capsys.readouterr().out)
    assert (answer["state"], answer["planned"], answer["done"]) == ("finished", 3, 3)
    store = LatencyStore.open(tmp_path / "runs" / file.stem)
    assert sorted(key.text for key in store.committed()) == [
        "cpu-050.cyclictest.0000",
        "unknown.cyclictest.0000",
        "unknown.cyclictest.0001",
    ]
    assert store.platform.name == "board"
    for more, told in [
        ([str(other)], "several hosts"),
        ([f"disk={file}"], "not a load"),
        ([str(tmp_path / "none")], "cannot read"),
    ]:
        assert main([*words, *more]) in (2, 3)
        assert told in capsys.readouterr().err
    assert main(["latency", "--engine", "jitterdebugger", "--runs", str(tmp_path)]) == 2
    assert "measures nothing here" in capsys.readouterr().err
