"""Truth: docs/howto/run-a-study.md: parts computed apart, copied together; what is lacking."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.answers import answer_of
from helpers.studies import begun, small

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.cli.main import root
from deadbeat.sched.study.chunks import (
    bounds,
    chunk_count,
    compute,
    compute_chunk,
    lacking_words,
    pieces,
)
from deadbeat.sched.study.runner import StudyExperiment, Threads

WORDS = ["sched", "study", "--processors", "2", "--tasks", "4,6", "--utilisation", "0.6,0.9"]
WORDS += ["--test", "gfb", "--sets", "12", "--no-figures"]
HUGE = {"policies": "", "tests": "gfb", "sets": 25_000_000}


def _ask(runs: Path, *words: str) -> tuple[str, str]:
    typed = [*WORDS, "--runs", str(runs), *words]
    found = CliRunner().invoke(root, typed, obj=typed, standalone_mode=False)
    if found.exception:
        raise found.exception
    return found.stdout, found.stderr


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".lock", "state.json")
    }


def _together(runs: Path, *parts: Path) -> None:
    for part in parts:
        shutil.copytree(part / "study", runs / "study", dirs_exist_ok=True)


def test_parts_copied_together_are_the_study(tmp_path: Path) -> None:
    _ask(tmp_path / "one")
    for k in (1, 2, 3):
        said, progress = _ask(tmp_path / f"{k}", "--part", f"{k}/3")
        others = {1: "parts 2-3", 2: "parts 1, 3", 3: "parts 1-2"}[k]
        assert f"{tmp_path}/{k}/study still lacks 16 of 24 chunks: {others} of 3" in said
        assert f"part {k} of 3 of 48 task sets" in progress and "16 of 16 task sets" in progress
    _together(tmp_path / "all", *(tmp_path / f"{k}" for k in (1, 2, 3)))
    _ask(tmp_path / "all")
    assert _files(tmp_path / "all" / "study") == _files(tmp_path / "one" / "study")


def test_what_is_lacking_is_named_with_the_command_that_computes_it(tmp_path: Path) -> None:
    _ask(tmp_path / "1", "--part=1/3")
    said, _ = _ask(tmp_path / "3", "--set", "part=3/3")
    one, rest = re.findall(r"deadbeat (sched study .*)", said)
    assert one.endswith(f"--runs {tmp_path}/3 --part K/3") and "part" not in rest
    _together(tmp_path / "all", tmp_path / "1", tmp_path / "3")
    with pytest.raises(DataError, match=r"study lacks 8 of 24 chunks: part 2 of 3 \(copy them"):
        CliRunner().invoke(
            root,
            ["show", str(tmp_path / "all" / "study")],
            standalone_mode=False,
            catch_exceptions=False,
        )
    chunk = tmp_path / "all" / "study" / "chunks" / "000003.rows"
    chunk.unlink()
    answer = answer_of(_ask(tmp_path / "all", "--part", "2/3", "--json")[0])
    assert (answer["done"], answer["planned"], answer["lacking"]) == (23, 24, [3])
    _ask(tmp_path / "all", "--part", "1/3")
    assert "sets" in answer_of(_ask(tmp_path / "all", "--part", "1/3", "--json")[0])


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("", r'--part: "" is not K/N \(write it like 3/40'),
        ("3", "is not K/N"),
        ("0/3", "is not K/N"),
        ("4/3", r"there is no part 4 of 3 \(the last is 3/3"),
        ("1/25", r"this study has 24 chunks, 25 parts are more \(at most K/24"),
    ],
)
def test_a_part_that_is_none_is_refused(tmp_path: Path, part: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        _ask(tmp_path, "--part", part)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("lacking", "parts", "words"),
    [
        (range(24), 0, "24 of 24 chunks"),
        (range(1, 24, 3), 0, "8 of 24 chunks: part 2 of 3"),
        ([*range(0, 24, 4), *range(3, 24, 4)], 0, "12 of 24 chunks: parts 1, 4 of 4"),
        ([5], 3, "1 of 24 chunks: part 3 of 3"),
        ([5, 17], 0, "2 of 24 chunks: part 6 of 12"),
    ],
)
def test_what_is_lacking_in_words(lacking, parts: int, words: str) -> None:
    assert lacking_words(list(lacking), 24, parts) == words


def test_chunks_grow_with_the_study_and_older_ones_are_cut_as_they_were() -> None:
    for sets, chunks in ((12, 24), (6000, 100), (500_000, 8334), (25_000_000, 4000)):
        assert chunk_count(small(**HUGE | {"sets": sets})) == chunks
    assert chunk_count(small(**HUGE | {"sets": 250_000_000})) == 4000
    spec = small(**HUGE | {"sets": 500_001})
    sets = bounds(spec, 2000)
    assert len(sets) == 501
    whole = compute(spec, pieces(spec, sets.start, sets.stop))
    assert whole.tobytes() == compute_chunk(spec, 2000).tobytes()


def test_figures_of_single_sets_have_a_limit() -> None:
    for more in ({"metrics": True}, {"run_on": True}):
        with pytest.raises(UsageError, match=r"more than 2000000 task sets.*or no preset"):
            small(**HUGE | more | {"policies": "g-edf"})


def test_chunks_are_submitted_in_windows() -> None:
    spec = small()
    asked = count()
    chunks = Threads(2).chunks(spec, (next(asked) % 24 for _ in count()))
    for done in range(1, 20):
        next(chunks)
        assert next(asked) < 6 * done
    chunks.close()


def test_time_left_goes_by_the_chunks_beside_each(tmp_path: Path) -> None:
    """Chunk n takes 1 + n seconds: those that come first tell the rest, of a part too."""
    spec, computer = small(**HUGE), Threads(2)
    made = StudyExperiment(spec, begun(tmp_path / "s", spec), computer, (3, 40))
    order: list[int] = []
    computer.chunks = lambda spec, numbers: (yield from order.extend(numbers) or ())  # type: ignore
    assert made.todo().left == 2_500_000 and not list(made.measure(lambda event: None))
    assert sorted(order) == list(range(2, 4000, 40)) and made.seconds(2_500_000) == np.inf
    for done, number in enumerate(order[:90], 1):
        computer.took_s[number] = 1.0 + number
        left = sum(1.0 + n for n in order[done:]) / 2
        if done >= 10:
            assert made.seconds((100 - done) * 25_000) == pytest.approx(left, rel=0.1)


# ---------- recipes of the guide ----------

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "run-a-study.md").read_text()
#: The first one to compute part 2 is killed when a chunk is there.
KILLED_ONCE = """#!/bin/sh
case "$*" in *"--part 2/3"*) if mkdir killed; then
  {deadbeat} "$@" & pid=$!
  until ls parts/2/mine/chunks/*.rows || ! kill -0 $pid; do sleep 0.1; done
  kill -9 $pid; exit 137
fi;; esac
exec {deadbeat} "$@"
"""


def _recipe(word: str) -> str:
    """The line of the page with ``word``, for 3 parts instead of 40."""
    (line,) = (
        line.strip() for line in PAGE.splitlines() if line.startswith("    ") and word in line
    )
    return line.replace("40", "3")


@contextmanager
def _place(tmp_path: Path, **more: str) -> Iterator[dict[str, str]]:
    """A folder with a study's file, in which ``deadbeat`` is killed once."""
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nprocessors = 4\ntasks = [12]\nutilisation = [0.8, 0.9]\nsets = 300\n'
        'tests = ["gfb", "bcl"]\npolicies = ["g-edf"]\n'
    )
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "deadbeat"
    tool.write_text(KILLED_ONCE.format(deadbeat=Path(sys.executable).parent / "deadbeat"))
    tool.chmod(0o755)
    env = {key: value for key, value in os.environ.items() if key != "DEADBEAT_RUNS"}
    yield {**env, "PATH": f"{tool.parent}:{env['PATH']}", **more}


def _carried_out(
    line: str, tmp_path: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line,
        cwd=tmp_path,
        env=env,
        timeout=600,
        shell=True,
        text=True,
        capture_output=True,
        check=False,
    )


def _whole(tmp_path: Path, env: dict[str, str]) -> None:
    """The parts, copied together as the page says, are one run's chunks."""
    assert (tmp_path / "killed").is_dir()
    for word in ("cp -r", "deadbeat show"):
        found = _carried_out(_recipe(word), tmp_path, env)
    assert found.returncode == 0 and "of 600 task sets" in found.stdout, found
    line = "deadbeat sched study --file mine.toml --figures --runs one"
    assert _carried_out(line, tmp_path, env).returncode == 0
    assert _files(tmp_path / "one" / "mine") == _files(tmp_path / "runs" / "mine")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("parallel"), reason="GNU parallel is not installed")
def test_gnu_parallel_computes_the_parts_and_starts_a_killed_one_again(tmp_path: Path) -> None:
    with _place(tmp_path, HOME=str(tmp_path)) as env:
        found = _carried_out(_recipe("parallel"), tmp_path, env)
        assert found.returncode == 0, found
        _whole(tmp_path, env)


SLURM = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2
PartitionName=all Nodes={host} Default=YES State=UP
"""


@contextmanager
def _cluster(at: Path) -> Iterator[dict[str, str]]:
    """SLURM with this machine as its only node."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    for name in ("state", "spool"):
        (at / name).mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    (at / "slurm.conf").write_text(SLURM.format(host=host, ports=ports, at=at))
    (at / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    env = {**os.environ, "SLURM_CONF": str(at / "slurm.conf")}
    with (at / "log").open("w") as log:
        daemons = [
            subprocess.Popen([name, "-D"], env=env, stdout=log, stderr=log)
            for name in ("slurmctld", "slurmd")
        ]
        try:
            for _ in range(300):
                found = _carried_out("sinfo -h -o %t", at, env)
                if found.stdout.strip() == "idle":
                    break
                time.sleep(0.2)
            else:
                pytest.skip(f"SLURM does not begin here: {(at / 'log').read_text()[-500:]}")
            yield {"SLURM_CONF": env["SLURM_CONF"]}
        finally:
            for daemon in reversed(daemons):
                daemon.terminate()
                daemon.wait(60)


@pytest.mark.slow
@pytest.mark.skipif(
    os.getuid() != 0 or not all(map(shutil.which, ("slurmctld", "slurmd", "sbatch"))),
    reason="SLURM (slurmctld, slurmd, slurm-client) is not installed, or this is not root",
)
def test_a_slurm_array_computes_the_parts_and_a_killed_one_again(tmp_path: Path) -> None:
    with _cluster(tmp_path / "slurm") as words, _place(tmp_path, **words) as env:
        first = _carried_out(_recipe("sbatch"), tmp_path, env)
        assert first.returncode == 137, first
        again = _carried_out(_recipe("sbatch"), tmp_path, env)
        assert again.returncode == 0, again
        _whole(tmp_path, env)
