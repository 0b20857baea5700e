"""Whatever a fragment file holds: a catalog or one DataError that names the file, nothing else."""

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from deadbeat.base.model.errors import DataError
from deadbeat.tasksets.catalog import load_catalog

MATTER = """\
name = "mutex"
kind = "SY"
summary = "Lock and unlock"
resource_class = "mutex"
sizes = [1, 16]
size_unit = "increments"
quick = [1]
requires = ["realtime-policy"]
modes = ["default"]
blocking = true
hold = "one counter increment"
origin = "own"
licence = "Apache-2.0"
"""
PIECES = (
    "[",
    "]",
    "=",
    '"',
    "\n",
    "#",
    "1",
    "1e9",
    "true",
    "''",
    "{}",
    "+++*/",
    "quick",
    "\0",
    "é",
)


def file_of(matter: str) -> str:
    lines = "".join(f" * {line}\n" for line in matter.split("\n"))
    return f"/*+++\n{lines} +++*/\nconst struct db_fragment db_fragment_mutex = {{0}};\n"


def outcome(content: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sy" / "mutex.c"
        path.parent.mkdir()
        path.write_bytes(content)
        try:
            catalog = load_catalog(Path(folder))
        except DataError as error:
            return error.message
    fragment = catalog.fragments["mutex"]
    assert fragment.sizes == tuple(sorted(set(fragment.sizes)))
    assert set(fragment.quick) <= set(fragment.sizes)
    assert isinstance(fragment.blocking, bool) and fragment.hold
    return ""


def test_unchanged_it_is_sound():
    assert outcome(file_of(MATTER).encode()) == ""


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, len(MATTER)),
    st.integers(0, 12),
    st.one_of(st.text(max_size=8), st.lists(st.sampled_from(PIECES), max_size=4).map("".join)),
)
@example(begin=0, length=0, insertion="x = " + "[" * 5000 + "\n")
@example(begin=0, length=0, insertion="x = " + "1" * 5000 + "\n")
@example(begin=0, length=0, insertion='"" = 1\n')
@example(begin=0, length=0, insertion="[sizes]\n")
def test_damaged_front_matter(begin, length, insertion):
    damaged = MATTER[:begin] + insertion + MATTER[begin + length :]
    message = outcome(file_of(damaged).encode("utf-8", "surrogatepass"))
    assert message == "" or "sy/mutex.c" in message


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(content):
    assert "sy/mutex.c:1:" in outcome(content) or "sy/mutex.c: cannot be read" in outcome(content)
