"""Truth: the plain C tree itself, built by make alone, and the reader of every other record."""

import os
import re
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from helpers.hardware import LOCK_WAIT, MS, run_all, settings, table_of, task_of, task_set

from deadbeat.base.model.errors import BuildError, UsageError
from deadbeat.base.model.jobs import RUN_REALTIME
from deadbeat.build.native import fragment_sources, native_root
from deadbeat.build.toolchain import Toolchain
from deadbeat.cli.main import main
from deadbeat.tasksets.catalog import lacking, load_catalog
from deadbeat.tasksets.emit import emit_batch, task_set_id
from deadbeat.tasksets.emit.tree import tree_files, write_tree
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Resource
from deadbeat.tasksets.store.jobfile import read_job_table
from deadbeat_freertos.build import kernel_sources

ROOT = native_root()
CORE = [*(ROOT / "runtime/src/core").glob("*.c"), *(ROOT / "runtime/src/program").glob("*.c")]
SETTINGS = """#include "deadbeat/core.h"
const struct db_core_options db_core_defaults = {
    .policy = DB_POLICY_FIFO, .seconds_ns = 50000000, .warmup = 1, .solo = true};
"""
PORTABLE = (
    *("event_flag", "futex", "mq_posix_scarce", "mutex_inherit"),
    *("semaphore_posix_scarce", "token_pool"),
)


def use(fragment: str, size: int, resource: int | None = None) -> FragmentUse:
    return FragmentUse(Entry(fragment, size), 1, resource)


#: Two tasks on one core that share an object of every portable class that can wait.
SETS = [
    task_set(
        task_of(use("crc32", 1024), *(use(name, 8, i) for i, name in enumerate(PORTABLE))),
        task_of(
            *(use(name, 8, i) for i, name in enumerate(PORTABLE)), period_ns=2 * MS, priority=65
        ),
        resources=tuple(Resource(name, None) for name in PORTABLE),
    ),
]


def tree_of(folder: Path, port: str = "posix") -> Path:
    fragments = ["crc32", *PORTABLE]
    tables = emit_batch(SETS)
    files = tree_files(port, tables=tables, settings=SETTINGS, fragments=fragments, facts={})
    write_tree(folder, files)
    return folder


def made(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``make`` without anything of this environment but the path of programs."""
    return subprocess.run(
        ["make", "-j2", "-C", str(folder), *words],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
    )


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A tree after ``make check``, and what that printed."""
    tree = tree_of(tmp_path_factory.mktemp("emitted") / "tree")
    done = made(tree, "check", "CFLAGS=-O1 -Werror")
    if "Operation not permitted" in done.stdout:
        done = made(tree, "check", "POLICY=other")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return tree, done.stdout


@pytest.mark.hardware
def test_an_emitted_set_builds_alone_and_its_records_are_read(
    checked: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    tree, printed = checked
    assert "task set 0 of 1" in printed
    table = read_job_table(tree / "records.jobs")
    assert table.set_id == task_set_id(SETS[0])
    assert set(table.jobs["task"]) == {0, 1}
    assert {slot["kind"] for slot in table.slots} == {0, 1}
    assert main(["show", str(tree / "records.jobs")]) == 0
    assert "deadlines missed" in capsys.readouterr().out


@pytest.mark.hardware
def test_its_timetable_is_that_of_the_runtime_on_linux(checked: tuple[Path, str]) -> None:
    alone = read_job_table(checked[0] / "records.jobs")
    policy = "fifo" if alone.header["flags"] & RUN_REALTIME else "other"
    how = settings(seconds=0.05, layout="shared-address-space", policy=policy)
    with closing(HardwareExecutor(lock_wait=LOCK_WAIT)) as machine:
        linux = table_of(run_all(machine, SETS, how)[0])
    for name in ("slot", "kind", "task", "round"):
        assert alone.slots[name].tolist() == linux.slots[name].tolist()
    lengths = [slots["end_ns"] - slots["begin_ns"] for slots in (alone.slots, linux.slots)]
    assert lengths[0].tolist() == lengths[1].tolist()
    for name in ("task", "slot"):
        assert alone.jobs[name].tolist() == linux.jobs[name].tolist()
    assert alone.header["seed"] == linux.header["seed"]


def test_the_same_sets_give_the_same_bytes(tmp_path: Path) -> None:
    trees = [tree_of(tmp_path / name) for name in ("a", "b")]
    files = [
        {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*.*")}
        for tree in trees
    ]
    assert files[0] == files[1]
    assert str(ROOT).encode() not in b"".join(files[0].values())


def test_a_tree_holds_nothing_of_the_host_part(tmp_path: Path) -> None:
    names = {path.name for path in tree_of(tmp_path / "tree", "template").rglob("*")}
    assert not names & {"port_host.h", "port_host.c", "port.h", "port_load.h"}


def test_a_template_port_builds_and_says_that_it_is_one(tmp_path: Path) -> None:
    tree = tree_of(tmp_path / "tree", "template")
    assert made(tree, "CFLAGS=-O0").returncode == 0
    assert made(tree, "check", "CFLAGS=-O0").returncode != 0
    assert subprocess.run([tree / "task-set"], check=False, capture_output=True).returncode != 0


def test_a_folder_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    with pytest.raises(UsageError, match="not an empty folder"):
        tree_of(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_the_core_compiles_freestanding_and_calls_the_core_port_alone(tmp_path: Path) -> None:
    """Of a C library it needs string.h, and errno.h for its numbers."""
    toolchain = Toolchain.find()
    port = ROOT / "runtime/include/deadbeat/port_core.h"
    undefined: set[str] = set()
    defined: set[str] = set()
    for source in CORE:
        out = tmp_path / f"{source.parent.name}-{source.stem}.o"
        words = ["-std=c11", "-ffreestanding", "-O0", f"-I{ROOT / 'runtime/include'}"]
        subprocess.run([toolchain.cc, *words, "-c", str(source), "-o", str(out)], check=True)
        listing = subprocess.run(["nm", str(out)], capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            *_, kind, name = line.split()
            (undefined if kind == "U" else defined).add(name)
    outside = undefined - defined - {"_GLOBAL_OFFSET_TABLE_"}
    memory = {"memcpy", "memset", "memcmp", "memmove", "strchr", "strcmp", "strlen"}
    data = {name for name in outside if name.startswith("db_")}
    assert data <= {
        *("db_tables_version", "db_task_set_count", "db_task_sets", "db_core_defaults"),
        *("db_fragments", "db_fragment_count"),
    }
    strange = outside - memory - data - {n for n in outside if f"{n}(" in port.read_text()}
    assert strange == set()


#: Headers of the C language that a fragment may include, and those of the runtime.
PLAIN = re.compile(
    r'<(errno|inttypes|limits|math|stdalign|stdatomic|stdbool|stddef|stdint|stdio|string)\.h>|"'
)
INCLUDE = re.compile(r'^#include (<[^>]+>|"[^"]+")', re.MULTILINE)


def needs_a_host(source: Path) -> bool:
    """Whether it, or what it includes but the port's own headers, includes more."""
    names = INCLUDE.findall(source.read_text())
    ours = [ROOT / "runtime/include" / name[1:-1] for name in names if name[0] == '"']
    return not all(map(PLAIN.match, names)) or any(
        needs_a_host(each) for each in ours if not each.name.startswith("port_")
    )


def test_what_a_core_port_lacks_is_said_of_each_fragment() -> None:
    """Truth: the headers of an operating system that the fragment's file includes."""
    said = {name for name, each in load_catalog().fragments.items() if lacking(each)}
    assert said == {path.stem for path in fragment_sources() if needs_a_host(path)}
    assert {"eventfd", "mmap_unmap", "pipe"} <= said
    assert not said & {"crc32", "spin", *PORTABLE}


@pytest.mark.slow
@pytest.mark.hardware
def test_the_same_tree_with_a_kernel_of_freertos(tmp_path: Path) -> None:
    try:
        kernel = kernel_sources()
    except BuildError as error:
        pytest.skip(str(error))
    tree = tree_of(tmp_path / "tree", "freertos")
    done = made(tree, "check", f"KERNEL={kernel}")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert read_job_table(tree / "records.jobs").set_id == task_set_id(SETS[0])
    assert not list(kernel.rglob("*.o"))


@pytest.mark.slow
@pytest.mark.parametrize("cross", ["aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"])
def test_a_tree_builds_for_another_machine(tmp_path: Path, cross: str) -> None:
    if not shutil.which(f"{cross}-gcc"):
        pytest.skip(f"there is no {cross}-gcc")
    tree = tree_of(tmp_path / "tree")
    done = made(tree, f"CC={cross}-gcc", "CFLAGS=-O2 -Werror", "LDFLAGS=-static")
    assert done.returncode == 0, done.stderr[-2000:]
