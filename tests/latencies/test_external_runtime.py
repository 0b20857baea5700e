"""Truth: the example of the reference page, and commands that do not keep to it."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve
from helpers.hardware import LOCK_WAIT
from helpers.processes import script as program

from deadbeat.base.model.errors import DataError, RunError, TargetError, UsageError
from deadbeat.base.model.specification import read
from deadbeat.latencies.primitives.cases import PrimitiveCase, PrimitiveKey, resolved
from deadbeat.latencies.primitives.foreign import ForeignPrimitives
from deadbeat.latencies.primitives.spec import PrimitivesSpec
from deadbeat.machine.targets.local import LocalTarget

pytestmark = pytest.mark.hardware

EXAMPLE = Path(__file__).parents[2] / "examples" / "external_runtime.py"
CASE = PrimitiveCase("copy", "", 1024, "all", "external:py")
LISTS = '{"version": 1, "primitives": {"copy": []}}'


@pytest.fixture(scope="module")
def engine() -> Iterator[ForeignPrimitives]:
    with closing(LocalTarget()) as target:
        yield ForeignPrimitives(target, lock_wait=LOCK_WAIT)


def spec_of(engine: ForeignPrimitives, command: object) -> PrimitivesSpec:
    asked = {"external": f"py={command}", "duration": "0.02", "sizes": "1K", "tests": "copy"}
    found = engine.probed(read(PrimitivesSpec, {}, asked | {"runtimes": "external:py"}))
    return resolved(found, engine.topology)


def test_the_example_speaks_the_format(engine: ForeignPrimitives) -> None:
    spec = spec_of(engine, EXAMPLE)
    assert spec.external[0].does == ("clock", "copy")
    found = engine.run(spec, PrimitiveKey(CASE, 1))
    assert [thread.cpu for thread in found.threads] == list(engine.topology.cpus)
    assert {thread.policy for thread in found.threads} == {"fifo"}
    assert all(thread.times.total > 0 for thread in found.threads)
    assert found.runtime is not None and found.runtime.name == "CPython"


def script(folder: Path, body: str) -> Path:
    """A command that lists what it should, and runs ``body`` with $out."""
    find_out = 'while [ "$1" != --out ]; do shift; done; out=$2'
    listed = f"[ \"$1\" = --list ] && echo '{LISTS}' && exit"
    return Path(program(folder / "speaks", f"{listed}\n{find_out}\n{body}"))


def test_another_policy_than_was_asked_is_refused(engine: ForeignPrimitives, tmp_path: Path):
    # everything as the example, but ordinary threads, and it says so
    ordinary = f'exec {EXAMPLE} --primitive copy --size 64 --cpus "$cpus" --policy other'
    rest = '--priority 0 --seconds-ns 1000000 --out "$out"'
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    spec = spec_of(engine, script(tmp_path, f"cpus={cpus}\n{ordinary} {rest}"))
    with pytest.raises(DataError, match=r"under other with priority 0, not on CPU \d+ under fifo"):
        engine.run(spec, PrimitiveKey(CASE, 1))


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        ("echo '{' > $out", DataError, "damaged"),
        (": nothing", DataError, "damaged"),
        ("echo 'error primitive no licence'; exit 1", RunError, "gave up: no licence"),
        ("echo no licence >&2; exit 3", TargetError, "ended with status 3"),
        ("echo begun; echo 'java.lang.OutOfMemoryError: x'; exit 3", RunError, "heap was full"),
        (f"echo '{json.dumps({'version': 2})}' > $out", DataError, "another version"),
    ],
)
def test_a_command_that_does_not_keep_to_it_is_told(
    engine: ForeignPrimitives, tmp_path: Path, body: str, error: type[Exception], said: str
) -> None:
    # a result of the run before is none of this one
    good = spec_of(engine, EXAMPLE)
    engine.run(evolve(good, duration=0.01), PrimitiveKey(CASE, 1))
    spec = spec_of(engine, script(tmp_path, body))
    with pytest.raises(error, match=said):
        engine.run(spec, PrimitiveKey(CASE, 2))


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("echo nothing", "is not understood"),
        ('echo \'{"version": 2, "primitives": {}}\'', "version 2, not 1"),
        ('echo \'{"version": 1, "primitives": {"malloc": []}}\'', "there is no primitive malloc"),
        ("echo no licence >&2; exit 3", "ended with status 3: no licence"),
    ],
)
def test_a_list_that_is_not_understood_is_told(
    engine: ForeignPrimitives, tmp_path: Path, listed: str, said: str
) -> None:
    program(tmp_path / "lists", listed)
    with pytest.raises(UsageError, match=said):
        spec_of(engine, tmp_path / "lists")


def test_a_command_that_is_not_there_is_told(engine: ForeignPrimitives) -> None:
    with pytest.raises(TargetError, match="no program"):
        spec_of(engine, "/nowhere/speaks")
    with pytest.raises(UsageError, match="external:other has no command"):
        engine.probed(read(PrimitivesSpec, {}, {"runtimes": "external:other"}))
