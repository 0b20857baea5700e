"""Half a second of a machine, against what a real kernel writes."""

import subprocess
from pathlib import Path

import pytest
from helpers.checks import Thread, case, window

from deadbeat.machine.host.values import UnreadError
from deadbeat.machine.settings.facts import ONLINE, Facts, commands, gather
from deadbeat.machine.settings.reading import PARTITIONS, root_domains
from deadbeat.machine.settings.reading_window import AFFINITIES, GAPS, WINDOW, gaps, places, tasks
from deadbeat.machine.settings.reading_window import window as read_window
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.readings import ALONE, MEANWHILE

READS = (WINDOW, AFFINITIES, GAPS)


def facts_of(outputs: dict[str, str]) -> Facts:
    return gather(FakeTarget(outputs=outputs), READS)


def test_a_real_kernel_is_read() -> None:
    with LocalTarget() as target:
        facts = gather(target, READS)
    seen = read_window(facts)
    assert 0.4 <= seen.seconds < 20
    assert 1 in seen.after.tasks and seen.after.ticks and seen.after.softirqs
    assert places(facts)[1].cpus
    watched, _ = gaps(facts)
    assert watched >= 300


def test_a_line_of_the_kernel_is_understood() -> None:
    # cat /proc/PID/stat of `chrt -f 42 sleep 1`, Linux 6.18.
    line = (
        "4711 (a (b) c) S 4700 4700 4700 0 -1 4194304 98 0 1 0 3 4 0 0 -43 0 1 0 3250000 3000000"
        " 400 18446744073709551615 94 94 140 0 0 0 0 0 0 1 0 0 17 1 42 1 0 0 0 94 94 94 140 140"
    )
    text = window()["window"].replace("700 (sh)", f"{line}\n700 (sh)")
    task = read_window(facts_of({"window": text})).after.tasks[4711]
    assert (task.name, task.policy, task.priority) == ("a (b) c", 1, 42)
    assert (task.kernel, task.faults, task.ticks) == (False, 99, 7)


def test_only_what_happened_between_the_moments_counts() -> None:
    found = read_window(facts_of(window(
        interrupts={"36": ("virtio-req", (1, 9), (1, 12)), "LOC": ("timer", (5, 5), (6, 7))},
        softirqs={"NET_RX": ("", (1, 1), (1, 4))}, smi=(3, 5),
    )))  # fmt: skip
    assert found.interrupts(1) == {"36": 3, "LOC": 2}
    assert found.interrupts(0) == {"LOC": 1}
    assert found.softirqs(1) == {"NET_RX": 3}
    assert (found.before.smi, found.after.smi, found.seconds) == (3, 5, 0.5)


@pytest.mark.parametrize("text", ["", "==before\n", window()["window"].replace("==stat", "stat")])
def test_half_a_window_is_none(text: str) -> None:
    with pytest.raises(UnreadError, match="window"):
        read_window(facts_of({"window": text}))


def test_a_container_shows_not_every_task() -> None:
    given = case(outputs=window(Thread(tid=9, name="x"), visible=False))
    with pytest.raises(UnreadError, match="hidepid"):
        tasks(facts_of(dict(given.outputs)))


#: A machine whose every look takes half a millisecond, and in which nothing runs for 40 ms after
#: the look number AT; WAITED: how much of that the kernel says that the shell waited.
MACHINE = """
n=0
read() {
    n=$((n + 1)) late=0
    [ $n -le $AT ] || late=4
    case $1 in
    up) up=$((10 + (n / 20 + late) / 100)).$(printf %02d $(((n / 20 + late) % 100))) ;;
    run) wait=0; [ $late = 0 ] || wait=$WAITED ;;
    esac
}
"""


@pytest.mark.parametrize("at", range(100, 106))
@pytest.mark.parametrize(("waited_ns", "from_below"), [(39_900_000, 0), (0, 1)])
def test_whoever_waits_at_any_moment_is_not_taken_from_below(
    at: int, waited_ns: int, from_below: int
) -> None:
    words = commands()["gaps"].replace("/proc/uptime", "/dev/null")
    words = words.replace("/proc/self/schedstat", "/dev/null")
    done = subprocess.run(
        ["sh", "-c", f"AT={at} WAITED={waited_ns}\n{MACHINE}\n{words}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    watched, found = gaps(facts_of({"gaps": done.stdout}))
    assert watched >= 300
    assert len(found) == 1
    assert sum(gap.host_ms >= 15 for gap in found) == from_below


def test_the_window_is_looked_at_alone_and_gaps_beside_what_is_read() -> None:
    assert commands()["window"].startswith(ALONE)
    assert commands()["gaps"].startswith(MEANWHILE)


#: What `root_domains` reads.
DOMAINS = (
    *("/sys/devices/system/cpu/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated"),
    ONLINE,
    PARTITIONS,
    "/sys/fs/cgroup/cgroup.type",
    "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
)


def found(folder: Path) -> tuple[int, list[str]]:
    words = commands()["cpuset-partitions"].replace("/sys/fs/cgroup", str(folder))
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    return done.returncode, sorted(done.stdout.splitlines())


def test_valid_partitions_are_found_at_any_depth(tmp_path) -> None:
    groups = {
        "rt": ("root", "2-3"),
        "rt/inner part": ("isolated", "3"),
        "system.slice": ("member", "0-1"),
        "broken": ("root invalid (Cpu list in cpuset.cpus not exclusive)", "0-1"),
        "all given away": ("root", ""),
    }
    for name, (kind, cpus) in groups.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpuset.cpus.partition").write_text(f"{kind}\n")
        (tmp_path / name / "cpuset.cpus.effective").write_text(f"{cpus}\n")
    assert found(tmp_path) == (0, ["isolated 3", "root ", "root 2-3"])
    assert found(tmp_path / "none") == (0, [])


def test_isolated_cpus_share_a_domain_and_the_rest_is_one() -> None:
    target = FakeTarget(
        files={
            "/sys/devices/system/cpu/online": "0-6\n",
            "/sys/devices/system/cpu/isolated": "6\n",
        },
        outputs={"cpuset-partitions": "isolated 3\nroot \nroot 1-2\nroot 4\n"},
    )
    facts = gather(target, DOMAINS)
    assert root_domains(facts) == [{3, 6}, {1, 2}, {4}, {0, 5}]


def test_a_real_machine_answers() -> None:
    with LocalTarget() as target:
        facts = gather(target, DOMAINS)
    assert facts.reading(PARTITIONS).text is not None
