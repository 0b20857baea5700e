"""Truth: foreign/expected.json, counted by hand, of files as users of each tool have them; the
variants follow from the layout that each tool prints."""

import gzip
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer_of

from deadbeat.base.store.texts import read_text
from deadbeat.cli.main import main
from deadbeat.latencies.latency import document
from deadbeat.latencies.latency.foreign import ForeignFile, all_importers
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.summary import LatencyRow, LatencySummary

FILES = Path(__file__).parents[1] / "pools/foreign"
EXPECTED = json.loads((FILES / "expected.json").read_text())
REFUSED = {"14-": "cyclicdeadline", "28-": "stress-ng"}
#: See test_noise.py.
NOISE = ("17-", "18-", "19-", "20-")
MILLI = ("--interval", "1ms", "--priority", "95")
ASKED = {"03-": MILLI, "04-cyclictest-2.4": ("--interval", "200us", "--priority", "95"),
         "04-cyclictest-2.8": MILLI, "07-": MILLI, "08-": MILLI, "09-": MILLI,
         "21-": MILLI, "22-": MILLI, "23-": MILLI, "52-": MILLI}  # fmt: skip
_HIST = "15-rtla-timerlat-hist.txt"
LENGTHS = {"03-": "10s", "04-cyclictest-2.4": "2s", "04-cyclictest-2.8": "10s", "05-": "10s"}


def of(table: dict[str, Any], name: str, default: Any) -> Any:
    return next((value for key, value in table.items() if name.startswith(key)), default)


def take(runs: Path, *words: str | Path) -> int:
    return main(["import", "--no-figures", "--runs", str(runs), *map(str, words)])


def told(name: str) -> list[str]:
    length = of(LENGTHS, name, "")
    return [*of(ASKED, name, ()), *(("--duration", length) if length else ())]


def summary_of(runs: Path) -> LatencySummary:
    (folder,) = {path.resolve() for path in runs.iterdir()}
    return document.summary_of(LatencyStore.open(folder))


@pytest.mark.parametrize("name", [name for name in EXPECTED if not name.startswith(NOISE)])
def test_every_file_that_users_bring(name: str, tmp_path: Path, capsys: Capture) -> None:
    files = [FILES / each for each in name.split()]
    wanted = EXPECTED[name]
    status = take(tmp_path, *told(name), *files)
    said = capsys.readouterr()
    if tool := of(REFUSED, name, ""):
        assert (status, said.out) == (2, "") and f"is of {tool}" in said.err
        assert "deadbeat latency" in said.err and not list(tmp_path.iterdir())
        return
    assert status == 0
    (cell,) = summary_of(tmp_path).cells
    whole = cell.whole
    check(wanted, whole, cell.cpus)
    assert cell.load.text == wanted.get("load", "not idle: unknown").removeprefix("not idle: ")
    if "cpus" in wanted:
        assert [row.cpu for row in cell.cpus] == wanted["cpus"] and "(thread" not in said.out
    for late in wanted.get("irq_max_ns", ()):
        assert f"{late // 1000} µs on CPU" in said.err
    (folder,) = {path.resolve() for path in tmp_path.iterdir()}
    for run in LatencyStore.open(folder).runs():
        intervals = [cpu.interval_ns or run.interval_ns for cpu in run.cpus]
        wide = wanted.get("interval_ns", intervals)
        assert intervals == (wide if isinstance(wide, list) else [wide])
        assert run.priority == wanted.get("priority", run.priority)
    assert whole.missed == wanted.get("overruns", 0)
    for silent in wanted.get("never_ran", ()):
        assert f"CPU {silent} never woke up: 0 of " in said.out
    runs = wanted.get("runs", len(files))
    assert len(whole.runs) == runs and ("run 1 of" in said.err) == (runs > len(files))
    if wanted["max_ns"] is None:
        assert " or more late" in said.out and "≥" in said.out


def check(wanted: dict[str, Any], whole: LatencyRow, rows: tuple[LatencyRow, ...]) -> None:
    raw = whole.raw
    assert raw["min"].value_ns == wanted["min_ns"] and raw["max"].value_ns == wanted["max_ns"]
    assert whole.cycles == wanted.get("cycles", whole.cycles)
    if "mean_ns" in wanted:
        assert raw["mean"].value_ns == pytest.approx(wanted["mean_ns"], abs=1)
    for name in ("p50", "p99", "p99.9"):
        value, least = raw[name].value_ns, wanted.get(f"{name}_ns")
        if least is None:
            assert (value, raw[name].low_ns, raw[name].high_ns) == (None, None, None)
        else:  # kept within a thousandth
            assert least <= value < least + max(wanted["class_ns"], least / 1000 + 1)
    if "row_cycles" in wanted:
        assert [row.cycles for row in rows] == wanted["row_cycles"]
    if "expected" in wanted:
        assert [row.expected for row in rows] == wanted["expected"]
    if "beyond" in wanted:
        assert [row.raw.histogram.overflow for row in rows] == wanted["beyond"]


def test_every_file_is_told_by_one_importer_alone(tmp_path: Path) -> None:
    for name in " ".join(EXPECTED).split():
        text = read_text(FILES / name, what="result", hint="").text
        fitting = [each.name for each in all_importers() if each.fits(ForeignFile.of(text))]
        assert len(fitting) == 1, (name, fitting)


@pytest.mark.parametrize(
    "name", [name for name in EXPECTED if not name.startswith((*REFUSED, *NOISE, "29-"))]
)
def test_both_runs_of_a_file_are_kept(name: str, tmp_path: Path, capsys: Capture) -> None:
    """Whatever it is, written twice into one file it has twice as many wake-ups."""
    text = read_text(FILES / name, what="result", hint="").text
    if "T:" in text:  # of another process
        text += re.sub(r"\( *(\d+)\)", r"(9\1)", text)
    else:
        text += text
    file = tmp_path / "both.txt"
    file.write_text(text)
    assert take(tmp_path / "runs", *told(name), file) == 0
    (cell,) = summary_of(tmp_path / "runs").cells
    wanted = EXPECTED[name]
    assert len(cell.whole.runs) == 2 * wanted.get("runs", 1)
    assert cell.whole.cycles == 2 * wanted.get("cycles", cell.whole.cycles // 2)
    assert cell.whole.raw["max"].value_ns == wanted["max_ns"]
    assert "run 1 of 2 in it" in capsys.readouterr().err or wanted.get("runs")


def test_a_file_of_several_tools_is_refused(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "a.txt"
    names = ("06-cyclictest-terminal.txt", "15-rtla-timerlat-hist.txt")
    file.write_text("".join((FILES / name).read_text() for name in names))
    assert take(tmp_path / "runs", file) == 2
    said = capsys.readouterr().err
    assert "is of several tools: cyclictest as text, rtla timerlat (write a file of each)" in said


def test_a_second_object_that_is_cut_off_is_told(tmp_path: Path, capsys: Capture) -> None:
    text = (FILES / "48-cyclictest-two-json.json").read_text()
    file = tmp_path / "a.json"
    file.write_text(text[:-200])
    assert take(tmp_path / "runs", file) == 3
    assert "is damaged JSON: " in capsys.readouterr().err


def test_a_maximum_beyond_the_histogram_is_no_maximum(tmp_path: Path, capsys: Capture) -> None:
    known, unknown = (FILES / each for each in (_HIST, "43-rtla-hist-no-summary.txt"))
    assert take(tmp_path, "--name", "a", "--limits", "30us", unknown) == 0
    assert main(["show", "a", "--runs", str(tmp_path)]) == 0
    assert "10 of 10,000 wake-ups exceeded the deadline" in capsys.readouterr().out
    assert take(tmp_path, "--name", "both", unknown, known) == 0
    assert "Worst wake-up: 58 µs or more late (CPU 2)" in capsys.readouterr().out
    assert take(tmp_path, "--name", "b", FILES / "46-rtla-two-hists.txt") == 0
    assert main(["compare", "a", "b", "--runs", str(tmp_path), "--no-figures", "--ungated"]) == 0
    assert main(["page", "a", "--runs", str(tmp_path)]) == 0
    assert "unexpected" not in capsys.readouterr().err


def test_a_quantile_without_a_histogram_is_nowhere_a_number(tmp_path: Path, capsys: Capture):
    file = FILES / "05-cyclictest-summary-lines.txt"
    assert take(tmp_path, "--name", "a", "--limits", "30us", file) == 0
    shown = capsys.readouterr().out
    assert "Typical: unknown, no histogram." in shown and "(thread 2)" in shown
    assert " 0 ns" not in shown and "latency-overflow" not in shown
    assert "25,666 of 25,666" not in shown.replace("up to 25,666 of 25,666", "")
    assert take(tmp_path, "--name", "b", file) == 0
    assert main(["page", "a", "--runs", str(tmp_path), "--no-figures"]) == 0
    rows = (tmp_path / "a" / "latency.csv").read_text().splitlines()
    line = dict(zip(rows[0].split(","), rows[1].split(","), strict=True))
    assert {line[f"raw_{each}_ns"] for each in ("p50", "p90", "p99", "p99.9", "p99.99")} == {""}
    capsys.readouterr()
    assert main(["compare", "a", "b", "--runs", str(tmp_path), "--no-figures", "--ungated"]) == 0
    assert "unexpected" not in capsys.readouterr().err


# ---------- variants ----------


def columns(threads: int, *, totals: bool, zeros: bool, step: int = 1, shift: int = 0) -> str:
    """A text of cyclictest: thread n has 90 wake-ups of 3 + n, 10 of 20 + n."""
    found = {value: [0] * threads for value in (range(40) if zeros else ())}
    for n in range(threads):
        for value, count in ((3 + n, 90), (20 + n, 10)):
            found.setdefault(value * step + shift, [0] * threads)[n] = count
    lines = ["# /dev/cpu_dma_latency set to 0us", "# Histogram"]
    lines += [f"{v:06d} " + "\t".join(f"{n:06d}" for n in found[v]) for v in sorted(found)]
    lines += ["# Total: " + " ".join(["000000100"] * threads)] * totals
    means = ((90 * (3 + n) + 10 * (20 + n)) * step // 100 + shift for n in range(threads))
    lines += [
        "# Min Latencies: " + " ".join(f"{(3 + n) * step + shift:05d}" for n in range(threads)),
        "# Avg Latencies: " + " ".join(f"{mean:05d}" for mean in means),
        "# Max Latencies: " + " ".join(f"{(20 + n) * step + shift:05d}" for n in range(threads)),
        "# Histogram Overflows: " + " ".join(["00000"] * threads),
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize("old", [True, False])
def test_texts_of_cyclictest_of_any_number_of_threads(threads: int, old: bool, tmp_path: Path):
    file = tmp_path / "in" / "a.txt"
    file.parent.mkdir()
    file.write_text(columns(threads, totals=old, zeros=old))
    assert take(tmp_path / "runs", *MILLI, file) == 0
    (cell,) = summary_of(tmp_path / "runs").cells
    for n, row in enumerate(cell.cpus):
        assert (row.cycles, row.raw["min"].value_ns) == (100, 1000 * (3 + n))
        assert row.raw["max"].value_ns == 1000 * (20 + n)


def test_a_unit_is_found_asked_for_or_said(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "a.txt"
    file.write_text(columns(2, totals=False, zeros=False, step=1000, shift=257))
    runs = tmp_path / "runs"
    assert take(runs, *MILLI, file) == 2
    assert "does not say its unit" in capsys.readouterr().err and not runs.exists()
    for words, least in ((("--duration", "100ms"), 3257), (("--set", "unit=us"), 3_257_000)):
        assert take(runs / words[1], *MILLI, *words, file) == 0
        assert summary_of(runs / words[1]).cells[0].whole.raw["min"].value_ns == least
    assert "latencies in nanoseconds" in capsys.readouterr().err


@pytest.mark.parametrize(("width", "unit"), [(1, "us"), (5, "us"), (250, "ns")])
def test_classes_of_rtla_of_any_width(width: int, unit: str, tmp_path: Path) -> None:
    long = {"us": "microseconds (us)", "ns": "nanoseconds (ns)"}[unit]
    file = tmp_path / "a.txt"
    file.write_text(
        f"# RTLA timerlat histogram\n# Time unit is {long}\n# Duration:   0 00:01:00\n"
        "Index   IRQ-000   Thr-000   Usr-000\n"
        f"0   59990  0 0\n{width}  10  59000 0\n{2 * width} 0 900 59000\n{5 * width} 0 90 1000\n"
        "over: 0 10 0\ncount: 60000 60000 60000\n"
        f"min: 0 {width} {2 * width}\navg: 0 {width} 0\nmax: {width} {9999 * width} {5 * width}\n"
    )
    assert take(tmp_path / "runs", file) == 0
    (cell,) = summary_of(tmp_path / "runs").cells
    (row,), step = cell.cpus, width * {"us": 1000, "ns": 1}[unit]
    assert (row.cycles, row.raw.histogram.overflow, row.expected) == (60_000, 10, 60_000)
    assert row.raw["max"].value_ns == 9999 * step and row.raw.histogram.resolution_ns == step
    value = row.raw["p99"].value_ns
    assert value is not None and 2 * step <= value < 3 * step


def test_words_elsewhere_in_a_file_tell_nothing(tmp_path: Path) -> None:
    """A host called cyclictest, and a command line that mentions oslat."""
    plain = json.loads((FILES / "21-jitterdebugger-v3.json").read_text())
    plain["sysinfo"] |= {"nodename": "cyclictest", "note": '"RT Dataset" "thread" oslat'}
    file = tmp_path / "a.json"
    file.write_text(json.dumps(plain))
    assert take(tmp_path / "runs", *MILLI, file) == 0
    assert summary_of(tmp_path / "runs").cells[0].engine == "jitterdebugger"


def test_what_a_file_says_of_its_load_is_not_said_otherwise(tmp_path: Path, capsys: Capture):
    file = FILES / "24-osadl-under-load.json"
    for load in ("idle", "cpu:100"):
        assert take(tmp_path, "--load", load, file) == 2
        assert "says brute-force" in capsys.readouterr().err
        words = ["import", f"{load}={file}", "--runs", str(tmp_path)]
        assert main(words) == 2 and "says brute-force" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert take(tmp_path, "--load", "cpu:50", FILES / "11-cyclictest-bom.json") == 0
    assert summary_of(tmp_path).cells[0].load.text == "cpu-050"


def test_standard_input_odd_names_and_files_of_others(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (FILES / "10-cyclictest.json.gz").read_bytes()
    runs = tmp_path / "runs"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert take(runs / "one") == 0 and (runs / "one" / "imported").is_dir()
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.json"))
    odd.write_bytes(gzip.decompress(data))
    assert take(runs / "two", odd) == 0
    assert main(["import", str(odd), "--no-figures", "--runs", str(runs / "3")]) == 0
    assert "caf\ufffd.json" in capsys.readouterr().err
    tasks, other = tmp_path / "t.csv", tmp_path / "notes.txt"
    tasks.write_text("wcet,period\n1,10\n")
    other.write_text("nothing of anybody\n")
    assert take(runs, tasks) == 2
    assert re.search(r"holds tasks.*deadbeat sched analyze \S*t\.csv", capsys.readouterr().err)
    assert take(runs, other) == 2
    assert "in no known format (one of: cyclictest --json, " in capsys.readouterr().err


def test_a_minute_is_a_minute(tmp_path: Path, capsys: Capture) -> None:
    words = ["latency", "--simulated", "--loads", "idle", "--repeats", "1", "--duration", "1m"]
    assert main([*words, "--no-figures", "--runs", str(tmp_path), "--json"]) == 0
    answer = answer_of(capsys.readouterr().out)
    assert answer["rows"][0]["hours"] == pytest.approx(1 / 60)
