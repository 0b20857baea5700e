"""Truth: docs/howto/measure-latency.md: what `deadbeat latency` takes, refuses and says first."""

import json
import re
from pathlib import Path

import attrs
import pytest
from helpers.answers import Capture, answer_of

from deadbeat.base.model.errors import DeadbeatError, TargetError
from deadbeat.base.model.rules import DurationNs, RefusedError, duration_ns, duration_text
from deadbeat.base.store.files import free_bytes
from deadbeat.cli.main import main
from deadbeat.latencies.latency.engines import SimulatedEngine
from deadbeat.latencies.latency.spec import LatencySpec, estimate, resolve, specify


def spec_of(**more: object) -> LatencySpec:
    asked = {"loads": "idle", "engines": "simulated", "repeats": 1, "seconds": "1s", **more}
    asked["duration"] = asked.pop("seconds")
    return resolve(specify(asked), engines={"simulated": ""}, cpus=(0, 1))


class Refused(SimulatedEngine):
    def measure(self, target: object, request: object) -> object:
        raise TargetError("SCHED_FIFO was refused", "--policy other measures without it")


def test_what_is_refused_is_refused_before_anything_is_said_to_begin(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deadbeat.latencies.latency.kind.make_engine", lambda name, *_: Refused())
    assert main(("latency", "--simulated", "--loads", "idle", "--runs", str(tmp_path))) == 3
    told = capsys.readouterr().err
    assert "SCHED_FIFO was refused (--policy other" in told and told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["1", "1s", "1000ms"])
def test_both_verbs_take_all_forms_of_a_length(text: str, tmp_path: Path, capsys: Capture) -> None:
    short = ("--repeats=1", "--no-figures", "--json", f"--runs={tmp_path}", f"--duration={text}")
    assert main(("latency", "--simulated", "--loads", "idle", *short)) == 0
    assert {row["hours"] for row in answer_of(capsys.readouterr().out)["rows"]} == {1 / 3600}
    assert main(("load", "--simulated", "--set", "normal=0", "--remedies", "none", *short)) == 0
    capsys.readouterr()
    written = json.loads((tmp_path / "load" / "load.json").read_text())
    assert written["spec"]["seconds"] == 1.0


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [(0, "0ns"), (1, "1ns"), (50_000, "50us"), (1_500, "1500ns"), (10**9, "1s"),
     (90 * 10**9, "90s"), (60 * 10**9, "1min"), (2 * 3600 * 10**9, "2h"), (86_400 * 10**9, "1d")],
)  # fmt: skip
def test_a_length_is_shown_as_it_is_typed(value_ns: int, text: str) -> None:
    assert duration_text(value_ns) == text
    assert duration_ns(text) == value_ns


def test_a_length_out_of_range_names_the_range_as_one_types_it() -> None:
    with pytest.raises(RefusedError, match=r"from 50us to 1min"):
        DurationNs(50_000, 60 * 10**9).parse("2h")


def test_a_file_is_no_place_for_results(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeadbeatError, match="file is not a folder"):
        free_bytes(tmp_path / "file" / "runs")


def test_made_up_runs_are_estimated_by_what_drawing_them_takes() -> None:
    long = spec_of(seconds="300s")
    seconds = estimate(long, runs=1000).seconds
    assert 60 < seconds < 1200  # 600 thousand wake-ups a run; a second would be no estimate
    assert estimate(long, runs=2000).seconds == pytest.approx(2 * seconds)
    real = attrs.evolve(long, engines=("prober",))
    assert estimate(real, runs=1).seconds > 300


def test_the_first_line_counts_and_estimates(tmp_path: Path, capsys: Capture) -> None:
    words = ("--loads", "idle", "--repeats", "1", "--no-figures", "--runs", str(tmp_path))
    assert main(("latency", "--simulated", *words)) == 0
    told = capsys.readouterr().err
    assert re.search(
        r"1 run: 1 load, simulated, 1 time 2 s: [0-9.]+ kB of disk", " ".join(told.split())
    )
    assert " 0 s left" not in told


def test_help_leads_to_every_kind_of_measurement(capsys: Capture) -> None:
    assert main(()) == 0
    told = capsys.readouterr().out
    for verb in ("doctor", "latency --quick", "load --quick", "contention --quick"):
        assert f"    deadbeat {verb}  " in told


def test_an_unknown_knob_names_no_list_of_fifty(capsys: Capture) -> None:
    assert main(("tune", "apply", "--knob", "zzz", "--dry-run")) == 2
    told = capsys.readouterr().err
    assert "deadbeat list knobs names them" in told and len(told) < 200
