"""Truth: made repositories, of which it is known which commit changes what the program prints."""

import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from helpers.answers import Capture, answer, answer_of

from deadbeat.base.store.files import write_json
from deadbeat.base.store.serial import to_plain
from deadbeat.cli.main import main
from deadbeat.lab.apt import lab_folder
from deadbeat.lab.offers import Offer, Offers

ROOT = Path(__file__).resolve().parents[2]
#: Figures of one program, run again and again on a busy host (CPU time of 0.1 s of work).
RECORDED = [float(x) for x in Path(__file__).with_name("host_runs.txt").read_text().split()]
#: The program of a commit: its level times the noise of the run, which a file beside counts.
PROGRAM = """#!/bin/sh
read -r n <"$1/count"; n=$((n + 1)); echo $n >"$1/count"
noise=$(sed -n "${{n}}p" "$1/noise")
echo "took: $(({level} * noise / 1000)) units"
"""
NAME = "made <made@example.com>"


@frozen(kw_only=True)
class Made:
    """A repository: its folder, commits in order, and places of those that change something."""

    folder: Path
    commits: list[str]
    changes: list[int]

    def span(self, good: int = 0, bad: int = -1) -> str:
        return f"{self.commits[good]}..{self.commits[bad]}"


def made(
    folder: Path,
    seed: int,
    effect: float,
    *,
    commits: int = 64,
    changes: int = 1,
    broken: float = 0.0,
    noise: list[float] | None = None,
) -> Made:
    """Every commit changes a line; some the level of the program, too, by ``effect``. A share of
    ``broken`` does not build. ``noise``: factors of the runs in a row."""
    draw = random.Random(seed)
    places = sorted(draw.sample(range(1, commits), changes))
    level, stream = 1_000_000, []
    for place in range(commits):
        level = round(level * (1 + effect)) if place in places else level
        text = PROGRAM.format(level=level) + f"# {place}\n"
        bad = 0 < place < commits - 1 and draw.random() < broken
        build = f"test -f program.in && {'false' if bad else 'cp program.in program'}\n"
        subject = f"change {place}"
        stream.append(
            f"commit refs/heads/main\nmark :{place + 1}\ncommitter {NAME} {10**9 + place} +0000\n"
            f"data {len(subject)}\n{subject}\nM 755 inline program.in\ndata {len(text)}\n{text}\n"
            f"M 644 inline build.sh\ndata {len(build)}\n{build}\n"
        )
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "fast-import", "--quiet", said="".join(stream))
    git(folder, "reset", "-q", "--hard")
    beside = folder.parent / f"{folder.name}-noise"
    beside.mkdir()
    if noise is None:
        noise = [1 + draw.gauss(0, 0.02) for _ in range(4000)]
    (beside / "noise").write_text("".join(f"{round(1000 * each)}\n" for each in noise))
    (beside / "count").write_text("0\n")
    return Made(folder=folder, commits=git(folder, "rev-list", "--reverse", "main").split(),
                changes=places)  # fmt: skip


def git(folder: Path, *words: str, said: str = "") -> str:
    own = ("-c", "user.name=made", "-c", "user.email=made@example.com")
    return subprocess.run(
        ("git", *own, *words), cwd=folder, input=said, text=True, capture_output=True, check=True
    ).stdout


def words(repository: Made, *more: str, span: str = "") -> list[str]:
    beside = repository.folder.parent / f"{repository.folder.name}-noise"
    runs = str(repository.folder.parent / "runs")
    return [
        "bisect", span or repository.span(), "--metric", "stdout:took", "--build",
        "chmod +x program.in && sh build.sh", "--no-figures", "--runs", runs, *more,
        "--", "./program", str(beside),
    ]  # fmt: skip


def state(folder: Path) -> tuple[str, ...]:
    """All that a user sees of the repository; the index is not read anew."""
    status = git(folder, "--no-optional-locks", "status", "--porcelain", "--ignored")
    return (
        status, git(folder, "rev-parse", "HEAD"), git(folder, "worktree", "list"),
        git(folder, "for-each-ref"), str(sorted((folder / ".git").iterdir())),
        str((folder / ".git/index").stat().st_mtime_ns),
    )  # fmt: skip


def left(path: Path) -> set[str]:
    """What is to be gone of a result."""
    return {each.name for each in path.iterdir()} & {".trees", "printed.part"}


def found(capsys: Capture, repository: Made, *more: str, span: str = "") -> dict[str, Any]:
    os.chdir(repository.folder)
    capsys.readouterr()
    assert main(words(repository, "--json", *more, span=span)) == 0
    return dict(answer_of(capsys.readouterr().out))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commit_is_named_and_nothing_else_changes(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 1, 0.05, broken=0.1)
    (repository.folder / "program.in").write_text("a change that is not committed\n")
    before = state(repository.folder)
    os.chdir(repository.folder)
    assert main(words(repository)) == 0
    out, err = capsys.readouterr()
    (place,) = repository.changes
    assert f"{repository.commits[place][:10]} (change {place}) changes took by +" in out
    assert "proved in " in out
    assert "changes that are not committed stay as they are; they are not measured" in err
    assert state(repository.folder) == before
    runs = folder / "runs"
    assert not left(runs / "bisect")
    shown = answer(capsys, "show", "bisect", "--runs", str(runs))
    assert shown["commits"] == [repository.commits[place]]
    effect = shown["effect"]
    assert effect["low"] < 0.05 < effect["high"]
    assert shown["probability"] >= 0.95
    assert shown["rows"][-1]["level"] == pytest.approx(shown["ends"]["value"])
    assert main(words(repository, "--fail-on", "change", "--name", "again")) == 1


def test_a_repository_without_a_change(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 2, 0.0)
    shown = found(capsys, repository)
    assert shown["ended"] == "equal"
    assert shown["commits"] == []
    assert "No difference of took is shown between" in shown["headline"]


def test_figures_without_noise_take_few_runs(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 3, 0.01, noise=[1.0] * 999)
    shown = found(capsys, repository)
    assert shown["commits"] == [repository.commits[repository.changes[0]]]
    assert shown["runs"] <= 4 * (4 + 6) + 2 * 8
    assert "by +1 % [0.992, 1.01] (> 99.9 %; proved in 8 blocks)" in shown["headline"]


def test_a_commit_beside_one_that_does_not_build_is_a_range(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 4, 0.1, commits=8, broken=1.0)
    shown = found(capsys, repository)
    assert shown["commits"] == repository.commits[1:]
    assert len(shown["left_out"]) == 6
    assert "6 commits, such as" in shown["headline"]
    log = shown["headline"].partition("its build ended with status 1; see ")[2].split()[0]
    assert (Path(shown["path"]) / log).is_file()


def test_the_better_end_as_bad_one(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 5, -0.1)
    shown = found(capsys, repository)
    assert shown["ended"] == "wrong"
    assert "To find what made it so: --set better=more" in shown["headline"]
    shown = found(capsys, repository, "--set", "better=more", "--name", "more")
    assert shown["commits"] == [repository.commits[repository.changes[0]]]


def test_when_the_time_is_over_more_of_it_continues(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 6, 0.1)
    slow = ("--build", "sleep 0.3; sh build.sh")
    shown = found(capsys, repository, "--for", "2s", *slow)
    assert shown["ended"] is None
    if "No difference" in shown["headline"]:
        low, high = map(float, shown["headline"].partition("[")[2].partition("]")[0].split(", "))
        assert low <= 0 <= high
    else:
        assert "not proved" in shown["headline"] or "is not decided" in shown["headline"]
    assert "It is not finished: the same command continues it." in shown["headline"]
    stored = {path: path.read_bytes() for path in (folder / "runs/bisect/runs").iterdir()}
    more = found(capsys, repository, "--for", "1min", *slow)
    assert more["commits"] == [repository.commits[repository.changes[0]]]
    assert more["runs"] > shown["runs"] > 0
    assert all(path.read_bytes() == data for path, data in stored.items())
    assert [path.name for path in (folder / "runs").iterdir() if not path.is_symlink()] == [
        "bisect"
    ]


def test_no_build_begins_that_cannot_end_in_time(folder: Path, capsys: Capture) -> None:
    """Both ends take 4 of 4.75 seconds; the next commit takes 2 again."""
    repository = made(folder / "repository", 11, 0.1, noise=[1.0] * 999)
    slow = ("--build", f"echo >>{folder}/builds; sleep 2; sh build.sh")
    shown = found(capsys, repository, "--for", "5s", *slow)
    assert (folder / "builds").read_text() == "\n\n"
    assert shown["ended"] is None and shown["runs"] >= 4
    assert "It is not finished: the same command continues it." in shown["headline"]


#: Ways of a build to end that are no fault of its commit, and what is said.
LACKS = {
    "head -c 9 /dev/zero >/dev/full || exit 1": "No space left on device; see logs/",
    "kill -9 $$": "its build ended by signal SIGKILL; see logs/",
    "sh -c 'kill -15 $$'; exit $?": "its build ended by signal SIGTERM: Terminated; see logs/",
    "make -sf ../../../../killed || exit 2": "2: Killed; see logs/",
}


def test_a_commit_is_not_to_blame_for_what_the_machine_lacks(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 12, 0.1, commits=16, noise=[1.0] * 999)
    (folder / "killed").write_text("all:\n\tsh -c 'kill -9 $$$$'; exit $$?\n")
    lacks = folder / "lacks"
    typed = words(repository, "--json", "--build", f". {lacks}; sh build.sh")
    os.chdir(repository.folder)
    for way, expected in LACKS.items():
        lacks.write_text(f"echo >>{folder}/n; test $(wc -l <{folder}/n) -lt 3 || {{ {way}; }}\n")
        assert expected in refused(capsys, typed, 3)
    lacks.write_text("")
    assert main(typed) == 0
    shown = answer_of(capsys.readouterr().out)
    assert shown["commits"] == [repository.commits[repository.changes[0]]]
    assert not shown["left_out"]


#: A mount that goes with its namespace.
SMALL = """mount -t tmpfs -o size=3m none "$0" || exit 77
"$@"; echo "END $?" >&2
mount -o remount,size=64m "$0"; exec "$@" """


@pytest.mark.parametrize("fails", ["", "|| { rm x; exit 1; }"])
def test_a_full_disk_stops_the_search(fails: str, folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root mounts a small disk")
    repository = made(folder / "repository", 13, 0.1, commits=32, noise=[1.0] * 999)
    (folder / "runs").mkdir()
    build = f"sh build.sh && head -c 600000 /dev/zero >x {fails}"
    typed = (sys.executable, "-m", "deadbeat", *words(repository, "--build", build, "--json"))
    done = subprocess.run(
        ("unshare", "-m", "sh", "-c", SMALL, str(folder / "runs"), *typed),
        cwd=repository.folder, text=True, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("no mounts here")
    line = done.stderr.partition("\nEND 3\n")[0].splitlines()[-1]
    assert "bisect has no room for a commit: " in line and "(free space there" in line
    shown = answer_of(done.stdout)
    assert shown["commits"] == [repository.commits[repository.changes[0]]]
    assert not shown["left_out"]


def test_one_build_of_the_repository_is_none_of_its_commits(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 9, 0.1, commits=4)
    os.chdir(repository.folder)
    program = repository.folder / "build.sh"
    typed = ["bisect", "HEAD~2..HEAD", "--runs", str(folder / "runs"), "--", str(program)]
    assert "is one build for all commits (say which of each: ./build.sh)" in refused(capsys, typed)


def test_what_is_cut_off_has_no_time_from_start_to_end(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 10, 0.1, commits=4)
    os.chdir(repository.folder)
    more = ["--metric", "wall", "--duration", "20ms", "--runs", str(folder / "runs")]
    line = refused(capsys, ["bisect", "HEAD~2..HEAD", *more, "--", "sleep", "5"], 3)
    assert "it did not end within --duration" in line


def test_what_was_changed_on_a_branch_is_its_merge(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 7, 0.0, commits=6, noise=[1.0] * 999)
    place = repository.folder
    git(place, "checkout", "-q", "-b", "side", repository.commits[2])
    for number in range(3):
        (place / f"side{number}").write_text("\n")
        git(place, "add", "-A")
        git(place, "commit", "-q", "-m", f"side {number}")
    text = (place / "program.in").read_text().replace("1000000", "1200000")
    (place / "program.in").write_text(text)
    git(place, "commit", "-q", "-a", "-m", "slower")
    git(place, "checkout", "-q", "main")
    git(place, "merge", "-q", "-X", "theirs", "-m", "merged", "side")
    shown = found(capsys, repository, span=f"{repository.commits[0]}..main")
    assert shown["commits"] == [git(place, "rev-parse", "main").strip()]


def refused(capsys: Capture, typed: list[str], status: int = 2) -> str:
    assert main(typed) == status
    (line,) = [row for row in capsys.readouterr().err.splitlines() if "error" in row]
    return line


def test_bad_input_is_one_line(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 8, 0.1, commits=4)
    place = repository.folder
    git(place, "checkout", "-q", "--orphan", "other")
    git(place, "commit", "-q", "-m", "other")
    os.chdir(place)
    cases = {
        repository.span(3, 0): f"(the other way round: {repository.span(0, 3)})",
        repository.span(0, 0): "are one commit",
        "other..main": "other is no ancestor of main",
        "main": '"main" is not GOOD..BAD',
        "main..nope": '"nope" names no commit here',
        "main..--all": '"--all" names no commit here',
        "main...other": "is not GOOD..BAD",
    }
    for span, expected in cases.items():
        assert expected in refused(capsys, words(repository, span=span))
    assert "no program is named" in refused(capsys, ["bisect", repository.span()])
    assert "stdout names no figure" in refused(capsys, words(repository, "--metric", "stdout"))
    assert "is of the whole program" in refused(capsys, words(repository, "--metric", "cpu:a"))
    assert not (folder / "runs").exists()
    long = "echo first; echo 'x.c:1: error: bad'; make CFLAGS=-Wno-error nothing"
    for build, expected in (
        ("false", "its build ended with status 1; see "),
        (long, "its build ended with status 2: x.c:1: error: bad; see "),
        ("true", "does not start"),
    ):
        line = refused(capsys, words(repository, "--build", build), 3)
        assert f"the good end {repository.commits[0][:10]}" in line
        assert expected in line
    line = refused(capsys, words(repository, "--metric", "stdout:nothing"), 3)
    assert 'it prints no number behind "nothing"' in line
    shallow = folder / "shallow"
    git(folder, "clone", "-q", "--depth", "2", "-b", "main", f"file://{place}", str(shallow))
    os.chdir(shallow)
    assert "a shallow clone (git fetch --unshallow)" in refused(capsys, words(repository))
    os.chdir(folder)
    assert "here: git rev-parse: not a git repository" in refused(capsys, words(repository))


def test_kernels_in_place_of_commits(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is given each kernel's name; one has no figure, another flavour is none."""
    monkeypatch.setenv("DEADBEAT_CACHE", str(folder / "cache"))
    kernels = [
        Offer(name=f"6.{n}.0-{flavour}", version=f"6.{n}.1-1", suite="made", machine="x86_64",
              flavour=flavour, packages=())
        for n in range(1, 20) for flavour in ("amd64", "rt-amd64")
    ]  # fmt: skip
    path = lab_folder() / "kernels/offers-x86_64.json"
    path.parent.mkdir()
    write_json(path, to_plain(Offers(kernels=tuple(kernels), refused=(), time=time.time())))
    (folder / "boot").write_text(
        "case $1 in 6.1[2-9]*) p=150;; 6.10*) exit 1;; *) p=100;; esac\n"
        'echo $1 >>booted; echo "{\\"p99\\": $p}"\n'
    )
    typed = ["--target", "lab:", "--metric", 'stdout:"p99"', "--no-figures"]
    program = ["--", "sh", "boot"]
    span = ["bisect", "6.1-amd64..6.19-amd64"]
    assert main((*span, *typed, "--json", *program, "{}")) == 0
    shown = answer_of(capsys.readouterr().out)
    assert shown["commits"] == ["6.12.0-amd64"]
    assert "6.12.0-amd64 (6.12.1-1) changes" in shown["headline"]
    assert main(("show", "bisect")) == 0
    assert "Kernels that were run (" in (out := capsys.readouterr().out)
    assert "ommit" not in out
    booted = (folder / "booted").read_text().split()
    assert len({*booted}) == len(booted) < 10
    assert "no word of the program has {}" in refused(capsys, [*span, *typed, *program])
    for bad, expected in (
        ("6.12-amd64..6.1-amd64", "is no row of kernels (the older one first, of one flavour: "),
        ("6.1-amd64..6.2-rt-amd64", "is no row of kernels"),
        ("6.1-amd64..6.77-amd64", 'no kernel "6.77-amd64" is to be had'),
        ("6.1-amd64", '"6.1-amd64" is no row of kernels'),
    ):
        assert expected in refused(capsys, ["bisect", bad, *typed, *program, "{}"])
    other = refused(capsys, ["bisect", "a..b", "--target", "ssh://board", *program])
    assert "bisect runs here, or over kernels (--target lab:) (for a board: -- sh -c" in other


def killed(typed: list[str], place: Path, after: int, number: signal.Signals) -> int:
    """The command, killed when it has stored as many blocks; its status."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        (sys.executable, "-m", "deadbeat", *typed), cwd=place, env=env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    stored = place.parent / "runs/bisect/runs"
    while process.poll() is None:
        if stored.is_dir() and len([*stored.iterdir()]) >= after:
            process.send_signal(number)
            break
        time.sleep(0.001)
    return process.wait()


def test_a_killed_search_goes_on_to_the_same_answer(folder: Path, capsys: Capture) -> None:
    repository = made(folder / "repository", 9, 0.05)
    before = state(repository.folder)
    typed = words(repository)
    for after, number in ((0, signal.SIGKILL), (5, signal.SIGKILL), (9, signal.SIGINT)):
        assert killed(typed, repository.folder, after, number) != 0
        assert state(repository.folder) == before
    stored = {path: path.read_bytes() for path in (folder / "runs/bisect/runs").iterdir()}
    assert len(stored) >= 7
    shown = found(capsys, repository)
    assert shown["commits"] == [repository.commits[repository.changes[0]]]
    assert all(path.read_bytes() == data for path, data in stored.items())
    assert state(repository.folder) == before
    assert not left(folder / "runs/bisect")


def recorded(seed: int, scale: float = 1.0) -> list[float]:
    """Noise of this host: the recorded runs from a place on."""
    at = random.Random(seed).randrange(len(RECORDED))
    typical = sorted(RECORDED)[len(RECORDED) // 2]
    return [(each / typical) ** scale for each in (RECORDED[at:] + RECORDED[:at]) * 2]


#: Standard deviation of the logarithm of a recorded run.
SIGMA = 0.13


def judged(capsys: Capture, repository: Made, *more: str) -> str:
    """``right``: the commit, or at most 4 that hold it; ``open``: not proved; or ``wrong``."""
    shown = found(capsys, repository, "--for", "5min", *more)
    named = [repository.commits.index(each) for each in shown["commits"]]
    holds = bool({*named} & {*repository.changes})
    if shown["ended"] == "proved":
        return "right" if holds and len(named) <= 4 else "wrong"
    return "right" if holds and len(named) <= 4 else "open"


#: Sleeps and works in turn.
JOBS = """#include <time.h>
volatile long sum;
int main(void) {{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (int job = 0; job < 30; job++) {{
        at.tv_nsec = (at.tv_nsec + 10000000) % 1000000000;
        at.tv_sec += at.tv_nsec < 10000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0);
        for (long i = 0; i < {work}; i++) sum += i;
    }}
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["response", "cost"])
def test_figures_of_jobs(metric: str, folder: Path, capsys: Capture) -> None:
    repository = folder / "repository"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    for place, work in enumerate((10_000, 10_001, 10_002, 1_000_000, 1_000_001)):
        (repository / "jobs.c").write_text(JOBS.format(work=work))
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", f"change {place}")
    os.chdir(repository)
    typed = ["--metric", metric, "--build", "cc -O1 jobs.c -o jobs", "--runs", str(folder / "runs")]
    assert main(["bisect", "HEAD~4..HEAD", *typed, "--no-figures", "--json", "--", "./jobs"]) == 0
    shown = answer_of(capsys.readouterr().out)
    assert shown["commits"] == [git(repository, "rev-parse", "HEAD~1").strip()]


@pytest.mark.slow
def test_of_repositories_over_recorded_runs_95_percent_are_right(
    folder: Path, capsys: Capture
) -> None:
    """One, two and three standard deviations; commits that do not build; two changes."""
    outcomes = {}
    for seed in range(28):
        sigmas, kind = 1 + seed % 3, seed % 4
        repository = made(
            folder / f"r{seed}",
            seed,
            math.expm1(SIGMA * sigmas),
            changes=2 if kind == 3 else 1,
            broken=0.2 * (kind == 2),
            noise=recorded(seed),
        )
        outcomes[seed] = judged(capsys, repository, "--name", f"r{seed}")
    assert "wrong" not in outcomes.values(), outcomes
    assert [*outcomes.values()].count("right") >= 0.95 * len(outcomes), outcomes


@pytest.mark.slow
def test_repositories_without_a_change_over_recorded_runs(folder: Path, capsys: Capture) -> None:
    """None is named; after a few seconds some are not decided, as ends differ by chance."""
    open_ = []
    for seed in range(34):
        repository = made(folder / f"r{seed}", 100 + seed, 0.0, noise=recorded(100 + seed))
        shown = found(capsys, repository, "--for", "6s", "--name", f"r{seed}")
        assert (shown["commits"], shown["ended"] in ("equal", None)) == ([], True), seed
        if "No difference of took is shown" not in shown["headline"]:
            assert "is not decided" in shown["headline"], seed
            open_.append(shown["headline"])
    assert len(open_) <= 3, open_
