"""Truth: what a program in a machine of the lab is given, and what it hands over, by a script."""

from pathlib import Path

import pytest
from attrs import define, field
from helpers.machines import AnyKernel, scripted_emulator

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.lab.boot import Booted
from deadbeat.lab.executor import GuestExecutor, lab_executor
from deadbeat.lab.guest import Guest
from deadbeat.lab.target import GuestTarget, ignored_words
from deadbeat.machine.settings.journal import Journal
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.tasksets.executors.base import RunSettings
from deadbeat.tasksets.prices.works import PriceWork, Pricing


@define
class Boots:
    """Hands over what is scripted; keeps the archives it was booted with."""

    files: dict[str, bytes]
    images: list[bytes] = field(factory=list)

    def __call__(self, *_: object, **options: object) -> Booted:
        image = options["initramfs"]
        assert isinstance(image, bytes)
        self.images.append(image)
        return Booted(files=self.files, console="")


def machine(tmp_path: Path, boots: Boots, cpus: int = 1, turn_ns: int = 0) -> GuestTarget:
    program = tmp_path / "init"
    program.write_bytes(b"\x7fELF")
    guest = Guest(
        qemu=scripted_emulator(tmp_path, ""),
        kernel=AnyKernel(),
        program=program,
        cpus=cpus,
        turn_ns=turn_ns,
        mode="parallel-time" if turn_ns else "virtual-time",
        booted=boots,
    )
    found = GuestTarget(guest, FakeTarget(name="lab", kind="virtual-time", address="lab:x"))
    found.put(program, "/deadbeat/program")
    return found


def said(out: str, err: str = "", status: int = 0, **files: bytes) -> Boots:
    made = {"out": out.encode(), "err": err.encode(), "status": b"%d\n" % status}
    more = {f"/deadbeat/{name}": content for name, content in files.items()}
    return Boots({f"/tmp/program.{name}": each for name, each in made.items()} | more)


def test_a_program_is_booted_when_its_first_line_is_asked_for(tmp_path):
    boots = said("no spin needs fifo\nipc private\n")
    target = machine(tmp_path, boots)
    with target.start(("/deadbeat/program", "try", "--cpus", "0")) as process:
        assert boots.images == []
        assert [process.read_line() for _ in range(3)] == [
            "no spin needs fifo",
            "ipc private",
            None,
        ]
        assert process.close().returncode == 0
    assert len(boots.images) == 1
    assert b"- /deadbeat/program" not in boots.images[0]
    assert b"/commands /deadbeat/program try --cpus 0\n" in boots.images[0]


def test_every_task_set_has_a_boot_of_its_own(tmp_path):
    boots = said("ready 2 3\nbound 0 5\ndone 0 100\n", one=b"records")
    target = machine(tmp_path, boots)
    process = target.start(("/deadbeat/program", "serve"))
    assert process.read_line() == "ready 2 0"
    for _ in range(2):
        process.write_line("run 0 1000000 /deadbeat/one")
        assert [process.read_line(), process.read_line()] == ["bound 0 5", "done 0 100"]
    assert len(boots.images) == 2
    assert boots.images[0] == boots.images[1]
    assert b"run 0 1000000 /deadbeat/one\n" in boots.images[0]
    assert b"keep /deadbeat/one\n" in boots.images[0]
    target.get("/deadbeat/one", tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == b"records"


def test_files_that_were_put_are_in_the_machine(tmp_path):
    boots = said("")
    target = machine(tmp_path, boots)
    (tmp_path / "list").write_text("spin 4\n")
    target.put(tmp_path / "list", "/deadbeat/entries")
    target.run(("/deadbeat/program", "calibrate"))
    assert b"spin 4\n" in boots.images[0] and b"deadbeat/entries\0" in boots.images[0]


def test_in_parallel_time_all_processors_are_busy_in_short_turns(tmp_path):
    boots = said("")
    machine(tmp_path, boots, cpus=2, turn_ns=500).run(("/deadbeat/program", "price"))
    lines = boots.images[0].split(b"sleep ")[1].split(b"\n")[1:5]
    busy = [b"start busy%d /init load --taskset %d --cpu 1 --quiet" % (cpu, cpu) for cpu in (0, 1)]
    assert lines[:3] == [*busy, b"turn 500"] and lines[3].startswith(b"run program ")


def test_work_for_more_processors_than_virtual_time_has_is_refused(tmp_path):
    with pytest.raises(UsageError, match="2 CPUs do the work of one"):
        machine(tmp_path, said(""), cpus=2).run(("/deadbeat/program", "rounds"))
    works = (PriceWork(object="spin", size=1, cores=(0, 1)),)
    priced = GuestExecutor(machine(tmp_path, said(""), cpus=2)).price(
        Pricing(works=works, seconds=1)
    )
    assert priced.errors == ("processors take turns",)


def test_a_machine_with_our_program_alone_has_no_shell_and_no_journal(tmp_path):
    boots = said("")
    target = machine(tmp_path, boots)
    assert target.run(("sh", "-c", "true")).returncode == 127
    assert target.run(("uname", "-m")).stdout == "x86_64\n"
    assert Journal(target).status() == () and boots.images == []


def test_what_was_not_handed_over_is_an_error(tmp_path):
    target = machine(tmp_path, said("", err="no memory\n", status=1))
    process = target.start(("/deadbeat/program", "calibrate", "--out", "/deadbeat/samples"))
    assert process.close().returncode == 1
    assert process.stderr() == "no memory\n"
    with pytest.raises(TargetError, match="handed over no /deadbeat/samples"):
        target.get("/deadbeat/samples", tmp_path / "samples")


@pytest.mark.parametrize("name", ["causes", "counters"])
def test_what_the_lab_has_no_means_for_is_refused(tmp_path, name):
    executor = GuestExecutor(machine(tmp_path, said("")))
    settings = RunSettings(seconds=1, **{name: True})
    with pytest.raises(UsageError, match=f"--{name} does not exist in the lab"):
        executor.open((), settings)


@pytest.mark.parametrize(
    "word",
    [
        "",
        "6.12-amd64,cores",
        "6.12-amd64,hz=9",
        "x,machine=vax",
        "x,mode=y",
        "x,machine=arm64,parallel",
        "x,cores=0",
    ],
)
def test_strange_words_are_refused(word):
    with pytest.raises(UsageError, match=r"^lab:"):
        lab_executor(f"lab:{word}")


def test_words_of_which_a_kernel_makes_nothing_are_told():
    words = "quiet threadirqz psy=0 psi=0 kfence.sample_interval=100 no-such.x=1 init"
    files = {
        "/proc/1/cmdline": "/init\0threadirqz\0init\0",
        "/proc/1/environ": "HOME=/\0TERM=linux\0psy=0\0spectre_v2=off\0",
        "/sys/module/kfence/parameters/sample_interval": "100\n",
    }
    seen = FakeTarget(name="lab", kind="virtual-time", files=files)
    assert ignored_words(seen, "threadirqz psy=0 psi=0 spectre_v2=off quiet") == (
        "threadirqz",
        "psy=0",
    )
    assert "kfence.sample_interval=100" not in ignored_words(seen, words)
    assert "no-such.x=1" in ignored_words(seen, words)
