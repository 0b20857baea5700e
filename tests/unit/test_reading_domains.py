"""Partitions of cpusets, as a shell finds them in a tree of control groups."""

import subprocess
from pathlib import Path

from deadbeat.settings.facts import ONLINE, commands, gather
from deadbeat.settings.reading import PARTITIONS, root_domains
from deadbeat.targets.fake import FakeTarget
from deadbeat.targets.local import LocalTarget

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
