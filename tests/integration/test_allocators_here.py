"""The truth is what malloc promises: every object is whole, aligned, and nobody else's."""

import subprocess
from pathlib import Path

import pytest

from deadbeat.build.allocators import ALLOCATORS, LIBC, link_words
from deadbeat.build.native import native_root, object_of
from deadbeat.build.toolchain import STATIC, Toolchain
from deadbeat.model.errors import BuildError

SLOW = {"mimalloc"}
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in (LIBC, *ALLOCATORS)
]


@pytest.mark.parametrize("name", NAMES)
def test_threads_get_objects_of_their_own_from_the_allocator_that_was_asked_for(
    name: str, tmp_path: Path
) -> None:
    toolchain = Toolchain.find()
    try:
        words = link_words(toolchain, name)
    except BuildError as error:
        pytest.skip(f"{error}: {error.hint}")
    sources = (
        Path(__file__).with_name("allocators.c"),
        native_root() / "runtime" / "src" / "host" / "allocator.c",
    )
    objects = [str(object_of(toolchain, each)) for each in sources]
    program = tmp_path / "churn"
    argv = [toolchain.cc, *STATIC, "-pthread", *objects, *words, "-lm", "-o", str(program)]
    subprocess.run(argv, check=True, capture_output=True, text=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{name}\n", "")
