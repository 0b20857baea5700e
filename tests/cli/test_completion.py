"""What a shell is told to complete: through click's own protocol, and in the shells themselves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from helpers.processes import script

from deadbeat.cli.main import root

#: How a shell reads what is completed after a line typed, given the script it was given.
ASK = {
    "bash": 'eval "$1"; set -- $2; COMP_WORDS=("$@" ""); COMP_CWORD=$#; '
    '_deadbeat_completion deadbeat; printf "%s\\n" "${COMPREPLY[@]}"',
    "fish": 'eval "$argv[1]"; complete -C "$argv[2] "',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("quick", "quick-2", "latency", "$(touch hacked)", "a\nb", ".hidden"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    script(tmp_path / "bin" / "deadbeat", f'exec {sys.executable} -m deadbeat "$@"')
    return tmp_path


def said(folder: Path, *words: str, asked: str, **more: str) -> str:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "deadbeat", *words],
        cwd=folder,
        env={**os.environ, "PATH": path, "_DEADBEAT_COMPLETE": asked, **more},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def completed(folder: Path, typed: str, incomplete: str = "") -> list[str]:
    count = str(len(typed.split()))
    line = f"{typed} {incomplete}"
    out = said(folder, asked="bash_complete", COMP_WORDS=line, COMP_CWORD=count)
    return [item.partition(",")[2] for item in out.splitlines() if item.startswith("plain")]


def test_verbs_are_completed(folder: Path) -> None:
    assert {"doctor", "latency", "show"} <= set(completed(folder, "deadbeat"))
    assert "apply" in completed(folder, "deadbeat tune", "a")


def test_options_and_their_words_are_completed(folder: Path) -> None:
    assert "--duration" in completed(folder, "deadbeat latency", "--du")
    assert set(completed(folder, "deadbeat contention --calibrate --policy")) == {"fifo", "other"}


def test_lists_are_completed_item_by_item(folder: Path) -> None:
    assert {"inherit", "pin", "all"} <= set(completed(folder, "deadbeat run --try"))
    assert completed(folder, "deadbeat run --try", "inherit,pi") == ["inherit,pin"]
    assert completed(folder, "deadbeat latency --loads", "idle,me") == ["idle,memory"]


def test_runs_are_completed_and_hostile_names_left_out(folder: Path) -> None:
    assert completed(folder, "deadbeat show") == ["latency", "quick", "quick-2"]
    assert completed(folder, "deadbeat compare quick", "quick-") == ["quick-2"]
    other = folder / "elsewhere"
    (other / "mine").mkdir(parents=True)
    assert completed(folder, f"deadbeat show --runs {other}") == ["mine"]


def test_names_of_what_is_listed_are_completed(folder: Path) -> None:
    assert completed(folder, "deadbeat show", "simulat") == ["simulated"]
    assert "futex" in completed(folder, "deadbeat show", "fut")
    assert "realtime" in completed(folder, "deadbeat tune apply", "re")
    assert "governor" in completed(folder, "deadbeat tune apply --knob", "gov")


def test_an_unknown_shell_is_refused(folder: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        said(folder, asked="csh_source")
    assert refused.value.returncode == 2
    assert "csh_source" in refused.value.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_the_shell_reads(folder: Path, shell: str) -> None:
    script = said(folder, asked=f"{shell}_source")
    assert "_DEADBEAT_COMPLETE" in script
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    file = folder / "script"
    file.write_text(script)
    subprocess.run([program, "-n", str(file)], check=True)


@pytest.mark.parametrize("shell", list(ASK))
def test_the_shell_completes_runs(folder: Path, shell: str) -> None:
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    script = said(folder, asked=f"{shell}_source")
    words = [program, "-c", ASK[shell], *(["bash"] if shell == "bash" else []), script]
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [*words, "deadbeat show"],
        cwd=folder,
        env={**os.environ, "PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"latency", "quick", "quick-2"} <= set(done.stdout.split())
    assert not (folder / "hacked").exists()


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/deadbeat.1"
sys.path.insert(0, str(ROOT / "tools"))
from manpage import escaped, manual  # noqa: E402 - after the path


def rendered(page: str) -> str:
    if not (groff := shutil.which("groff")):
        pytest.skip("groff is not installed")
    words = [groff, "-ww", "-man", "-Kutf8", "-Tutf8", "-P-cbou"]
    done = subprocess.run(words, input=page, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_groff_has_no_warning_and_every_command_is_there() -> None:
    text = rendered(PAGE.read_text())
    context = click.Context(root)
    for name in root.list_commands(context):
        assert f"deadbeat {name}" in text


def test_what_roff_would_take_for_its_own_is_text() -> None:
    told = ".so /etc/passwd\n'tis \\fBbold\\fR -x"
    assert escaped(told).splitlines() == [r"\&.so /etc/passwd", r"\&'tis \efBbold\efR \-x"]
    option = click.Option(["--out"], metavar="F", help=".tmp \\n lines")
    page = manual(
        click.Command("x", help="About."), [("x", click.Command("x", params=[option]))], []
    )
    assert ".tmp \\n lines" in rendered(page)
