"""Rows of the thesis, section 4: primitives of real-time programs, on a made-up machine."""

import csv
import os
import re
from pathlib import Path

import pytest
from helpers.seed_rows import ROOT, Row, says

SIMULATED = ("--simulated", "--no-figures", "--repeats", "2")
KB = 1024
SIZES, PARTS = {kb * KB for kb in range(1, 11)}, {6 * KB * 2**power for power in range(11)}
PAIRS = {f"{pairs} pairs, one CPU{how}" for pairs in (8, 16, 32, 64, 128)
         for how in ("", ", handler no higher")}  # fmt: skip
ALL, ONE_CACHE = {"16 threads, all CPUs"}, {"16 threads, CPUs of one cache"}
BOTH = {
    f"4 threads, CPUs {which}, both kinds at once{pair}"
    for which in ("of one cache", "that share no cache") for pair in ("", ", pair 2", ", pair 3")
}  # fmt: skip
#: Figure -> sizes, places, and the figures of its conclusions: all that the thesis draws.
FIGURES = {
    7: (SIZES, ALL, "allocation-by-runtime", "average"),
    8: (SIZES, ALL, "copy-by-runtime", "average"),
    9: (PARTS, ONE_CACHE, "shared-copy-degrades", "source 6 MB"),
    10: (PARTS, ONE_CACHE, "byte-insensitive", "ps a byte"),
    11: ({None}, PAIRS, "dispatch-average-constant", "8 pairs: average .* 128 pairs"),
    12: ({None}, PAIRS, "dispatch-maximum-grows", "8 pairs: maxima .* 128 pairs"),
    13: ({None}, BOTH, "cache-aware-faster", "with a shared cache, .* without"),
}


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES)
def test_figure(row: Row, figure: int) -> None:
    sizes, places, conclusion, figures = FIGURES[figure]
    found = row.answer("--simulated", "--figures")
    assert {each["size"] for each in found["rows"]} == sizes
    assert {each["placement"] for each in found["rows"]} == places
    (judged,) = (each for each in found["conclusions"] if each["id"] == conclusion)
    for each in judged["evidence"]:
        says(each["figures"], figures)
    assert list(Path(found["path"], "figures").glob("*.png"))
    if figure == 13:
        row.seen = "needs 4 CPUs in 2 caches"


@pytest.mark.slow
def test_conclusions(row: Row) -> None:
    found = row.answer("--simulated", "--no-figures")["conclusions"]
    assert len(found) == 12
    jvm = [each for each in found if "real-time JVM" in each["verdict"]]
    assert len(jvm) == 3 and all(each["evidence"] for each in found)


def test_loop(row: Row) -> None:
    few = (*SIMULATED, "--tests", "lock:tas", "--samples", "30")
    assert all(each["samples"] >= 60 for each in row.answer(*few)["rows"])
    says(row.main("show", "primitives"), "reading of the processor's counter takes")
    row.main("primitives", *few, "--name", "kernel")
    assert "processor's counter" not in row.main("show", "kernel")


def test_files(row: Row) -> None:
    """A column of the merged table for each thread, with what its own file has."""
    kept = ("--tests", "alloc", "--sizes", "64", "--samples", "20", "--keep", "--name", "kept")
    row.main("primitives", *SIMULATED, *kept)
    row.run(RUN="kept", DIR="samples")
    merged = next(Path("samples").glob("*.all.*.csv"))
    with merged.open(encoding="utf-8") as file:
        columns = list(zip(*csv.reader(file), strict=True))
    threads = [
        path.read_text().split() for path in sorted(Path("samples").glob(f"{merged.stem}.*txt"))
    ]
    assert len(columns) == len(threads) == 8
    assert sorted(list(column[1:]) for column in columns) == sorted(threads)


@pytest.mark.parametrize("where", ["named", "here"])
def test_arguments(row: Row, where: str) -> None:
    """The example of the thesis with fewer iterations, named or as args.xml of the folder."""
    given = {"no_of_threads": "10", "type_of_threads": "rt", "scheduling_policy": "rr",
             "count": "100", "priority": "30", "datadir": "./datadir", "instr_load": "1000",
             "memtype": "LT", "memsize": "32M", "allocsize": "8"}  # fmt: skip
    lines = "".join(f'<arg name="{key}" value="{text}"> x </arg>' for key, text in given.items())
    file, fill = ("a.xml", {"FILE": "a.xml"}) if where == "named" else ("args.xml", {})
    Path(file).write_text(f'<testapp name="rtsj.mcperf.mem.alloc.memalloc">{lines}</testapp>')
    (found,) = row.answer(*SIMULATED, **fill)["rows"]
    assert (found["operation"], found["size"], found["samples"]) == ("alloc lt", 8, 2 * 10 * 100)
    assert found["placement"] == "10 threads, all CPUs"
    assert len(list(Path("datadir").glob("*.0001.thread-*.txt"))) == 10


def test_threads(row: Row) -> None:
    few = ("--tests", "copy", "--sizes", "64,1M", "--samples", "10", "--set", "policy=rr")
    found = row.answer(*SIMULATED, *few)["rows"]
    assert {(each["size"], each["placement"].split(",")[0]) for each in found} == {
        (64, "2 threads"), (2**20, "2 threads"),
    }  # fmt: skip


def test_places(row: Row) -> None:
    found = row.answer(*SIMULATED, "--tests", "lock,alloc", "--sizes", "64", "--samples", "10")
    seen = {each["placement"] for each in found["rows"]}
    assert seen >= {"all CPUs", "one CPU", "CPUs of one cache", "CPUs that share no cache"}


def test_allocation(row: Row) -> None:
    """Heap, scoped memory of linear and variable time, and immortal memory."""
    few = ("--runtimes", "native,jvm", "--sizes", "64", "--samples", "10")
    seen = {each["operation"] for each in row.answer(*SIMULATED, *few)["rows"]}
    assert seen >= {f"alloc {area}" for area in ("heap", "lt", "vt", "immortal")}


def test_caches(row: Row) -> None:
    """What the kernel's files say of the CPU that real-time tasks are meant for."""
    cpu = max(os.sched_getaffinity(0))
    folder = Path(f"/sys/devices/system/cpu/cpu{cpu}/cache")
    levels = {(path.parent / "level").read_text().strip(): path.read_text().strip()
              for path in folder.glob("index*/shared_cpu_list")}  # fmt: skip
    checks = {each["id"]: each for each in row.answer("--rt-cpus", str(cpu))["checks"]}
    found = checks["power.shared-cache"]
    shared = [level for level, cpus in levels.items() if cpus != str(cpu)]
    assert found["status"] == ("fail" if shared else "pass" if levels else "unknown")
    assert {*re.findall(r"L(\d)", found["found"])} == {*shared}


@pytest.mark.hardware
def test_runtime(row: Row) -> None:
    """Any runtime that speaks the format is measured beside native code; this one is no JVM."""
    few = ("--tests", "copy", "--sizes", "1K", "--duration", "0.02", "--repeats", "1")
    example = f"py={ROOT / 'examples/external_runtime.py'}"
    found = row.answer(*few, "--no-figures", **{"NAME=COMMAND": example})["rows"]
    assert {each["runtime"] for each in found} == {"native", "external:py"}
    row.seen = "out of reach: JamaicaVM needs a licence"
