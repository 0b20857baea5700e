"""What the kernel lets a process do, against proc(5) and the documents of cgroups."""

from helpers.checks import Cases, Thread, case

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
