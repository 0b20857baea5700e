"""A study in its folder: resumed, refused, damaged; and what the store says of it."""

import errno
import json
import os
import re
from itertools import product
from pathlib import Path

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from helpers.answers import answer_of
from helpers.studies import begun, made_up, small

from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.report.document import records
from deadbeat.base.store import files
from deadbeat.base.store.place import REPORT_FILE
from deadbeat.cli.main import root
from deadbeat.machine.targets.run import run as carry_out
from deadbeat.sched import Scheduler, TaskBatch, simulate
from deadbeat.sched.generators import generate
from deadbeat.sched.study.charts import charts
from deadbeat.sched.study.chunks import (
    NOT_APPLICABLE,
    NOT_GENERATED,
    Piece,
    chunk_count,
    compute,
    compute_chunk,
    counted,
    row_type,
)
from deadbeat.sched.study.document import StudyAnswers, open_cases, short_answer
from deadbeat.sched.study.kind import KIND
from deadbeat.sched.study.preset import presets, specify
from deadbeat.sched.study.results import StudyResults, answered, columns_of
from deadbeat.sched.study.runner import StudyExperiment, Threads, choose, open_store
from deadbeat.sched.study.spec import cell_seed
from deadbeat.sched.study.store import StudyStore
from deadbeat.sched.tasksystems import write_task_system

SPEC = small()
WORDS = ["sched", "study", "--processors", "2", "--tasks", "4,6", "--utilisation", "0.6,0.9"]
WORDS += ["--policy", "g-edf,p-edf", "--test", "gfb", "--sets", "12"]


def _run(store: StudyStore, spec=SPEC) -> list[int]:
    seen: list[int] = []
    carry_out(
        StudyExperiment(spec, store, Threads(2)), on_event=lambda event: seen.append(event.done)
    )
    return seen


def test_a_cell_that_cannot_exist_is_counted_and_costs_no_other() -> None:
    """Three tasks have no utilisation of 3.6, six have."""
    words = {"processors": 4, "tasks": "3,6", "utilisation": 0.9, "policies": "g-edf", "sets": 5}
    spec = specify(words, {"tests": "gfb"})
    rows = compute(spec, [Piece(0, 0, 5), Piece(1, 0, 5)])
    assert rows["generated"].tolist() == [False] * 5 + [True] * 5
    assert (rows["s0.answer"][:5] == NOT_GENERATED).all() and (
        rows["t0"][:5] == NOT_GENERATED
    ).all()
    assert (rows["s0.answer"][5:] != NOT_GENERATED).all()
    alone = compute(spec, [Piece(0, 0, 5)])
    assert not alone["generated"].any()


def test_rows_are_those_of_the_systems_one_by_one() -> None:
    spec = small(metrics=True)
    rows = compute(spec, [Piece(3, 2, 3)])
    cell = spec.cells[3]
    recipe = spec.sources[cell.source].recipe(cell)
    drawn: TaskBatch = generate(recipe, seed=cell_seed(spec, cell), count=3, first=2)
    for k in range(3):
        system = drawn.system(k)
        assert rows["utilisation"][k] == pytest.approx(float(system.utilisation))
        assert rows["largest"][k] == max(float(task.utilisation) for task in system.tasks)
        assert rows["bins"][k].sum() == cell.tasks
        for i, policy in enumerate(("g-edf", "p-edf")):
            verdict = simulate(system, Scheduler(policy=policy))
            assert rows[f"s{i}.answer"][k] == (verdict.schedulable == "yes")
            if verdict.schedulable == "yes":
                assert rows[f"s{i}.migrations"][k] == verdict.figures["migrations"].sum()


def test_figures_past_misses_are_those_of_sched_simulate(tmp_path: Path) -> None:
    """As ``sched simulate --run-on`` answers for the same systems, written to files."""
    spec = small(run_on=True, utilisation="0.95", tasks="4", policies="g-edf,p-fp")
    rows, (cell,) = compute(spec, [Piece(0, 0, 12)]), spec.cells
    batch = generate(spec.sources[cell.source].recipe(cell), seed=cell_seed(spec, cell), count=12)
    for i in range(12):
        write_task_system(tmp_path / f"{i}.json", batch.system(i))
        for k, (label, it) in enumerate(spec.contenders.items()):
            words = ["sched", "simulate", f"{tmp_path}/{i}.json", "--policy", label, "--json"]
            words += ["--set", "run-on=true", "--partition", it.partition]
            found = answer_of(CliRunner().invoke(root, words).stdout)
            own = {name.partition(".")[2]: rows[i][name] for name in rows.dtype.names[6:]
                   if name.startswith(f"s{k}.")}  # fmt: skip
            assert (own["judged"], own["missed"]) == (found["judged"], found["misses"])
            if own["placed"]:
                for name, kind in product(("response", "tardiness"), ("mean", "max")):
                    wanted = found["response_times" if name == "response" else name][kind]
                    assert own[f"{name}_{kind}"] == pytest.approx(wanted, rel=1e-12), (i, label)
    assert 0 < (rows["s0.missed"] > 0).sum() < 12, "late jobs and none"
    late = StudyResults(spec, rows).late("g-edf", "miss_ratio", np.ones(12, dtype=bool))
    assert late.value == pytest.approx(np.mean(rows["s0.missed"] / rows["s0.judged"]))


def test_chunks_do_not_depend_on_threads_or_on_how_they_are_cut() -> None:
    whole = np.concatenate([compute_chunk(SPEC, i) for i in range(chunk_count(SPEC))])
    by_cell = np.concatenate([compute(SPEC, [Piece(c, 0, SPEC.sets)]) for c in range(4)])
    assert whole.tobytes() == by_cell.tobytes()


def test_rows_that_count_sets_say_what_the_sets_say() -> None:
    """Also of sets that do not exist, and over cells cut into several chunks."""
    spec = small(tests="gfb,p-fp", tasks="1,4,6", policies="g-edf,p-edf")
    chunks = [compute_chunk(spec, i) for i in range(chunk_count(spec))]
    whole = StudyResults(spec, np.concatenate(chunks))
    short = StudyResults(spec, np.concatenate([counted(rows) for rows in chunks]))
    assert len(short.rows) < len(whole.rows) // 2
    assert open_cases(short) == open_cases(whole) != ()
    drawn = [[f"{float(x):.9f}" for x in re.findall(r"[0-9]+\.[0-9]+", repr(charts(each)))]
             for each in (short, whole)]  # fmt: skip
    assert drawn[0] == drawn[1]
    kind = columns_of(spec)
    assert list(records(kind, answered(short))) == list(records(kind, answered(whole)))


LOCKED = {"generator": {"locks": 2, "section_high": 5, "protocol": "inherit"}, "policies": "p-fp"}


def test_tests_are_asked_with_and_without_locks_and_simulation_refutes() -> None:
    tests = "pinned-fifo-pi,p-fp:without=locks,pinned-fifo-pi:partition=any,mpcp"
    words = {"tests": tests, "utilisation": "0.5,0.95", "run_on": True}
    spec = small(**LOCKED | words, scheduler={"partition": "worst-fit"})
    plain = small(tests="p-fp:partition=worst-fit", policies="", utilisation="0.5,0.95")
    rows, alone = (
        np.concatenate([compute_chunk(it, i) for i in range(chunk_count(it))])
        for it in (spec, plain)
    )
    bound, without, best = (rows[f"t{k}"] == 1 for k in range(3))
    assert (bound <= without).all() and (bound <= best).all() and (bound < best).any()
    assert (rows["t1"] == alone["t0"]).all()
    late, results = (rows["s0.answer"] == 0) & rows["s0.placed"], StudyResults(spec, rows)
    assert not (late & bound).any() and late.any() and (~late & ~bound).any()
    (region,) = results.regions()
    assert (region.accepted == best).all() and (region.refuted == (late & ~best)).all()
    assert not region.schedulable.total and results.title("p-fp") == "p-fp+inherit, not refuted"
    cell = spec.cells[-1]
    drawn = generate(spec.sources[cell.source].recipe(cell), seed=cell_seed(spec, cell), count=12)
    for i in np.flatnonzero(rows["s0.placed"][-12:]):
        found = simulate(drawn.system(int(i)), spec.contenders["p-fp"])
        assert found.figures["missed"].sum() == rows["s0.missed"][i - 12]


def test_what_ignores_locks_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        small(**LOCKED | {"policies": "pd2,p-fp:protocol=mcpp", "metrics": True, "tests": "gfb"})
    for part in ("pd2 ignores locks", "unknown protocol mcpp", "slack are not counted with locks",
                 "test gfb: it ignores locks (gfb:without=locks"):  # fmt: skip
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("more", "fewer", "says"),
    [(0, 0, "g-edf and p-edf schedule the same, the most: 50.0 %"),
     (5, 4, r"undecided which schedules the most, g-edf or p-edf \(5 and 4"),
     (9, 1, "g-edf schedules the most: 68.8 %"), (0, 6, "p-edf schedules the most: 62.5 %")],
)  # fmt: skip
def test_the_most_is_said_where_the_sets_tell(more: int, fewer: int, says: str) -> None:
    spec = small(tests="necessary")

    def answer(label: str, cell, k: int) -> bool:
        at = spec.cells.index(cell) * 12 + k - 24
        one = (label == "g-edf") == (at < more) and at < more + fewer
        return label == "necessary" or at < 0 or one

    results = made_up(spec, answer)
    found = StudyAnswers(name="", digest="", results=results, judgements=())
    assert re.match(says, short_answer(found)[0]), short_answer(found)


def test_a_set_that_cannot_be_drawn_is_counted_and_costs_no_other() -> None:
    # Rounding C to whole numbers misses a narrow tolerance now and then; one attempt is allowed.
    spec = small(generator={"attempts": 1, "tolerance": 0.02}, sets=40)
    rows = np.concatenate([compute_chunk(spec, i) for i in range(chunk_count(spec))])
    missing = ~rows["generated"]
    assert 0 < missing.sum() < len(rows)
    assert (rows["s0.answer"][missing] == -1).all()
    assert (rows["t0"][missing] == -1).all()
    assert (rows["s0.answer"][~missing] >= 0).all()


def test_a_study_continues_where_it_was_and_the_result_is_the_same(tmp_path: Path) -> None:
    whole = begun(tmp_path / "whole", SPEC)
    assert _run(whole)[0] == 0
    store = begun(tmp_path / "cut", SPEC)
    for number in (0, 5):
        store.commit(number, compute_chunk(SPEC, number))
    again = StudyStore.open(store.path)
    assert again.finished() == {0, 5}
    seen = _run(again)
    assert seen[0] == 2 * len(compute_chunk(SPEC, 0))
    assert seen[-1] == SPEC.total
    for number in range(chunk_count(SPEC)):
        assert whole.chunk_path(number).read_bytes() == again.chunk_path(number).read_bytes()
    assert _run(again) == [SPEC.total]


def test_an_error_of_a_thread_is_raised_and_the_chunks_before_it_are_kept(tmp_path: Path) -> None:
    broken = attrs.evolve(SPEC, contenders={"x": Scheduler(policy="no-such")})
    store = begun(tmp_path / "s", broken)
    with pytest.raises(UsageError, match="no-such"):
        _run(store, broken)


def test_the_folder_of_a_study(tmp_path: Path) -> None:
    place = choose(tmp_path, SPEC)
    assert (place.path, place.resumed) == (tmp_path / "study", False)
    store = open_store(place, SPEC)
    assert choose(tmp_path, SPEC).resumed
    other = small(sets=13)
    with pytest.raises(UsageError, match=r"unfinished.*sets \(12 there, 13 now\)"):
        choose(tmp_path, other)
    assert choose(tmp_path, other, fresh=True).path == tmp_path / "study-2"
    _run(store)
    second = choose(tmp_path, other)
    assert (second.path, second.resumed) == (tmp_path / "study-2", False)
    _run(open_store(second, other), other)
    # Results are a function of the specification: the first is found again, not computed again.
    assert choose(tmp_path, SPEC) == attrs.evolve(place, resumed=True)
    assert choose(tmp_path, attrs.evolve(SPEC, seed=2)).path == tmp_path / "study-3"


def test_an_unfinished_study_of_another_version_is_not_continued(tmp_path: Path) -> None:
    store = open_store(choose(tmp_path, SPEC), SPEC)
    file = store.path / "study.json"
    plain = json.loads(file.read_text())
    file.write_text(json.dumps({**plain, "tool": "0.0.9"}))
    with pytest.raises(UsageError, match=r"unfinished and of deadbeat 0\.0\.9"):
        choose(tmp_path, SPEC)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-5], "its checksum is wrong"),
        (lambda data: data[:-5] + b"01234", "its checksum is wrong"),
        (lambda data: b"other" + data, "not a chunk of a study"),
        (lambda data: b"", "not a chunk of a study"),
        (lambda data: data.replace(b'"chunk": 0', b'"chunk": 1'), "belongs to another study"),
        (lambda data: data.replace(b'"format": 1', b'"format": 7'), "has format 7"),
        (lambda data: data.replace(b'{"bytes', b'["bytes'), "is damaged"),
    ],
)
def test_a_damaged_chunk_is_told_with_what_to_do(tmp_path: Path, damage, words: str) -> None:
    store = begun(tmp_path / "s", SPEC)
    path = store.commit(0, compute_chunk(SPEC, 0))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=words) as caught:
        store.rows(0, row_type(SPEC))
    assert str(path) in str(caught.value)


def test_a_chunk_with_other_columns_is_refused_and_none_is_overwritten(tmp_path: Path) -> None:
    store = begun(tmp_path / "s", SPEC)
    rows = compute_chunk(SPEC, 0)
    store.commit(0, rows)
    with pytest.raises(DataError, match="other columns"):
        store.rows(0, row_type(small(metrics=True)))
    with pytest.raises(DeadbeatError, match="stored already"):
        store.commit(0, rows)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = begun(tmp_path / "s", SPEC)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(DeadbeatError, match="No space left"):
        store.commit(0, compute_chunk(SPEC, 0))
    assert list((store.path / "chunks").iterdir()) == []


def test_left_overs_of_a_killed_writer_are_swept(tmp_path: Path) -> None:
    store = begun(tmp_path / "s", SPEC)
    part = store.path / "chunks" / "000000.rows.123.part"
    part.write_bytes(b"half")
    with store.lock():
        store.clean()
    assert not part.exists()


def test_what_is_no_study_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a study"):
        StudyStore.open(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds notes\.txt"):
        begun(tmp_path, SPEC)


def test_the_report_is_whole_and_the_same_again(tmp_path: Path) -> None:
    store = begun(tmp_path / "s", SPEC)
    _run(store)
    KIND.report(store.path, True)
    page = (store.path / REPORT_FILE).read_text()
    for part in ("SIMULATED", "g-edf", "Content-Security-Policy", "Wilson", "48 of 48"):
        assert part in page
    assert 'src="' not in page.split("<script>")[0]
    names = {path.name for path in (store.path / "figures").iterdir()}
    assert names == {
        f"{name}.{kind}" for name in ("curves", "weighted") for kind in ("png", "svg", "pdf")
    }
    before = {
        path: path.read_bytes()
        for path in store.path.rglob("*")
        if path.is_file() and path.name != "state.json"
    }
    KIND.report(store.path, False)
    assert {path: path.read_bytes() for path in before} == before
    lines = (store.path / "cells.csv").read_text().splitlines()
    assert len(lines) == 1 + 4 * 3


def test_a_line_of_a_test_that_decides_nothing_is_empty_not_broken() -> None:
    results = made_up(small(), lambda *_: True)
    results.rows["t0"] = NOT_APPLICABLE
    for chart in charts(results):
        for panel in chart.panels:
            assert [curve.x for curve in panel.curves if curve.label == "gfb"] == [()]
            for curve in panel.curves:
                assert np.isfinite([*curve.y, *curve.low, *curve.high]).all()


def test_the_command_answers_in_json_and_continues(tmp_path: Path) -> None:
    runner = CliRunner()
    words = [*WORDS, "--json", "--runs", str(tmp_path), "--no-figures"]
    first = runner.invoke(root, words, standalone_mode=False)
    assert first.exception is None
    answer = answer_of(first.stdout)
    assert (answer["sets"], answer["generated"], answer["label"]) == (48, 48, "SIMULATED")
    assert [item["label"] for item in answer["answers"]] == ["g-edf", "p-edf", "gfb"]
    assert Path(answer["report"]).is_file()
    again = runner.invoke(root, words, standalone_mode=False)
    assert answer_of(again.stdout) == answer
    assert [path.name for path in tmp_path.iterdir()] == ["latest", "study"]


def test_the_presets_are_listed(tmp_path: Path) -> None:
    runner = CliRunner()
    found = runner.invoke(root, ["list", "studies", "--json"], standalone_mode=False)
    assert [row["name"] for row in answer_of(found.stdout)] == list(presets())
    with pytest.raises(UsageError, match="neither a preset nor a sweep"):
        runner.invoke(root, ["sched", "study"], standalone_mode=False, catch_exceptions=False)


def test_a_study_file_and_options_over_it(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'name = "mine"\nprocessors = 2\ntasks = [4]\nutilisation = [0.6]\nsets = 5\n'
        'policies = ["g-edf"]\n[generator]\nlcm_limit = 5000\n'
    )
    words = ["sched", "study", "--file", str(file), "--sets", "7", "--json", "--no-figures"]
    found = CliRunner().invoke(root, [*words, "--runs", str(tmp_path / "r")], standalone_mode=False)
    assert found.exception is None
    assert answer_of(found.stdout)["sets"] == 7
    assert (tmp_path / "r" / "mine" / "report.html").is_file()
