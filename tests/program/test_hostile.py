"""Truth: what a program does without deadbeat: its status, its data, and who runs what."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.kills import TOKEN, started_with
from helpers.processes import running, until, words_of
from helpers.programs import ROOT, command_of

DEADBEAT = str(Path(sys.executable).with_name("deadbeat"))
SOURCE = ROOT / "tests/programs/strangers/odd.c"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (DEADBEAT, "run", "--no-figures", *words),
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


#: Arguments of odd.c; the first few in ``make test``, too.
QUICK = ("filter", "fork-killed")
MODES = (
    *("inherited", "fsize", "strict", "dup2", "jumps", "faults"),
    *("nofile", "address-space", "nproc", "memlock", "cpu", "rttime", "filter-syscall"),
    *("closefrom", "chroot", "chroot-child", "setuid", "unshare", "exec-empty", "fork-exit"),
    *(
        "fork-one",
        "fork-handlers",
        "vfork",
        "spawn",
        "daemon",
        "traceme",
        "undumpable",
        "subreaper",
        "pdeathsig",
    ),
    *("title", "deepbind", "robust", "stack", "cancel", "threads", "abort", "segfault"),
    "end-of-main",
)
#: How a shell starts it otherwise.
WAYS = {
    "limits before": "ulimit -f 0; ulimit -n 4; ulimit -c 0; exec ./odd inherited",
    "ignored signals": "trap '' HUP INT TERM USR1 PIPE; umask 077; exec ./odd inherited",
    "no environment": "exec env -i ./odd inherited",
    "huge environment": "MORE=$(head -c 100000 /dev/zero | tr '\\0' x) exec ./odd none",
    "a folder that is gone": "mkdir gone; cd gone; rmdir ../gone; exec ../odd inherited",
    "closed output": "exec ./odd none >&- 2>&-",
    "closed input": "exec ./odd inherited <&-",
    "input by a pipe": "seq 1000 | { ./odd none; tail -1; }",
    "nobody reads": "{ ./odd none; yes; } | head -1",
    "another's library": "LD_PRELOAD=libm.so.6 exec ./odd none",
    "static": "exec ./odd.static spawn",
    "a sanitizer": "exec ./odd.asan none",
    "a sanitizer below": "./odd.asan none; exit 4",
    "set-user-id": "exec setpriv --reuid 65534 --clear-groups --no-new-privs ./odd none",
    "background": "./odd none & wait; exit 3",
    "killed from within": "./odd none & sleep 0.02; kill -9 $!; wait $!",
    "a mount namespace": "exec unshare -m sh -c 'mount -t tmpfs none /dev/shm; exec ./odd none'",
    "kills itself": "kill -QUIT $$",
}  # fmt: skip
EVERY = [
    *(pytest.param(f"exec ./odd {mode}", id=mode) for mode in QUICK),
    *(pytest.param(f"exec ./odd {mode}", id=mode, marks=pytest.mark.slow) for mode in MODES),
    *(pytest.param(way, id=name, marks=pytest.mark.slow) for name, way in WAYS.items()),
]


def ended(folder: Path, *before: str) -> tuple[int, str, str, list[str]]:
    """Status, output and errors of what is run in ``folder``, and what it left there."""
    token = f"{folder}-{len(before)}"
    done = subprocess.run(
        (*before, "sh", "-c", (folder / "way").read_text()),
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        stdin=subprocess.DEVNULL, env={**os.environ, TOKEN: token},
    )  # fmt: skip
    assert not before or not started_with(token)
    files = {each.name for each in folder.iterdir()} - {"runs"}
    status = 128 - done.returncode if done.returncode < 0 else done.returncode
    return status, done.stdout, done.stderr, sorted(files)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    command_of(SOURCE, folder)
    for name in ("static", "asan"):
        words = {"static": "-static", "asan": "-fsanitize=address"}[name]
        how = ("gcc", "-O1", "-pthread", words, "-w", SOURCE, "-o", folder / f"odd.{name}")
        subprocess.run(how, check=True)
    return folder


@pytest.mark.hardware
@pytest.mark.parametrize("way", EVERY)
def test_a_program_is_as_it_is_alone(way: str, programs: Path, tmp_path: Path) -> None:
    """Output and errors begin as they are without, then comes the answer."""
    for program in programs.iterdir():
        (tmp_path / program.name).symlink_to(program)
    (tmp_path / "way").write_text(way)
    status, output, errors, files = ended(tmp_path)
    found = ended(tmp_path, DEADBEAT, "run", "--no-figures", "--")
    unmarked = status == 0 and "no job" in found[2]
    assert (found[0], found[3]) == (3 if unmarked else status, files), found
    assert found[1].startswith(output)
    lines = iter(found[2].splitlines())
    assert all(line in lines for line in errors.splitlines()), (errors, found[2])
    assert "Traceback" not in found[2] and "\nname 7" not in found[1]


@pytest.mark.hardware
def test_arguments_are_not_opened(tmp_path: Path) -> None:
    """A FIFO has its data once; a text is longer than a name of a file may be."""
    os.mkfifo(tmp_path / "fifo")
    writer = threading.Thread(target=(tmp_path / "fifo").write_text, args=("all of it\n",))
    writer.start()
    done = run(tmp_path, "--", "sh", "-c", f"cat fifo > data; exit 5 # {'x' * 300}", "fifo")
    writer.join()
    assert (done.returncode, (tmp_path / "data").read_text()) == (5, "all of it\n"), done.stderr


def test_what_left_its_session_ends_with_it(tmp_path: Path) -> None:
    length = f"1000.{os.getpid()}"
    script = f"env -i setsid sleep {length} & sleep 9"
    done = run(tmp_path, "--duration", "0.5", "--", "sh", "-c", script)
    assert "ended what had left the program's session: sleep" in done.stderr
    assert not running(lambda entry: length.encode() in words_of(entry))


@pytest.mark.slow  # how much comes before the disk is full is up to the machine
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_full_disk_and_lost_marks_leave_the_rest(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    program = f'rm "$DEADBEAT_MARKS"; exec {programs / "odd"} none'
    words = shlex.join((DEADBEAT, "run", "--no-figures", "--", "sh", "-c", program))
    script = f"mount -t tmpfs -o size=300k none small; TMPDIR=$PWD/small exec {words}"
    done = subprocess.run(
        ("unshare", "-m", "sh", "-c", script),
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert "Not seen: marks of jobs: cannot read file of marks" in done.stdout
    assert "s: No space left on device" in done.stdout and "relative" in done.stdout


def test_runs_at_once_say_so(programs: Path, tmp_path: Path) -> None:
    def words(name: str, more: str) -> tuple[str, ...]:
        return ("--name", name, "--", "sh", "-c", f"{programs / 'odd'} none; {more}")

    first = subprocess.Popen(
        (DEADBEAT, "run", "--no-figures", *words("first", "sleep 6")),
        cwd=tmp_path, stdout=-1, stderr=-1, text=True,
    )  # fmt: skip
    until((tmp_path / "runs/first/runs").exists)
    assert "Another deadbeat ran meanwhile" in run(tmp_path, *words("second", "true")).stdout
    assert "Another deadbeat ran meanwhile" in first.communicate(timeout=60)[0]


def test_what_a_repository_has_git_run_is_not_run(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.email=a@b", "-c", "user.name=a")
        subprocess.run(("git", *identity, *words), cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "loop.sh").write_text("sleep 0.1\n")
    git("init", "-q")
    git("add", "loop.sh")
    git("commit", "-qm", "loop")
    (tmp_path / "hook").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "hook").chmod(0o755)
    git("config", "core.fsmonitor", str(tmp_path / "hook"))
    run(tmp_path, "--", "sh", "loop.sh")
    assert not (tmp_path / "ran").exists()
    git("status")
    assert (tmp_path / "ran").exists()  # it would have been


@pytest.mark.hardware
def test_threads_and_locks_have_the_names_of_their_author(tmp_path: Path) -> None:
    """The function of a thread; the variable, its file or a user of a lock: the same in each
    run."""
    folder = ROOT / "tests/programs/strangers"
    (program,) = command_of(folder / "names.cpp", tmp_path, str(folder / "names2.cpp"))
    done = run(
        tmp_path, "--repeats", "2", "--deadline", "control=4ms", "--deadline", "vision=9ms",
        "--deadline", "main::lambda1=7ms", "--", program,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "known deadline" not in done.stdout
    for run_file in sorted((tmp_path / "runs/names/runs").iterdir()):
        traced = json.loads(run_file.read_text())["run"]["traced"]
        assert {re.sub(r"\d+\)", "n)", each["name"]) for each in traced["locks"]} == {
            "lock (names.cpp)", "lock (names2.cpp)", "lock of update (names.cpp:n)",
        }  # fmt: skip
        starts = {each["name"]: each["starts"] for each in traced["tasks"]}
        assert {*starts} == {"names", "control", "vision", "main::lambda1"}
        # a line of it: where a look found the thread
        assert re.fullmatch(r"vision \(names\.cpp:(2[4-9]|3[0-2])\)", starts["vision"])


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_recorder_decodes_any_bytes(compiler: str, tmp_path: Path) -> None:
    """strangers/fuzz.c, which makes them; with clang libFuzzer does."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    here, fuzzer = ROOT / "runtime/observe", ["-DLIBFUZZER", "-fsanitize=fuzzer"]
    words = ("-g", "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-fsanitize=address,undefined", "-w")
    words += ("-fno-sanitize-recover=all", f"-I{here}", *fuzzer * (compiler == "clang"))
    sources = (SOURCE.with_name("fuzz.c"), *here.glob("recorder_*.c"))
    subprocess.run((compiler, *words, *sources, "-o", tmp_path / "fuzz"), check=True)
    seed = ("-seed=1", "-runs=200000") if compiler == "clang" else ("1", "50000")
    done = subprocess.run((tmp_path / "fuzz", *seed), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
