"""A twin's tables against recordings of known truth."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import Capture
from helpers.made_recordings import MS, NAP, READ, YIELD, Made

from deadbeat.base.model.platform import example_platform
from deadbeat.cli.main import main
from deadbeat.program.derive.records import Recording, RecordKind
from deadbeat.program.derive.rtapp import rt_app
from deadbeat.program.derive.sections import DerivedSection
from deadbeat.program.derive.tasks import DerivedSet, DerivedTask, derive
from deadbeat.program.derive.twin import ALWAYS, JOBS_MOST, Twin, TwinThread, c_source, twin_of
from deadbeat.program.run.results import FOLDERS, ProgramKey, ProgramRun, ProgramStore
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import traced
from deadbeat.program.run.twin import agreed, sentence
from deadbeat.sched.program import COMPUTE, LOCK, UNLOCK, WAKE

TICKS = [n * 10 * MS for n in range(1, 61)]
MAP, SECRET = 0x9000, "secret_function (secret.c:7)"


def program() -> Recording:
    """control works 2 ms, 0.5 of it with a lock, and wakes worker; naps and served are apart."""
    made = Made()
    control = made.thread('con"trol', policy="fifo", priority=80, cpus=(0, 3))
    worker = made.thread("worker", policy="rr", priority=20, cpus=(1,))
    napper, reserved = made.thread("napper"), {"runtime_ns": 3 * MS, "deadline_ns": 9 * MS}
    served = made.thread("served", policy="deadline", period_ns=10 * MS, **reserved)
    spans = made.loop(control, TICKS, [2 * MS] * 60)
    for begin, _ in spans:
        made.add(begin + MS, control, RecordKind.GOT, MAP, 0x1)
        made.add(begin + MS + MS // 2, control, RecordKind.UNLOCK, MAP, 0x1)
    made.loop(worker, [end - 500 for _, end in spans], [MS] * 60, what=READ, by=control)
    now = 1000
    for place in range(60):  # works for 1 or 3 ms, then sleeps for 5
        due = now + 5 * MS
        made.call(napper, now, due + 5000, NAP, due=due, wake=due)
        now = due + 5000 + (1 + 2 * (place % 2)) * MS
    made.add(now, napper, RecordKind.ENTER, *NAP)
    for tick in TICKS:
        made.add(tick - 8 * MS, served, RecordKind.DEADLINE_TIMER, 10**12 + tick, 10**12 + tick)
    made.loop(served, TICKS, [MS] * 60, what=YIELD)
    return made.recording(symbols={MAP: "map_lock+8", 0x1: SECRET})


def twin(recording: Recording) -> tuple[Twin, dict[str, TwinThread]]:
    found = twin_of(recording, derive(recording))
    return found, {each.name: each for each in found.threads}


def test_threads_wait_and_work_as_they_did() -> None:
    found, threads = twin(program())
    assert [*threads] == ['con"trol', "worker", "napper", "served"]
    control, worker, napper, served = threads.values()
    assert [each.site for each in threads.values()] == ["AT", "WOKEN", "AFTER", "YIELD"]
    assert {*control.gaps} == {10 * MS} and len(control.jobs) == 60
    for ops in control.jobs:
        assert ops["kind"].tolist()[:5] == [COMPUTE, LOCK, COMPUTE, UNLOCK, COMPUTE]
        assert ops["ns"][ops["kind"] == COMPUTE].sum() == pytest.approx(2 * MS, abs=10)
        assert ops["ns"][2] == pytest.approx(MS // 2, abs=10)
        assert ops["target"][ops["kind"] == WAKE].tolist() == [1]
    assert len(worker.jobs) >= 59 and worker.first == 0
    assert np.allclose(napper.gaps, 5 * MS, atol=10)
    (first, second), *_ = zip(napper.jobs[::2], napper.jobs[1::2], strict=False)
    assert {int(first["ns"].sum()) // MS, int(second["ns"].sum()) // MS} == {1, 3}
    assert served.first - 10 * MS == min(each.begins for each in threads.values() if each.first)
    assert found.lacks[0] == ALWAYS and found.locks == (("map_lock+8", "none"),)


def test_the_source_has_names_and_nothing_else_of_the_program() -> None:
    recording = program()
    made = c_source(twin(recording)[0])
    assert '{"con\\042trol", 1, 80, cpus_0, AT, ' in made
    assert "static const int cpus_0[] = {0, 3, -1};" in made and '__asm__("map_lock")' in made
    assert "object_0 + 8, NONE, 80" in made and "example" not in made
    assert "secret" not in made
    other = {MAP: "sem_post", 0x1: SECRET}  # the source calls that itself
    assert '__asm__("lock_0")' in c_source(twin(evolve(recording, symbols=other))[0])
    strange = {MAP: '"); system("', 0x1: SECRET}
    assert "system" not in c_source(twin(evolve(recording, symbols=strange))[0])


def test_of_many_jobs_those_around_the_worst_one_are_repeated() -> None:
    made, ticks = Made(), [n * MS for n in range(1, 3001)]
    work = [300_000 if n == 2000 else 200_000 if n == 50 else 100_000 for n in range(3000)]
    spans = made.loop(made.thread("fast"), ticks, work)
    made.away(100, spans[1500][0] + 20_000, spans[1500][0] + 90_000, beside=7)
    _, threads = twin(made.recording())
    fast = threads["fast"]
    cost = [int(ops["ns"].sum()) for ops in fast.jobs]
    assert len(cost) == JOBS_MOST and {*fast.gaps} == {MS}
    at = cost.index(max(cost))
    assert cost[at] == pytest.approx(300_000, abs=100) and cost.count(max(cost)) == 1
    # its n-th job is what it was in the original, around the worst one
    assert (fast.begin + 2000) % len(cost) == at


def test_what_no_thread_releases_is_left_out_and_said() -> None:
    made = Made()
    first, second = made.thread("first"), made.thread("second")
    spans = made.loop(first, TICKS, [2 * MS] * 60)
    wakes = [end - 500 + (place % 4 == 0) * MS for place, (_, end) in enumerate(spans)]
    made.loop(second, wakes, [MS] * 60, what=READ, by=first)
    found, threads = twin(made.recording())
    assert threads["second"].site == "WOKEN" and len(threads["second"].jobs) == 45
    assert any(re.match(r"1\d of 60 jobs of second: no thread", line) for line in found.lacks)


def test_a_file_for_rt_app() -> None:
    made = json.loads(rt_app(twin(program())[0]))
    control, worker, napper, served = made["tasks"].values()
    phase = control["phases"]["job0"]
    assert [*phase] == ["run0", "lock1", "run2", "unlock3", "run4", "resume5", "timer6"]
    assert (phase["run0"], phase["run2"], phase["resume5"]) == (1000, 500, "worker")
    assert phase["timer6"] == {"ref": "unique", "period": 10_000, "mode": "absolute"}
    assert (control["policy"], control["priority"], control["cpus"]) == ("SCHED_FIFO", 80, [0, 3])
    assert worker["phases"]["job0"] == {"suspend0": "worker", "run1": 1000}
    assert napper["phases"]["job3"]["sleep1"] == 5000 and "yield0" in served["phases"]["job0"]
    assert (served["dl-runtime"], served["dl-deadline"], served["dl-period"]) == (3000, 9000, 10000)
    assert made["global"]["duration"] == 1


def test_agreement_names_the_worst_figure() -> None:
    def of(c_ns: float, section_ns: float) -> DerivedSet:
        section = DerivedSection(lock="l", site="", count=4, job_most=1, mean_ns=section_ns,
                                 max_ns=0, wall_max_ns=0)  # fmt: skip
        task = DerivedTask(name="a", tid=1, kind="periodic", policy="other", priority=0, cpus=(),
                           period_ns=MS, jobs=4, c_mean_ns=c_ns, sections=(section,))  # fmt: skip
        return DerivedSet(tasks=(task,), locks=(), chains=())

    rows = agreed(of(10 * MS, 15_000), of(11 * MS, 30_000))
    text = sentence(rows, "a-run")
    assert "0.0 % in period, 10.0 % in C, 0.0 % in sections" in text  # 15 us is below resolution
    assert "worst: C mean of a, 11 ms for 10 ms" in text
    assert [row.ratio for row in rows if row.figure == "C mean"] == [1.1]
    assert sentence((), "gone").startswith("No thread of gone")


@pytest.fixture
def kept(in_a_folder: None) -> ProgramStore:
    recording, key = program(), ProgramKey(1)
    spec = ProgramSpec(name="a", command=("x",))
    store = ProgramStore.create(Path("runs", "a"), FOLDERS.plain(spec), example_platform())
    store.keep_events(key, recording)
    seen = traced(recording, {})
    store.keep(ProgramRun(key=key, started="", seconds=0.6, status=0, tasks=(), traced=seen))
    return store


@pytest.mark.parametrize(("form", "begin"), [("c", "/*"), ("rt-app", "{")])
def test_export(kept: ProgramStore, form: str, begin: str, capsys: Capture) -> None:
    assert main(("export", "a", "--as", form, "--out", "out")) == 0
    assert Path("out").read_text().startswith(begin)
    assert "not in it: caches" in capsys.readouterr().out
    assert main(("export", "none", "--as", "rt-app", "--out", "out")) == 2


def test_programs_from_a_program_is_its_twin(kept: ProgramStore, capsys: Capture) -> None:
    words = ("contention", "--programs-from", "a")
    assert main((*words, "--simulated")) == 0
    assert "runs/a-twin" in capsys.readouterr().out
    assert ProgramStore.open(kept.path.parent / "a-twin").spec["twin_of"] == "a"
    assert main((*words, "--set", "step=0.5")) == 2
    assert "exclude each other" in capsys.readouterr().err
