"""Truth: section 4.1 of the thesis, and files written by hand in the shape that it describes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import deadbeat
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.specification import plain_of, read
from deadbeat.cli.main import main
from deadbeat.latencies.primitives.cases import PrimitiveKey, cases, plan, resolved
from deadbeat.latencies.primitives.engine import SimulatedPrimitives, options_of
from deadbeat.latencies.primitives.kind import PrimitivesExperiment
from deadbeat.latencies.primitives.runs import (
    NONE,
    PrimitiveRun,
    PrimitivesStore,
    columns_of,
    export,
    merged,
    thread_files,
)
from deadbeat.latencies.primitives.spec import PrimitivesSpec

GOLDEN = Path(__file__).parents[1] / "golden" / "rtsjmcbench"
#: Three threads of up to three iterations, as arrays of a run.
THREADS = [np.array(each, np.int64) for each in ([110, 120, 130], [95], [2_100_000_000, 100, 90])]


def test_threads_have_a_file_each_and_merge_to_a_column_each_and_a_row_an_iteration() -> None:
    columns = columns_of(THREADS)
    assert merged(columns) == (GOLDEN / "merged.csv").read_text(encoding="utf-8")
    assert [*thread_files(columns)] == ["110\n120\n130\n", "95\n", "2100000000\n100\n90\n"]
    assert columns[1:, 1].tolist() == [NONE, NONE]  # what is not there is no sample


ENGINE = SimulatedPrimitives()


def kept(path: Path, **asked: object) -> PrimitivesStore:
    spec = read(PrimitivesSpec, {"tests": "copy", "keep": True, "samples": 7, "repeats": 1}, asked)
    spec = resolved(spec, ENGINE.topology)
    PrimitivesStore.create(path, plain_of(spec), ENGINE.describe())
    store = PrimitivesStore.open(path)
    for key in plan(spec, ENGINE.topology):
        store.keep(ENGINE.run(spec, key))
    return store


def test_samples_lie_beside_their_run_and_not_in_it(tmp_path: Path) -> None:
    store = kept(tmp_path / "r", placements="all", sizes=64)
    (key,) = store.committed()
    samples = store.samples(key)
    assert samples.shape == (7, 8)  # eight CPUs
    assert "samples" not in store.run_path(key).read_text(encoding="utf-8")
    run = store.load(key)
    assert [thread.samples for thread in run.threads] == [None] * 8
    # the same samples as those of the histogram
    assert int(samples.sum()) == sum(thread.times.sum_ns for thread in run.threads)


def test_of_a_pair_only_its_handler_has_a_column(tmp_path: Path) -> None:
    store = kept(tmp_path / "r", tests="event:futex", placements="same", threads=3)
    (key,) = store.committed()
    samples = store.samples(key)
    assert samples.shape == (7, 3)


def test_export_names_files_after_their_run(tmp_path: Path) -> None:
    store = kept(tmp_path / "r", placements="one", sizes=64)
    (file,) = export(store, tmp_path / "data")
    name = "copy..64.one.0.above.native.0001"
    assert file.name == f"{name}.csv"
    assert sorted(each.name for each in file.parent.iterdir()) == [
        f"{name}.csv",
        f"{name}.thread-1.txt",
    ]
    lines = file.read_text(encoding="utf-8").splitlines()
    alone = (file.parent / f"{name}.thread-1.txt").read_text(encoding="utf-8").splitlines()
    assert lines == ["Thread 1", *alone]


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"no array at all"])
def test_damaged_samples_are_named(tmp_path: Path, content: bytes) -> None:
    store = kept(tmp_path / "r", placements="one", sizes=64)
    (key,) = store.committed()
    path = store.path / "samples" / f"{key.text}.npy"
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        store.samples(key)
    np.save(path, np.array([0.5]))
    with pytest.raises(DataError, match="no table of whole numbers"):
        store.samples(key)


def test_what_was_not_kept_is_not_exported(tmp_path: Path) -> None:
    store = kept(tmp_path / "r", placements="one", sizes=64, keep=False)
    with pytest.raises(UsageError, match="holds no single samples"):
        export(store, tmp_path / "data")


def test_kept_samples_are_as_many_as_memory_holds() -> None:
    with pytest.raises(UsageError, match="number of samples of a thread is missing"):
        read(PrimitivesSpec, {}, {"keep": True})
    spec = read(PrimitivesSpec, {}, {"tests": "copy", "keep": True, "samples": 10**8})
    found, refused = cases(spec, ENGINE.topology)
    assert not found
    assert all("would be kept: give fewer --samples" in why for why in refused.values())


def test_a_runtime_is_told_to_keep_them() -> None:
    spec = read(PrimitivesSpec, {}, {"tests": "copy", "keep": True, "samples": 7})
    key = PrimitiveKey(cases(spec, ENGINE.topology)[0][0], 1)
    options = options_of(spec, key, ENGINE.topology)
    assert (options["--keep"], options["--count"]) == ("1", "7")


def shell(*words: object) -> int:
    return main([*map(str, words)])


def test_the_thesis_own_arguments_become_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the file says ./datadir
    shutil.copy(GOLDEN / "args.xml", tmp_path)  # read by default, as by the benchmark
    words = ("--runtimes", "native", "--simulated", "--repeats", 2)
    assert shell("primitives", *words, "--runs", "runs") == 0
    said = capsys.readouterr().err
    assert "args.xml of this folder is read" in said and "alloc_pool:own of native" in said
    name = "alloc_pool.own.8.all.10.above.native.0002"
    lines = (tmp_path / "datadir" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == ",".join(f"Thread {number}" for number in range(1, 11))
    assert len(lines) == 1 + 10_000
    assert len({*(tmp_path / "datadir").glob(f"{name}.thread-*.txt")}) == 10
    found = deadbeat.open("runs/primitives")
    spec = found.summary.spec
    assert (spec.policy, spec.priority, spec.samples, spec.work) == ("rr", 30, 10_000, 1000)
    # and later, from what is stored
    assert shell("export", "primitives", "--as", "samples", "--out", "again") == 0
    again = (tmp_path / "again" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    assert again == lines


def test_options_override_the_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = (
        "--set",
        f"args={GOLDEN / 'args.xml'}",
        "--runtimes",
        "native",
        "--simulated",
        "--repeats",
        1,
    )
    assert shell("primitives", *words, "--set", "policy=fifo", "--datadir", "mine") == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "runs"}
    assert deadbeat.open("runs/primitives").summary.spec.policy == "fifo"


@pytest.mark.parametrize("other", ["--file", "--preset"])
def test_arguments_come_alone(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--set", f"args={GOLDEN / 'args.xml'}", other, "thesis-fig7")
    assert shell("primitives", *words) == 2
    assert f"--args and {other} exclude each other" in capsys.readouterr().err


def test_a_run_whose_time_was_over_is_told(tmp_path: Path) -> None:
    asked = {"tests": "copy", "sizes": 64, "placements": "one", "samples": 20_000, "repeats": 1}
    spec = resolved(read(PrimitivesSpec, {}, asked), ENGINE.topology)
    PrimitivesStore.create(tmp_path / "r", plain_of(spec), ENGINE.describe())
    store = PrimitivesStore.open(tmp_path / "r")
    planned = plan(spec, ENGINE.topology)
    experiment = PrimitivesExperiment(spec, ENGINE, store=store, planned=planned)
    (run,) = experiment.measure(lambda *_: None)
    assert isinstance(run, PrimitiveRun)
    (found,) = run.problems
    assert found.id == "few-samples"
    assert "1 thread of 1 had fewer than 20,000 samples" in found.message
