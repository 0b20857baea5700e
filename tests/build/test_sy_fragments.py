"""SY fragments under stress: the truth is conservation (tokens, counts, payloads) and known damage.

Every fragment runs through ``runtime/tests/sy_stress.c``, outside deadbeat's own runtime: many
participants in one or two processes, then each context and the object are checked. The second half
damages the fragments on purpose (a lock that does not lock) and expects the same checks to notice.
"""

import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from helpers.native import compile_program

from deadbeat.build.native import index_source, native_root

ROOT = native_root()
SOURCES = {path.stem: path for path in sorted((ROOT / "fragments" / "sy").glob("*.c"))}
DRIVER = ROOT / "runtime" / "tests" / "sy_stress.c"
#: What the fragments call of the port.
PORT = ROOT / "runtime" / "port" / "linux" / "port_memory.c"
ASAN = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
TSAN = ("-O1", "-g", "-fsanitize=thread")
LAYOUTS = ((1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 2), (4, 2))
#: One alone, two, and more than the CPUs of a small machine.
FEW = ((1, 1), (2, 1), (4, 1), (2, 2), (4, 2))


@cache
def front_matter(name: str) -> dict[str, Any]:
    """The TOML of a fragment's leading comment."""
    found = re.match(r"/\*\+\+\+\n(.*?)^ \+\+\+\*/$", SOURCES[name].read_text(), re.S | re.M)
    assert found, f"{name}: no front matter"
    return tomllib.loads(re.sub(r"^ \* ?", "", found[1], flags=re.M))


NEEDS_FIFO = {name for name in SOURCES if "priority-ceiling" in front_matter(name)["requires"]}
ONE_PROCESS = {name for name in SOURCES if front_matter(name)["modes"] == ["shared-address-space"]}


@cache
def fifo_refused() -> str:
    """Why SCHED_FIFO cannot be had here; empty if it can."""
    code = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))"
    done = subprocess.run(["python3", "-c", code], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else "no permission for SCHED_FIFO"


def need_fifo() -> None:
    if fifo_refused():
        pytest.skip(fifo_refused())


def layouts_of(name: str, layouts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(n, processes) for n, processes in layouts if processes == 1 or name not in ONE_PROCESS]


Stress = Callable[..., subprocess.CompletedProcess[str]]


def build(folder: Path, name: str, sources: Sequence[Path], flags: Sequence[str]) -> Path:
    index = folder / "index.c"
    index.write_text(index_source([path.stem for path in sources]))
    static = not any("sanitize" in flag for flag in flags)
    program = folder / name
    return compile_program([DRIVER, PORT, index, *sources], program, flags=flags, static=static)


def stress_with(program: Path, folder: Path) -> Stress:
    def stress(*arguments: object, limit: int = 60) -> subprocess.CompletedProcess[str]:
        argv = [str(program), *map(str, arguments), "--limit", str(limit)]
        return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)

    return stress


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Stress:
    folder = tmp_path_factory.mktemp("plain")
    program = build(folder, "sy_stress", tuple(SOURCES.values()), ("-O2",))
    scratch = tmp_path_factory.mktemp("scratch")
    return stress_with(program, scratch)


@pytest.fixture(scope="module")
def address_sanitizer(tmp_path_factory: pytest.TempPathFactory) -> Stress:
    folder = tmp_path_factory.mktemp("asan")
    return stress_with(build(folder, "sy_stress", tuple(SOURCES.values()), ASAN), folder)


@pytest.fixture(scope="module")
def thread_sanitizer(tmp_path_factory: pytest.TempPathFactory) -> Stress:
    folder = tmp_path_factory.mktemp("tsan")
    return stress_with(build(folder, "sy_stress", tuple(SOURCES.values()), TSAN), folder)


def stressed(stress: Stress, name: str, calls: int, layout: tuple[int, int], *more: str) -> str:
    """Output of one stress run at the smallest size, which must be right."""
    if name in NEEDS_FIFO and "--fifo" not in more:
        need_fifo()
        more = (*more, "--fifo")
    if not front_matter(name)["mixed_priorities"]:
        more = (*more, "--equal")
    limit = 60 + calls // 4000  # a call takes tens of microseconds beside other work
    done = stress(name, front_matter(name)["sizes"][0], calls, *layout, *more, limit=limit)
    assert done.returncode == 0, f"{name} {layout}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_is_lost_with_1_to_4_participants_in_1_and_2_processes(plain: Stress, name: str):
    for layout in layouts_of(name, FEW):
        stressed(plain, name, 10_000, layout)


@pytest.mark.parametrize("name", SOURCES)
def test_every_size_conserves(plain: Stress, name: str) -> None:
    fifo = ("--fifo",) if name in NEEDS_FIFO else ()
    if fifo:
        need_fifo()
    for size in front_matter(name)["sizes"]:
        done = plain(name, size, 40, 2, 1, *fifo)
        assert done.returncode == 0, f"{name}/{size}: {done.stdout}{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_nothing_is_lost_in_a_million_operations(plain: Stress, name: str) -> None:
    for layout in layouts_of(name, LAYOUTS):
        stressed(plain, name, 1_000_000, layout)


@pytest.mark.hardware
@pytest.mark.parametrize("name", SOURCES)
def test_neither_deadlock_nor_livelock_with_unequal_fifo_priorities(plain: Stress, name: str):
    need_fifo()
    for layout in layouts_of(name, ((4, 1), (2, 2), (4, 2))):
        stressed(plain, name, 10_000, layout, "--fifo")


@pytest.mark.parametrize("name", sorted(set(SOURCES) - ONE_PROCESS))
def test_two_processes_on_two_cores_reach_one_object(plain: Stress, name: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    output = stressed(plain, name, 2_000, (2, 2))
    per_call = (
        1 if "operations" not in front_matter(name)["size_unit"] else front_matter(name)["sizes"][0]
    )
    assert "reached_from=2 " in output
    assert f"operations={2_000 * per_call} " in output


@pytest.mark.parametrize("name", SOURCES)
def test_clean_under_address_and_undefined_behaviour_sanitizers(
    address_sanitizer: Stress, name: str
) -> None:
    for layout in layouts_of(name, ((3, 1), (4, 2))):
        stressed(address_sanitizer, name, 4_000, layout)


@pytest.mark.parametrize("name", [name for name in SOURCES if front_matter(name)["tsan"]])
def test_threads_of_one_process_are_free_of_races(thread_sanitizer: Stress, name: str) -> None:
    stressed(thread_sanitizer, name, 4_000, (4, 1))


def test_an_address_space_cannot_be_contended_by_two_processes(plain: Stress) -> None:
    done = plain("mmap_unmap", 1, 100, 2, 2)
    assert done.returncode == 1
    assert "an address space of its own" in done.stdout


def test_a_ceiling_without_a_real_time_policy_is_refused(plain: Stress) -> None:
    done = plain("mutex_ceiling", 1, 100, 2, 2)
    assert done.returncode == 2
    assert "Operation not supported" in done.stderr


# --- nothing is left behind ------------------------------------------------------------


def private_ipc_prefix() -> list[str]:
    """Command that starts a program with an empty IPC namespace, or skips the test."""
    for prefix in (["unshare", "--ipc"], ["unshare", "--ipc", "--set", "user=--map-root-user"]):
        try:
            if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
                return prefix
        except FileNotFoundError:
            break
    pytest.skip("no permission for an IPC namespace")


def test_no_ipc_object_or_file_survives_a_run(tmp_path: Path, plain: Stress) -> None:
    program = Path(plain("atomic_line", 1, 10, 1, 1).args[0])
    names = sorted(set(SOURCES) - NEEDS_FIFO)
    lines = [f"{program} {name} {front_matter(name)['sizes'][0]} 50 2 1" for name in names]
    lines += ["cat /proc/sysvipc/msg /proc/sysvipc/sem /proc/sysvipc/shm >&2"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [*private_ipc_prefix(), "sh", "-ec", "\n".join(lines)],
        capture_output=True, text=True, check=True, cwd=scratch,
    )  # fmt: skip
    assert done.stdout.count("ok ") == len(names)
    assert len(done.stderr.splitlines()) == 3, done.stderr  # three headings, no object
    assert list(scratch.iterdir()) == []


def test_the_name_of_a_message_queue_is_gone_while_it_is_used() -> None:
    text = (ROOT / "runtime/port/posix/port_objects.h").read_text()
    opened, unlinked = text.index("mq_open(name"), text.index("mq_unlink(name")
    assert text[opened:unlinked].count("return") == 1  # of the unlinking itself


# --- damage that must be noticed ------------------------------------------------------------


@frozen
class Damage:
    """Edits that break a fragment.

    Attributes:
        edits: (text, replacement); each text occurs at least once.
        calls: Calls after which the damage must have shown: many where it is a race, few where
            every operation shows it.
    """

    edits: tuple[tuple[str, str], ...]
    calls: int = 1_000_000


def wrong_payload(message: str) -> Damage:
    """One bit of a received message is flipped before it is checked."""
    check = "if (!db_message_accept"
    return Damage(((check, f"{message}.value ^= 1;\n{check}"),), calls=1_000)


TRIES = 20
NO_MUTEX = Damage(
    (
        ("int error = pthread_mutex_lock(&object->mutex);", "int error = 0;"),
        ("error = pthread_mutex_unlock(&object->mutex);", "error = 0;"),
    )
)
NO_SEMOP = Damage(
    (("int error = db_semaphore_sysv_change(resource, -1);", "int error = 0;"),), calls=1_000
)
NO_TAKE = Damage((("port_semaphore_take(&object->semaphore)", "0"),))
DAMAGES = {
    "mutex_normal": NO_MUTEX,
    "mutex_inherit": Damage(
        (
            ("int error = port_mutex_lock(&object->mutex);", "int error = 0;"),
            ("error = port_mutex_unlock(&object->mutex);", "error = 0;"),
        )
    ),
    "mutex_ceiling": NO_MUTEX,
    "mutex_robust": NO_MUTEX,
    "rwlock": Damage(
        (
            ("pthread_rwlock_wrlock(&object->lock)", "0"),
            ("pthread_rwlock_rdlock(&object->lock)", "0"),
            ("error = pthread_rwlock_unlock(&object->lock);", "error = 0;"),
        )
    ),
    "semaphore_posix": NO_TAKE,
    "semaphore_posix_scarce": NO_TAKE,
    "semaphore_sysv": NO_SEMOP,
    "semaphore_sysv_scarce": NO_SEMOP,
    "condvar_queue": Damage(
        (
            ("int error = pthread_mutex_lock(&queue->mutex);", "int error = 0;"),
            ("return pthread_mutex_unlock(&queue->mutex);", "return error;"),
        )
    ),
    # A message that is received and stays: soon both participants hold it.
    "condvar_queue_scarce": Damage(
        (
            ("queue->count--;", "queue->count -= queue->count > 1;"),
            ("while (queue->count == queue->capacity)", "while (queue->count > queue->capacity)"),
        ),
        calls=1_000,
    ),
    "mq_posix": wrong_payload("message"),
    "mq_posix_scarce": Damage((("db_message_pass_on(&token, context);", ""),), calls=1_000),
    "mq_sysv": wrong_payload("envelope.message"),
    "pipe": wrong_payload("record"),
    "eventfd": Damage((("EFD_SEMAPHORE | EFD_CLOEXEC", "EFD_CLOEXEC"),)),
    "socket_pair": wrong_payload("message"),
    "futex": Damage((("unsigned found = FREE;", "unsigned found = atomic_load(state);"),)),
    "signal_realtime": Damage(
        (("sigtimedwait(&set, &info, &second);", "SIGRTMAX; (void)second;"),), calls=1_000
    ),
    "atomic_line": Damage(
        (
            (
                "atomic_fetch_add(&object->count, 1);",
                "atomic_load(&object->count); atomic_store(&object->count, seen + 1);",
            ),
        )
    ),
    "spin": Damage((("(atomic_exchange_explicit(held", "(2 == atomic_exchange_explicit(held"),)),
    "flock": Damage((("result = flock(fd, LOCK_EX);", "result = fd < 0;"),)),
    "event_flag": Damage(
        (
            (
                "if (atomic_compare_exchange_weak(&object->flags, &flags, flags & ~flag))",
                "if (atomic_fetch_and(&object->flags, ~flag) | flag)",
            ),
        )
    ),
    "token_pool": Damage(
        (
            (
                "if (atomic_compare_exchange_weak(&object->top, &top, retagged(top, below)))",
                "atomic_store(&object->top, retagged(top, below));\nif (top)",
            ),
        )
    ),
    "mmap_unmap": Damage((("*word = random + i;", "*word = random - 1;"),), calls=100),
}


def damaged_source(name: str, damage: Damage, folder: Path) -> Path:
    """A copy of the fragment with its headers pasted in and the damage done."""
    text = SOURCES[name].read_text()
    include = re.compile(r'^#include "(deadbeat/sy/(?!common|message)\w+\.h)"$', re.M)
    text = include.sub(lambda m: (ROOT / "runtime/include" / m[1]).read_text(), text)
    for old, new in damage.edits:
        assert old in text, f"{name}: the damage does not fit the source any more: {old}"
        text = text.replace(old, new)
    path = folder / f"{name}.c"
    path.write_text(text)
    return path


def test_every_fragment_has_a_damage() -> None:
    assert set(DAMAGES) == set(SOURCES)


@pytest.mark.parametrize("name", DAMAGES)
def test_a_lock_that_does_not_lock_or_a_lost_token_fails_the_checks(name: str, tmp_path: Path):
    damage = DAMAGES[name]
    program = build(tmp_path, "damaged", [damaged_source(name, damage, tmp_path)], ("-O2",))
    fifo = ("--fifo",) if name in NEEDS_FIFO else ()
    if fifo:
        need_fifo()
    processes = 1 if name in ONE_PROCESS else 2
    size = front_matter(name)["sizes"][0]
    stress = stress_with(program, tmp_path)
    for _ in range(TRIES):  # on a busy machine two participants may miss each other
        done = stress(name, size, damage.calls, 2, processes, *fifo, limit=2)
        if done.returncode != 0:
            break
    assert done.returncode in {1, 3}, f"{done.stdout}{done.stderr}"
    assert "FAILED" in done.stdout


def test_a_token_that_is_not_put_back_is_a_bounded_hang_with_a_clear_line(tmp_path: Path) -> None:
    damage = Damage((("error = db_semaphore_sysv_change(resource, 1);", "error = 0;"),))
    source = damaged_source("semaphore_sysv_scarce", damage, tmp_path)
    program = build(tmp_path, "damaged", [source], ("-O2",))
    done = stress_with(program, tmp_path)("semaphore_sysv_scarce", 1, 10, 2, 2, limit=1)
    assert done.returncode == 3
    assert "FAILED hang" in done.stdout
