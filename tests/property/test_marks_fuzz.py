"""Truth: the layout in runtime/include/deadbeat.h; a damaged file is refused in one line."""

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from deadbeat.kinds.program.results import tasks_of
from deadbeat.kinds.program.spec import ProgramSpec
from deadbeat.model.errors import DataError
from deadbeat.targets.marks import HEAD_BYTES, Writer, create, read


def whole(jobs: int, capacity: int = 8) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "marks")
        create(path, capacity)
        writer = Writer(str(path))
        writer.declare(1, "task\x1b[31m", 10**6, 0)
        for job in range(1, jobs + 1):
            writer.add(1, job * 10**6, job * 10**6 + 5, job * 10**6 + 99, 0)
        return path.read_bytes()


def test_what_was_written_is_read() -> None:
    found = read(whole(10), "x")
    assert (len(found.records), found.dropped) == (8, 2)
    assert [task.name for task in found.tasks] == ["task?[31m"]
    assert found.records["finish"][0] == 10**6 + 99


FILE = whole(5)
PLACES = st.one_of(st.integers(0, 199), st.integers(HEAD_BYTES, len(FILE) - 8))
NUMBERS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**31, 2**62, 2**63]))


@given(st.lists(st.tuples(PLACES, NUMBERS), max_size=4), st.integers(0, len(FILE) + 40))
def test_any_file_is_read_or_refused(changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(FILE)
    for place, number in changes:
        struct.pack_into("=Q", data, place, number)
    for end in (len(data), length):
        try:
            found = read(bytes(data[:end]).ljust(end, b"\0"), "x")
        except DataError as error:
            assert "\n" not in str(error)
        else:
            for task in tasks_of(found, ProgramSpec(command=("x",))):
                assert task.response.total > 0 and task.skipped >= 0
