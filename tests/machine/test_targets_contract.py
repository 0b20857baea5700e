"""What every target does, on this machine and over SSH to it, against what the system says."""

import gzip
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.pretend import PretendedTarget
from helpers.processes import is_alive
from helpers.sshd import Sshd

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.cli.main import main
from deadbeat.machine.targets import opening
from deadbeat.machine.targets.base import Process, Target, is_here
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.opening import open_target
from deadbeat.machine.targets.ssh import SshTarget

ECHO = """
import sys
print("ready", flush=True)
for line in sys.stdin:
    print("got " + line.strip(), flush=True)
print("bye", file=sys.stderr)
sys.exit(3)
"""
STUBBORN = """
import os, time
print(os.getpid(), flush=True)
while True:
    time.sleep(60)
"""


@contextmanager
def made(kind: str, request: pytest.FixtureRequest) -> Iterator[Target]:
    if kind == "local":
        with LocalTarget() as local:
            yield local
        return
    server: Sshd = request.getfixturevalue("sshd")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEADBEAT_SSH_CONFIG", str(server.config))
        with SshTarget(server.word) as remote:
            yield remote


@pytest.fixture(scope="module", params=["local", "ssh"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with made(request.param, request) as kept:
        yield kept


@pytest.fixture
def place(target: Target) -> Iterator[str]:
    """An empty folder on the target."""
    folder = f"{target.folder}/place"
    target.run(["mkdir", folder])
    yield folder
    target.run(["rm", "-rf", folder])


def test_it_satisfies_the_protocols(target):
    seam: Target = target
    with seam.start(["true"]) as started:
        process: Process = started
        assert seam.name
        assert seam.kind == "hardware"
        assert process.close(timeout=30).returncode == 0


def test_run_returns_status_and_both_outputs(target):
    done = target.run(["sh", "-c", "printf out; printf err >&2; exit 7"])
    assert (done.returncode, done.stdout, done.stderr) == (7, "out", "err")


def test_run_of_a_command_killed_by_a_signal_is_negative(target):
    assert target.run(["sh", "-c", "kill -9 $$"]).returncode == -9


def test_run_replaces_bytes_that_are_not_utf8(target):
    assert target.run(["printf", "\\377"]).stdout == "\N{REPLACEMENT CHARACTER}"


def test_run_kills_what_does_not_end_in_time_even_with_grandchildren_on_its_pipes(target):
    with pytest.raises(TargetError, match=r"did not end within 0\.2 s"):
        target.run(["sh", "-c", "sleep 3; true"], timeout=0.2)


@pytest.mark.parametrize("how", ["run", "start"])
def test_a_missing_program_is_named(target, how):
    with pytest.raises(TargetError, match="no program no-such-program"):
        getattr(target, how)(["no-such-program"])


@pytest.mark.parametrize("how", ["run", "start"])
def test_a_file_that_is_not_a_program_is_refused(target, how, tmp_path):
    file = tmp_path / "data"
    file.write_text("x")
    with pytest.raises(TargetError, match="may not be executed"):
        getattr(target, how)([str(file)])


def test_a_conversation_in_lines(target):
    with target.start([sys.executable, "-c", ECHO]) as process:
        assert process.read_line(timeout=30) == "ready"
        process.write_line("one")
        process.write_line("two")
        assert process.read_line(timeout=30) == "got one"
        assert process.read_line(timeout=30) == "got two"
        process.write_line("three")
        done = process.close(timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (3, "got three\n", "bye\n")
    assert process.stderr() == "bye\n"


def test_the_end_of_output_is_none_and_an_unfinished_last_line_is_kept(target):
    with target.start(["printf", "a\\nlast"]) as process:
        assert process.read_line(timeout=30) == "a"
        assert process.read_line(timeout=30) == "last"
        assert process.read_line(timeout=30) is None


def test_silence_is_an_error_that_quotes_the_last_words_and_loses_nothing(target):
    script = r"echo why >&2; printf 'first\nhalf'; read go; echo ' done'"
    with target.start(["sh", "-c", script]) as process:
        assert process.read_line(timeout=30) == "first"
        with pytest.raises(TargetError) as caught:
            process.read_line(timeout=0.01)
        assert "did not answer within 0.01 s" in caught.value.message
        assert caught.value.hint == "it said: why"
        process.write_line("go")
        assert process.read_line(timeout=30) == "half done"


def test_close_kills_what_ignores_it(target):
    process = target.start([sys.executable, "-c", STUBBORN])
    number = int(process.read_line(timeout=30) or "")
    with pytest.raises(TargetError, match="was killed"):
        process.close(timeout=0.1)
    assert not is_alive(number)


def test_close_drains_a_command_that_writes_more_than_a_pipe_holds(target):
    with target.start([sys.executable, "-c", "print('x' * 1_000_000)"]) as process:
        done = process.close(timeout=60)
    assert (done.returncode, len(done.stdout)) == (0, 1_000_001)


def test_put_and_get_keep_bytes_and_the_executable_bit(target, tmp_path):
    source = tmp_path / "program"
    source.write_bytes(b"#!/bin/sh\necho hello\n")
    source.chmod(0o755)
    there = f"{target.folder}/program"
    target.put(source, there)
    assert target.run([there]).stdout == "hello\n"
    target.get(there, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == source.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["back", "program"]


def test_a_failed_copy_leaves_nothing(target, tmp_path):
    with pytest.raises(TargetError, match="cannot be copied"):
        target.get(f"{target.folder}/missing", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_read_text(target, tmp_path):
    (tmp_path / "plain").write_text("text")
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_X=y\n"))
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(b"CONFIG_X=y\n")[:-9])
    assert target.read_text(str(tmp_path / "plain")) == "text"
    assert target.read_text(str(tmp_path / "config.gz")) == "CONFIG_X=y\n"
    assert target.read_text(str(tmp_path / "damaged.gz")) is None
    assert target.read_text(str(tmp_path / "missing")) is None
    assert target.read_text(str(tmp_path)) is None


@pytest.mark.parametrize("kind", ["local", "ssh"])
def test_nothing_survives_the_target(kind, request):
    with made(kind, request) as target:
        folder = Path(target.folder)
        assert folder.stat().st_mode & 0o777 == 0o700
        process = target.start([sys.executable, "-c", STUBBORN])
        number = int(process.read_line(timeout=30) or "")
        assert is_alive(number)
    assert not is_alive(number)
    assert not folder.exists()
    target.close()
    process.kill()


#: What a careless shell would carry out, split, match, or take for an option.
NAMES = (
    "a b",
    "it's",
    'say "x"',
    "$(touch hit)",
    "`touch hit`",
    "a;touch hit",
    "line\nbreak",
    "-rf",
    "--",
    "*",
    "~",
    "!!",
    "back\\slash\\",
    "$HOME",
    "#",
    "",
    "caf\N{LATIN SMALL LETTER E WITH ACUTE}",
    os.fsdecode(b"\xff\xfe"),
)


def test_no_word_is_interpreted(target):
    print_all = "import os, sys; print([os.fsencode(word) for word in sys.argv[1:]])"
    done = target.run([sys.executable, "-c", print_all, *NAMES])
    assert done.stdout == f"{[os.fsencode(name) for name in NAMES]}\n"
    with target.start(["printf", "%s\\n", *NAMES[:3]]) as process:
        assert [process.read_line(timeout=30) for _ in range(3)] == list(NAMES[:3])


@pytest.mark.parametrize("name", [name for name in NAMES if name])
def test_no_name_of_a_file_is_interpreted(target, place, tmp_path, name):
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)))
    there = f"{place}/{name}"
    target.put(source, there)
    assert [os.fsencode(each.name) for each in Path(place).iterdir()] == [os.fsencode(name)]
    assert target.read_text(there) == bytes(range(256)).decode(errors="replace")
    target.get(there, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == source.read_bytes()


def test_read_many_answers_as_read_text_does(target, tmp_path):
    (tmp_path / "one").write_text("1\n")
    (tmp_path / "two").write_text("2\n")
    wanted = [f"{tmp_path}/o*", f"{tmp_path}/two", f"{tmp_path}/three"]
    found = target.read_many(wanted, {"name": "uname -s", "none": "no-such-program-at-all"})
    assert {path: reading.text for path, reading in found.files.items()} == {
        path: target.read_text(path) for path in (f"{tmp_path}/one", *wanted[1:])
    }
    assert found.commands["name"].text == "Linux\n"
    assert found.commands["none"].text is None


BOARD = "pretend://board"


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PretendedTarget]]:
    monkeypatch.setitem(opening.SCHEMES, "pretend", "helpers.pretend:PretendedTarget")
    PretendedTarget.made.clear()
    yield PretendedTarget.made
    assert all(each.closed for each in PretendedTarget.made)


@pytest.mark.parametrize("word", [None, "local"])
def test_no_word_is_this_machine(word: str | None) -> None:
    with open_target(word) as target:
        assert is_here(target) and target.address == "local"


@pytest.mark.parametrize("word", ["", "board", "telnet://board", "ssh", "$(id)", "a\nb"])
def test_another_word_is_refused_in_a_line(word: str) -> None:
    with pytest.raises(UsageError, match="names no machine") as caught:
        open_target(word)
    assert "\n" not in str(caught.value) and "ssh://" in caught.value.hint


def test_the_doctor_reads_the_target_and_names_it(
    pretended: list[PretendedTarget], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--target", BOARD, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert found["target"]["address"] == BOARD
    (target,) = pretended
    assert target.asked == ["run sh"]  # one round trip
    cures = [each["cure"] for each in found["checks"] if each["cure"]]
    assert cures and all(cure.startswith(f"on {found['target']['name']}: ") for cure in cures)
    assert main(["doctor", "--target", BOARD]) == 0
    shown = capsys.readouterr().out
    assert f"deadbeat latency --quick --target {BOARD}" in shown
