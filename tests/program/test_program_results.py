"""Truth: recordings made by hand, and the rules of what their pictures, files and proofs mean."""

import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import Capture, answer_of
from helpers.made_recordings import MS, READ, Made

import deadbeat
from deadbeat.base.model.errors import DataError
from deadbeat.base.model.platform import example_platform
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.base.store.runfolder import run_converter
from deadbeat.cli.main import main
from deadbeat.program.derive.records import Recording, RecordKind
from deadbeat.program.derive.sections import DerivedSection
from deadbeat.program.derive.system import reduced, system_of
from deadbeat.program.derive.tasks import DerivedLock, DerivedSet, DerivedTask, Waited
from deadbeat.program.derive.timeline import HELD, LOCKED, OTHERS, READY, RUNS, kept
from deadbeat.program.run.results import FOLDERS, ProgramKey, ProgramRun, ProgramStore
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import TracedProgram, across, inverts, traced, verdict
from deadbeat.sched.tasksystems import write_task_system
from deadbeat.tasksets.prices.stage import save_prices
from deadbeat.tasksets.prices.table import PriceBatch, StoredPrices
from deadbeat.tasksets.prices.works import PriceWork

pytestmark = pytest.mark.usefixtures("in_a_folder")
TICKS = [n * 10 * MS for n in range(1, 61)]
LOCK = 0x9000


def chain() -> Recording:
    """sensor works 1 ms, then wakes filter: 2 ms, then actuator: 1 ms."""
    made = Made()
    names = ("sensor", "filter", "actuator")
    first, *others = [
        made.thread(name, policy="fifo", priority=60 - place, cpus=(place,))
        for place, name in enumerate(names)
    ]
    ends = [end for _, end in made.loop(first, TICKS, [MS] * 60)]
    for tid, by, work in zip(others, (first, others[0]), (2 * MS, MS), strict=True):
        wakes = [end - 500 for end in ends]
        ends = [end for _, end in made.loop(tid, wakes, [work] * 60, what=READ, by=by)]
    return made.recording()


def inversion() -> Recording:
    """In job 29 control waits 14 ms for map_lock, which logger holds; another thread runs."""
    made = Made()
    control = made.thread("control", policy="fifo", priority=80, cpus=(0,))
    logger = made.thread("logger", cpus=(1,))
    made.loop(logger, [tick + 5 * MS for tick in TICKS], [MS] * 60)
    spans = made.loop(control, TICKS, [16 * MS if n == 29 else 2 * MS for n in range(60)])
    begin = spans[29][0]
    made.add(begin - 3 * MS, logger, RecordKind.GOT, LOCK, 0x2)
    made.add(begin + 15 * MS - 1000, logger, RecordKind.UNLOCK, LOCK, 0x2)
    made.add(begin + MS - 100, control, RecordKind.WANT, LOCK, 0x1)
    made.away(control, begin + MS, begin + 15 * MS, wake=begin + 15 * MS - 500, by=logger)
    made.rows.append((10**12 + begin + MS, 0, RecordKind.SWITCH, 0, 999, 0, 0))
    made.add(begin + 15 * MS, control, RecordKind.GOT, LOCK, 0x1)
    made.add(begin + 15 * MS + 200_000, control, RecordKind.UNLOCK, LOCK, 0x1)
    names = {LOCK: "map_lock", 0x1: "control (map.c:1)", 0x2: "logger (map.c:2)"}
    return made.recording(symbols=names, names={999: "eats"})


def stored(name: str, *recordings: Recording) -> ProgramStore:
    spec = ProgramSpec(name=name, command=("x",), repeats=len(recordings))
    store = ProgramStore.create(Path("runs", name), FOLDERS.plain(spec), example_platform())
    for repeat, recording in enumerate(recordings, 1):
        key = ProgramKey(repeat)
        store.keep_events(key, recording)
        seen = traced(recording, {})
        store.keep(ProgramRun(key=key, started="", seconds=0.6, status=0, tasks=(), traced=seen))
    return store


def test_the_worst_job_is_drawn_with_who_held_its_lock() -> None:
    moment = traced(inversion(), {}).moments[0]
    assert moment.what.startswith("Job 29 of control: 16") and moment.marks["deadline"] == 10 * MS
    held = ("map_lock, held by control", "map_lock, held by logger")
    assert moment.rows == ("control", "logger", "CPU 0, other threads", *held)
    drawn: defaultdict[tuple[str, str], int] = defaultdict(int)
    for each in moment.stretches:
        drawn[moment.rows[each.row], each.kind] += each.end_ns - each.begin_ns
    near = pytest.approx
    assert drawn["control", LOCKED] == near(14 * MS, abs=2000)
    assert drawn["control", RUNS] == near(2 * MS, abs=2000) and ("control", READY) in drawn
    assert drawn["CPU 0, other threads", OTHERS] == near(14 * MS, abs=2000)
    assert drawn["map_lock, held by logger", HELD] == near(15 * MS, abs=10_000)
    assert "eats" in {each.text for each in moment.stretches}


def test_a_chain_has_a_time_from_end_to_end() -> None:
    (found,) = traced(chain(), {}).paths
    assert found.tasks == ("sensor", "filter", "actuator") and found.share == 1
    assert found.kinds == ("woken", "woken")
    for value in (found.age_mean_ns, found.age_max_ns, found.reaction_max_ns):
        assert value == pytest.approx(4 * MS, abs=20_000)


def test_events_are_kept_as_they_were_recorded() -> None:
    recording = inversion()
    store = stored("a", recording)
    again = store.events(ProgramKey(1))
    assert again and np.array_equal(again.events, recording.events)
    for name in ("threads", "begin_ns", "end_ns", "calls", "symbols", "names"):
        assert getattr(again, name) == getattr(recording, name), name
    part = kept(recording, 300 * MS, 100)
    first = int(np.searchsorted(recording.events["ns"], part.begin_ns))
    assert len(part.events) == 100 and part.end_ns < recording.end_ns
    assert np.array_equal(part.events, recording.events[first : first + 100])
    assert part.begin_ns < recording.begin_ns + 300 * MS < part.end_ns
    assert kept(recording, 0) is not recording and len(kept(recording, 0).events) > 100
    Path("runs/a/events/0001.npz").write_bytes(b"PK")
    with pytest.raises(DataError, match="delete the file"):
        store.events(ProgramKey(1))


def test_all_events_are_a_trace_as_perfetto_reads_it(capsys: Capture) -> None:
    """Named tracks, spans that do not cross, arrows from a span into a span."""
    stored("a", chain())
    stored("b", inversion())
    for name, spans, arrows in (("a", {"job 0", RUNS}, 120), ("b", {HELD, OTHERS, LOCKED}, 1)):
        assert main(("export", name, "--as", "perfetto", "--out", f"{name}.json")) == 0
        records = json.loads(Path(f"{name}.json").read_text())["traceEvents"]
        tracks: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
        for each in records:
            if each["ph"] == "X":
                tracks[each["pid"], each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
        named = {(e["pid"], e["tid"]) for e in records if e["name"] == "thread_name"}
        assert named == {*tracks} and spans <= {each["name"] for each in records}
        for track in map(sorted, tracks.values()):
            assert all(begin >= end - 1e-6 for (_, end), (begin, _) in pairwise(track))
        flows = [each for each in records if each["ph"] in "sf"]
        assert len(flows) >= 2 * arrows
        for each in flows:
            track = tracks[each["pid"], each["tid"]]
            assert any(begin - 1e-6 <= each["ts"] <= end + 1e-6 for begin, end in track)
    late = [each for each in records if each["name"] == "job 29, late"]
    assert late[0]["args"]["deadline_us"] == 10_000 and late[0]["dur"] > 16_000
    Path("runs/a/events/0001.npz").unlink()
    capsys.readouterr()
    assert main(("export", "a", "--as", "perfetto", "--out", "c.json")) == 2
    assert "no events of a are kept" in capsys.readouterr().err


def test_what_was_seen_is_in_json_tables_and_python(capsys: Capture) -> None:
    """The schema names the keys."""
    stored("b", inversion())
    assert main(("page", "b", "--no-figures")) == 0
    capsys.readouterr()
    assert main(("show", "b", "--json")) == 0
    results = answer_of(capsys.readouterr().out)
    (lock,) = results["locks"]
    assert lock["inverts"] and lock["across_cores"] and lock["sharing_ns"] is None
    assert results["late"][0]["cause"] == "lock" and "moments" not in results
    found = deadbeat.open("runs/b")
    assert found.columns["name"].tolist() == ["control", "logger"]
    assert found.table("late").to_pandas()["by"][0].startswith("map_lock, held by logger")
    assert "worst-1" in found.figures and found._repr_html_()
    with pytest.raises(deadbeat.UsageError, match="no table"):
        found.table("lock")
    assert main(("export", "b", "--as", "openmetrics")) == 0
    metrics = capsys.readouterr().out
    for thread in ("control", "logger"):
        assert f'name="{thread}"}} ' in metrics
    assert re.search(r'_every_seconds\{.*name="control"\} 0\.01\b', metrics)
    for name in ("tasks", "threads", "locks", "sections", "late"):
        assert len(Path(f"runs/b/{name}.csv").read_text().splitlines()) > 1, name


def test_a_price_list_of_this_machine_says_what_a_shared_lock_costs(capsys: Capture) -> None:
    stored("b", inversion())
    work = PriceWork(object="mutex_normal", size=1, operations=1, cores=(0, 1))
    slots = (  # 10 calls of 100 ns each, alone; then both in a window of 4,000 ns, 10 calls each
        *((0, 0, core, 1, 1000, 10, 0, 0, 60_000, 60_000) for core in (0, 1)),
        (0, 0, -1, 2, 4000, 10, 4000, 10, 60_000, 60_000),
    )
    batch = PriceBatch(works=(work,), errors=("",), slots=slots)
    Path("runs/prices").mkdir()
    prices = StoredPrices(platform=example_platform(), policy="fifo", batches=(batch,))
    save_prices(OwnedFolder(Path("runs/prices")), prices)
    assert main(("show", "b", "--json")) == 0
    (lock,) = answer_of(capsys.readouterr().out)["locks"]
    assert lock["sharing_ns"] == pytest.approx(300)
    assert main(("show", "b")) == 0
    assert "shared by cores: 300 ns more an operation" in capsys.readouterr().out


def test_two_versions_of_a_program_are_compared(capsys: Capture) -> None:
    for name in ("old", "old-again"):
        stored(name, inversion(), inversion())
    stored("new", chain(), chain())
    words = ("--aa", "old-again", "--no-figures", "--json")
    assert main(("compare", "old", "new", *words)) == 2
    assert "old and new have no task in common" in capsys.readouterr().err
    stored("mixed", inversion(), chain())
    assert main(("compare", "old", "mixed", "--fail-on", "undecided", *words)) == 1
    (found,) = answer_of(capsys.readouterr().out)["comparisons"]
    cells = {m["metric"]: {c["group"] for c in m["cells"]} for m in found["metrics"]}
    assert cells["response_max"] == {"control", "logger"} and "section_max" in cells


def derived(*tasks: dict[str, Any], locks: tuple[DerivedLock, ...] = ()) -> DerivedSet:
    """Tasks of 2 ms every 10 ms, FIFO 50 on CPU 1."""
    usual = {"kind": "periodic", "policy": "fifo", "priority": 50, "cpus": (1,), "jobs": 100}
    times = {"period_ns": 10 * MS, "deadline_ns": 10 * MS, "c_max_ns": 2 * MS}
    times |= {"charged_mean_ns": 2 * MS}
    made = [
        DerivedTask(**{"name": f"t{n}", "tid": n, "charged_max_ns": 2 * MS} | usual | times | more)
        for n, more in enumerate(tasks)
    ]
    return DerivedSet(tasks=tuple(made), locks=locks, chains=(), seconds=1.0)


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        (({},), "1 task, U 0.20 on CPU 1."),
        (({}, {}), "Schedulable by"),
        # of equal priority either may go first: each waits for 6 ms of the other
        (({"charged_max_ns": 6 * MS, "period_ns": 20 * MS}, {"deadline_ns": 7 * MS}),
         "does not prove that t1 meets its deadline"),
        (({"charged_max_ns": 11 * MS},), "its CPU would be 110 % full"),
        (({}, {"policy": "other", "priority": 0}), "No guarantee: t1 is not a real-time"),
        (({"policy": "other"},), "No guarantee: t0 is not a real-time thread"),
        (({"policy": "deadline", "runtime_ns": MS},), "t0 reserves 1 ms but took up to 2 ms"),
        (({"policy": "deadline", "runtime_ns": 2 * MS},), "Schedulable by"),
        (({"policy": "deadline"}, {}), "no test takes t1 beside SCHED_DEADLINE"),
        (({}, {"kind": "none", "charged_max_ns": None}), "No guarantee: t1 runs as fifo and"),
        (({}, {"kind": "none", "charged_max_ns": None, "rests": True}), "Schedulable by"),
        (({"cpus": (0, 1), "deadline_ns": 11 * MS},), "on 2 CPUs."),
        (({}, {"cpus": (0, 1)}), "no test takes t1, which may use some CPUs"),
    ],
)  # fmt: skip
def test_a_proof_or_one_task_and_key(tasks: tuple[dict[str, Any], ...], said: str) -> None:
    found = derived(*tasks)
    less = reduced(found)
    seen = TracedProgram(
        tasks=found.tasks, locks=(), chains=(),
        proved=less.proved, unproved=less.unproved, load=less.load,
    )  # fmt: skip
    (line,) = verdict(seen)
    assert said in line
    assert less.proved or less.unproved


def test_sections_of_a_task_are_within_its_c() -> None:
    """The longest may be of a job that is left out: an export is taken all the same."""
    section = DerivedSection(
        lock="l", site="", count=9, job_most=3, mean_ns=MS, max_ns=MS, wall_max_ns=MS
    )
    lock = DerivedLock(name="l", protocol="none", users=("t0",), longest_ns=MS, count=9)
    task = system_of(derived({"sections": (section,)}, locks=(lock,))).tasks[0]
    assert task.wcet == 3 * MS and "all its sections" in task.source


def test_who_waits_for_whom_says_whether_it_bites() -> None:
    waits = Waited(waiter="t0", holder="t1", site="", count=1, max_ns=MS)
    facts = {"name": "l", "users": ("t0", "t1"), "longest_ns": MS, "count": 2, "waited": (waits,)}
    lock = DerivedLock(protocol="none", **facts)
    for priorities, cpu, bites in (((80, 10), 1, True), ((10, 80), 0, False)):
        made = derived(*({"priority": each} for each in priorities))
        second = evolve(made.tasks[1], cpus=(cpu,))
        seen = TracedProgram(tasks=(made.tasks[0], second), locks=(lock,), chains=())
        assert inverts(seen, lock) is bites and across(seen, lock) is not bites
    assert not inverts(seen, evolve(lock, protocol="inherit"))
    assert not inverts(seen, evolve(lock, waited=(evolve(waits, waiter="t1", holder="unknown"),)))


SETS = json.loads((Path(__file__).parents[1] / "golden/programs.json").read_text())


@pytest.mark.parametrize("name", SETS)
def test_each_program_has_a_bound_or_a_reason(name: str) -> None:
    """Sets of tests/programs and examples/program as they were recorded once."""
    found = run_converter(ProgramKey).structure(SETS[name], DerivedSet)
    less = reduced(found)
    assert less.load and (less.proved or less.unproved)
    for reason in less.unproved:
        assert any(each.name in reason.split("'")[0] for each in found.tasks), reason
    assert bool(less.proved) is (name in PROVED)


PROVED = {
    *("absolute", "bursts", "modes", "mqueue", "relative", "sections", "sigwait", "suspending"),
    "timerfd",
}


@pytest.mark.parametrize("name", [name for name in SETS if name.startswith("example")])
def test_the_task_system_of_an_example_is_taken_as_it_is(name: str) -> None:
    found = run_converter(ProgramKey).structure(SETS[name], DerivedSet)
    write_task_system(file := Path("system.json"), reduced(found).system)
    for words in (("sched", "analyze"), ("sched", "simulate"), ("predict",)):
        assert main((*words, str(file), "--json")) == 0
