"""Truth: issue 27: a disk that fills up at any stage, or a folder that goes, is one line; what was
measured is kept, and the same command goes on once there is room."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.campaigns import started
from helpers.kinds import KINDS, MORE_KINDS

COMMANDS = {words[0]: words for words in (*(w for w, _ in KINDS.values()), *MORE_KINDS.values())}
#: A mount that goes with its namespace. Sizes in kB, a command; "END status", in each size and then
#: with room.
_SCRIPT = """
mount -t tmpfs -o size=64m none "$0" || exit 77
cd "$0"
for size in $SIZES; do
    mount -o remount,size=${size}k "$0"
    "$@" >/dev/null; echo "END $?" >&2
    find . -name '*.part' >&2
    mount -o remount,size=64m "$0"
    "$@" >/dev/null; echo "END $?" >&2
    rm -rf runs
done
"""


@pytest.mark.parametrize(
    ("verb", "sizes"),
    [
        ("latency", "16 96"),
        *(
            pytest.param(verb, "16 32 64 96 128 256 512 1024", marks=pytest.mark.slow)
            for verb in COMMANDS
        ),
    ],
)
def test_a_disk_that_fills_up_is_one_line_and_the_command_goes_on(
    verb: str, sizes: str, tmp_path: Path
) -> None:
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("only root mounts a small disk")
    command = [sys.executable, "-m", "deadbeat", *COMMANDS[verb], "--no-figures"]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", _SCRIPT, tmp_path, *command],
        env={**os.environ, "SIZES": sizes},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("no mounts here")
    assert "unexpected" not in done.stderr and ".part" not in done.stderr, done.stderr
    turns = done.stderr.split("END ")
    assert len(turns) == 2 * len(sizes.split()) + 1
    for small, said, after in zip(turns[1::2], turns[:-1:2], turns[2::2], strict=True):
        if small.startswith("3"):
            line = said.strip().splitlines()[-1]
            assert line.startswith("deadbeat: error: "), said
            assert "No space left on device" in line or " free" in line, said
        else:
            assert small.startswith("0"), said
        assert after.startswith("0"), after
    assert turns[1].startswith("3")


@pytest.mark.parametrize(
    "verb", ["load", *(pytest.param(v, marks=pytest.mark.slow) for v in COMMANDS)]
)
def test_a_folder_that_is_removed_meanwhile_is_one_line(verb: str, tmp_path: Path) -> None:
    process = started(*COMMANDS[verb], cwd=tmp_path, stdout=subprocess.DEVNULL)
    while process.poll() is None:  # as soon as it is there, again and again
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
        time.sleep(0.01)
    _, errors = process.communicate()
    assert process.returncode == 3, errors
    assert errors.strip().splitlines()[-1].startswith("deadbeat: error: "), errors
    assert "unexpected" not in errors and "are kept" not in errors
