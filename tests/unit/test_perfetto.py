"""Truth: the trace event format as Perfetto reads it: named tracks, spans that do not cross."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture
from helpers.goldens import unpack

from deadbeat.cli.main import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("stored"))


def trace(runs: Path, name: str, file: Path) -> list[dict[str, Any]]:
    """What is written of a result; as Perfetto reads it."""
    assert main(("export", name, "--runs", str(runs), "--as", "perfetto", "--out", str(file))) == 0
    records: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    kinds = {"M": {"args"}, "X": {"ts", "dur", "args", "cat"}, "i": {"ts", "s"}}
    for each in records:
        assert set(each) == {"ph", "pid", "tid", "name"} | kinds[each["ph"]]
    named = {(e["pid"], e["tid"]) for e in records if e["name"] == "thread_name"}
    spans = defaultdict(list)
    for each in records:
        if each["ph"] == "X":
            spans[each["pid"], each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
    assert set(spans) <= named
    for track in spans.values():
        for (_, end), (begin, _) in zip(sorted(track), sorted(track)[1:], strict=False):
            assert begin >= end - 1e-6
    return records


def test_the_events_of_a_measured_campaign_are_a_trace(runs: Path, tmp_path: Path) -> None:
    records = trace(runs, "m-profile", tmp_path / "p.json")
    jobs = [e for e in records if e["ph"] == "X" and e["name"].startswith("job ")]
    assert jobs and all(e["args"]["evidence"] for e in jobs)
    assert {e["args"]["name"] for e in records if e["name"] == "process_name"} <= {
        f"run {path.stem}" for path in (runs / "m-profile/traces").iterdir()
    }


def test_without_events_nothing_is_written(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "p.json"
    words = ("export", "profile", "--runs", str(runs), "--as", "perfetto", "--out", str(file))
    assert main(words) == 2
    assert "no events of the worst jobs of profile are kept" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize(
    ("name", "mark", "source"),
    [("m-load", "deadline", "measured"), ("load", "deadline", "simulated"),
     ("m-latency", "timer", "measured")],
)  # fmt: skip
def test_the_longest_round_and_the_latest_wake_ups_are_traces(
    name: str, mark: str, source: str, runs: Path, tmp_path: Path
) -> None:
    records = trace(runs, name, tmp_path / "p.json")
    assert {e["cat"] for e in records if e["ph"] == "X"} == {source}
    assert mark in {e["name"] for e in records if e["ph"] == "i"}
