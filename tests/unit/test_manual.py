"""The manual page: groff reads it without a warning, and every command is in it."""

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from deadbeat.cli.main import root

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
    page = manual(click.Command("x", help="About."), [("x", click.Command("x", params=[option]))])
    assert ".tmp \\n lines" in rendered(page)
