"""The container file: its commands are shell, what it copies is there, its rights are told."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text()
WORDS = {"FROM", "RUN", "COPY", "ENV", "VOLUME", "WORKDIR", "ENTRYPOINT"}
STEPS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", TEXT)).splitlines()
    if line
]


def test_every_step_is_a_known_one() -> None:
    assert {word for word, _ in STEPS} == WORDS
    assert next(text.split()[0] for word, text in STEPS if word == "FROM").startswith("debian:")


@pytest.mark.parametrize("command", [text for word, text in STEPS if word == "RUN"])
def test_what_is_run_is_shell(command: str) -> None:
    subprocess.run(["sh", "-n"], input=command, text=True, check=True)
    for file in re.findall(r"/src/([\w.-]+)", command):
        assert (ROOT / file).is_file()


def test_the_build_sees_its_sources_and_no_results() -> None:
    left_out = (ROOT / ".containerignore").read_text().split()
    assert {"/runs", "/build", ".git", ".venv"} <= set(left_out)
    assert not [line for line in left_out if line.startswith(("src", "/src", "build", "**/build"))]


def test_its_rights_are_told_in_the_docs() -> None:
    page = (ROOT / "docs/howto/install.md").read_text()
    for right in re.findall(r"--(?:cap-add|ulimit) \S+", TEXT):
        assert right in page
