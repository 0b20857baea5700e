"""Truth: files as the tools lay them out (rt-tests 2.4 to 2.9, tools/tracing/rtla), read."""

import re
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer_of

from deadbeat.cli.main import main

FILES = Path(__file__).parents[1] / "pools/foreign"
#: File, tool, whether of the hardware alone, and of each CPU: longest gap in µs, gaps, causes.
KNOWN: dict[str, tuple[str, bool, dict[int | None, tuple[Any, Any, dict[str, int]]]]] = {
    "17-rtla-osnoise-top.txt": ("osnoise", False, {
        2: (118, None, {"hardware": 0, "NMI": 0, "interrupt": 61240, "softirq": 812, "thread": 37}),
        3: (21, None, {"hardware": 3, "NMI": 0, "interrupt": 60088, "softirq": 95, "thread": 4}),
    }),
    "18-oslat.json": ("oslat", False, {2: (47, 4307, {}), 3: (12, 3033, {})}),
    "19-oslat.txt": ("oslat", False, {2: (47, 4307, {}), 3: (12, 3033, {})}),
    "20-hwlatdetect.txt": ("hwlatdetect", True, {
        None: (143, 3, {}), 1: (143, 1, {}), 2: (21, 2, {}),
    }),
    "53-rtla-hwnoise.txt": ("hwnoise", True, {
        2: (9, None, {"hardware": 87, "NMI": 0}), 3: (None, 0, {"hardware": 0, "NMI": 0}),
    }),
    "54-rtla-osnoise-hist.txt": ("osnoise", False, {2: (611, 18636, {}), 3: (21, 918, {})}),
}  # fmt: skip


def take(runs: Path, *words: str | Path) -> int:
    return main(["import", "--no-figures", "--runs", str(runs), *map(str, words)])


def rows(runs: Path, file: Path, capsys: Capture) -> list[dict[str, Any]]:
    assert take(runs, file, "--json") == 0
    answer = answer_of(capsys.readouterr().out)
    assert answer["kind"] == "noise" and "no wake-up latency" in answer["headline"]
    found: list[dict[str, Any]] = answer["rows"]
    return found


def of(longest_us: int | None) -> int | None:
    return None if longest_us is None else longest_us * 1000


@pytest.mark.parametrize("name", KNOWN)
def test_noise_of_every_tool(name: str, tmp_path: Path, capsys: Capture) -> None:
    tool, hardware, cpus = KNOWN[name]
    found = rows(tmp_path, FILES / name, capsys)
    assert {(row["tool"], row["hardware"]) for row in found} == {(tool, hardware)}
    assert {row["cpu"]: (row["longest_ns"], row["gaps"], row["causes"]) for row in found} == {
        cpu: (of(longest), *rest) for cpu, (longest, *rest) in cpus.items()
    }


def test_two_runs_in_a_file_are_repeats(tmp_path: Path, capsys: Capture) -> None:
    for name, (_, _, cpus) in KNOWN.items():
        file = tmp_path / name
        file.write_text((FILES / name).read_text() * 2)
        for row in rows(tmp_path / "runs" / name, file, capsys):
            longest, gaps, causes = cpus[row["cpu"]]
            assert (row["runs"], row["longest_ns"]) == (2, of(longest))
            assert row["gaps"] == (None if gaps is None else 2 * gaps)
            assert row["causes"] == {cause: 2 * n for cause, n in causes.items()}


def changed(name: str, *pairs: tuple[str, str]) -> str:
    text = (FILES / name).read_text()
    for pattern, new in pairs:
        text, many = re.subn(pattern, new, text, flags=re.M)
        assert many, pattern
    return text


def test_no_gap_is_none_and_one_beyond_the_table_is_at_least(tmp_path: Path, capsys: Capture):
    none = changed(
        "20-hwlatdetect.txt",
        (r"^Max Latency: .*", "Max Latency: Below threshold"),
        (r"(recorded|threshold): 3", r"\1: 0"),
        (r"^ts: .*\n", ""),
    )
    file = tmp_path / "a.txt"
    file.write_text(none)
    assert take(tmp_path / "a", file) == 0
    assert "No gap was found by hwlatdetect." in capsys.readouterr().out
    head = changed("54-rtla-osnoise-hist.txt", (r"^Index(.*\n)+", "Index\n"))
    file.write_text(head + "over: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n")
    assert take(tmp_path / "b", file) == 0
    assert "No gap was found by osnoise." in capsys.readouterr().out
    file.write_text(changed("54-rtla-osnoise-hist.txt", (r"^(count|min|avg|max):.*\n", "")))
    assert take(tmp_path / "c", file) == 0
    out = capsys.readouterr().out
    assert "22 µs or more (CPU 2)" in out and "≥ 22" in out


def test_what_an_older_or_cut_off_file_lacks_is_said(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "a.txt"
    file.write_text(changed("20-hwlatdetect.txt", (r", cpu:\d", ""), (r"^ts: .*outer:143.*\n", "")))
    (row,) = rows(tmp_path / "a", file, capsys)
    assert (row["cpu"], row["longest_ns"], row["gaps"]) == (None, 143_000, 3)
    assert take(tmp_path / "a", file) == 0
    assert "2 of 3 samples are in it" in capsys.readouterr().err
    file.write_text(changed("20-hwlatdetect.txt", (r"^Max Latency(.*\n)*", "")))
    assert take(tmp_path / "b", file) == 3
    assert "is damaged hwlatdetect: it is cut off" in capsys.readouterr().err


def test_it_is_no_wake_up_latency(tmp_path: Path, capsys: Capture) -> None:
    noise, late = FILES / "20-hwlatdetect.txt", FILES / "15-rtla-timerlat-hist.txt"
    assert take(tmp_path, noise, late) == 2
    assert "some files hold wake-up latencies, others gaps" in capsys.readouterr().err
    for option in (("--interval", "1ms"), ("--limits", "9us"), ("--set", "unit=us")):
        assert take(tmp_path, *option, noise) == 2
        assert " is of wake-ups: the files hold none (leave " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert take(tmp_path, "--name", "noise", noise) == 0
    assert take(tmp_path, "--name", "other", f"cpu:100={FILES / '53-rtla-hwnoise.txt'}") == 0
    assert take(tmp_path, "--name", "late", late) == 0
    runs = ("--runs", str(tmp_path))
    capsys.readouterr()
    assert main(["compare", "noise", "late", *runs]) == 2
    assert "noise" in capsys.readouterr().err
    assert take(tmp_path, "--name", "again", noise) == 0
    assert main(["compare", "noise", "again", *runs, "--no-figures", "--ungated"]) == 0
    for verb in ("show", "page", "list"):
        assert main([verb, *(["other"] if verb != "list" else []), *runs]) == 0
    assert "cpu-100" in capsys.readouterr().out
