"""What the kernel lets a process do, against proc(5) and the documents of cgroups."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.checks import Cases, Thread, case

from deadbeat.cli.main import main
from deadbeat.machine.settings.doctor import examine, of_families
from deadbeat.machine.targets.fake import FakeTarget

CPU = "/sys/devices/system/cpu"
FOLDER = "/proc/self/task"
CONTROL = Thread(tid=7, name="control", policy=1, priority=80, cpus="2")
HELPER = Thread(tid=8, name="a\nb) S 1", cpus="0-1")
OTHER = Thread(tid=9, name="other", cpus="0-1")


def process(*threads: Thread, isolated: str = "2-3") -> dict[str, str]:
    files = {f"{FOLDER}/{each.tid}/stat": each.stat(0) for each in threads}
    lists = {
        f"{FOLDER}/{t.tid}/status": f"Name:\tx\nCpus_allowed_list:\t{t.cpus}\n" for t in threads
    }
    machine = {"/proc/cmdline": "", f"{CPU}/online": "0-3", f"{CPU}/isolated": isolated}
    return {**machine, **files, **lists}


def opened(most: str) -> dict[str, str]:
    return {"/proc/self/limits": f"Max open files            {most}        {most}     files\n"}


ASKED = {"service-policy": "CPUSchedulingPolicy=1\nCPUSchedulingPriority=80\n"}

CASES: Cases = {
    "process.policies": {
        "pass": case(process(CONTROL, HELPER), says="1 of 2 threads are real-time: control"),
        "pass asked": case(process(CONTROL), outputs=ASKED),
        "fail": case(process(HELPER), says="a?b) S 1 (other)"),
        "fail asked": case(process(HELPER), outputs=ASKED, says="its service asks for fifo"),
        "unknown": case(process(), says="it has ended"),
    },
    "process.affinity": {
        "pass": case(process(CONTROL, HELPER, OTHER), rt_cpus=(2, 3), says="isolated: 2-3"),
        "pass none": case(process(Thread(tid=7, name="x", policy=1), isolated="\n")),
        "fail": case(
            process(Thread(tid=7, name="control", policy=1, priority=80, cpus="1-2")),
            says="control (fifo 80): may run on CPUs that are not isolated",
        ),
        "fail stacked": case(
            process(Thread(tid=7, name="a", cpus="2-3"), Thread(tid=8, name="b", cpus="2-3")),
            says="spreads none",
        ),
    },
    "process.cpuset": {
        "pass": case(process(), outputs={"cpuset": "/g/cpuset.cpus.effective 0-3\n"}),
        "pass none": case(process(), outputs={"cpuset": "none\n"}, says="no cpuset"),
        "fail": case(
            process(), outputs={"cpuset": "/g/cpuset.cpus.effective 0\n"}, says="not use CPU 1"
        ),
    },
    "process.files": {
        "pass": case(opened("1024"), outputs={"open-files": "12\n"}, says="12 of 1024"),
        "pass unlimited": case(opened("unlimited"), outputs={"open-files": "12\n"}),
        "fail": case(opened("1024"), outputs={"open-files": "1000\n"}),
    },
}

NAMED = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b"a\\nb) S 1\\x1b", 0, 0, 0)
print(flush=True)
time.sleep(100)
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    found = subprocess.Popen([sys.executable, "-c", NAMED], stdout=subprocess.PIPE)
    assert found.stdout and found.stdout.readline()
    yield found
    found.kill()
    found.wait()


def test_a_process_is_examined_whatever_its_name(
    child: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--pid", str(child.pid), "--all"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"process {child.pid} (a?b) S 1?) of ")
    assert "process.policies" in said and "0 of 1 threads are real-time" in said
    assert "tasks.time-limit" in said and "virtualisation.quota" in said
    assert "/proc/self" not in said and "kernel.preempt-rt" not in said


def test_its_own_limits_count(
    child: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(["prlimit", f"--pid={child.pid}", "--rttime=200000"], check=False)
    assert done.returncode == 0
    assert main(["doctor", "--pid", str(child.pid), "--only", "tasks"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"FAIL high +tasks.time-limit +200000 us", said)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--pid", "4194303"), "there is no process 4194303"),
        (("--pid", "0"), "--pid"),
        (("--pid", "1", "--cmdline", __file__), "exclude each other"),
        (("--only", "process"), "name it with --pid"),
    ],
)
def test_what_is_no_process_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert main(["doctor", *words]) in (1, 2, 3)
    assert says in capsys.readouterr().err


def test_one_that_has_ended_has_no_threads(capsys: pytest.CaptureFixture[str]) -> None:
    ended = subprocess.Popen(["true"])
    while " Z " not in Path(f"/proc/{ended.pid}/stat").read_text():
        time.sleep(0.01)
    assert main(["doctor", "--pid", str(ended.pid)]) in (1, 2, 3)
    assert f"process {ended.pid} has ended" in capsys.readouterr().err
    ended.wait()


def test_a_process_of_another_machine_is_read_there() -> None:
    files = {each.replace("/self/", "/7/"): text for each, text in process(CONTROL).items()}
    files |= {"/proc/7/stat": CONTROL.stat(0), "/proc/sys/kernel/hostname": "board"}
    there = FakeTarget(name="board", kind="hardware", address="ssh://board", files=files)
    report = examine(there, pid=7, checks=of_families(["process"]))
    assert report.target.name == "process 7 (control) of board"
    found = {each.id: each for each in report.results}
    assert found["process.affinity"].status == "pass"
    assert found["process.affinity"].found.startswith("control: CPU 2")
    assert "/proc/7/task" in found["process.affinity"].read
