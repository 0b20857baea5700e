"""Each file of /proc is parsed in one module: nobody else has its path in the code.

Settings are apart: a row says which file it is about, and its text is parsed by functions of host.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src/deadbeat"
FILES = (
    *("/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/cpuinfo", "/proc/meminfo"),
    *("/proc/uptime", "/proc/loadavg", "/proc/self/status", "/proc/self/limits"),
    *("/proc/self/cgroup", "/proc/self/mountinfo", "/proc/version"),
)


def paths_in(source: str) -> Iterator[str]:
    """Paths that are a string of their own, or that a command in one reads; no docstrings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\A/proc/[a-z/]+\Z|(?<=cat )/proc/[a-z/]+", node.value)


@pytest.fixture(scope="module")
def where() -> dict[str, set[str]]:
    """File of /proc -> modules that read it."""
    found = defaultdict(set)
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for file in paths_in(source) if "/proc/" in source else ():
            found[file].add(path.relative_to(SOURCES).as_posix())
    return found


def test_the_rule_bites() -> None:
    text = 'A = "/proc/stat"\nB = "x; cat /proc/uptime\\ny"\nC = "ticks of /proc/meminfo"\n'
    assert list(paths_in(text)) == ["/proc/stat", "/proc/uptime"]


@pytest.mark.parametrize("file", FILES)
def test_a_host_file_is_parsed_in_one_module(file: str, where: dict[str, set[str]]) -> None:
    modules = {path for path in where[file] if not path.startswith("machine/settings/")}
    assert len(modules) == 1 and next(iter(modules)).startswith("machine/host/"), modules
