"""CPUs that may be used, against sched_setaffinity(2): what a process has is no limit of what it
may ask for; its cpuset is one (cgroup-v2.rst, cpuset.cpus.effective; cgroup-v1/cpusets.rst)."""

import os
import threading
from collections.abc import Iterable

import pytest
from machines import ARM_BOARD, CPU

from deadbeat.base.model.errors import UsageError
from deadbeat.build.programs import usable_on
from deadbeat.machine.host.environment import left_out, require_usable
from deadbeat.machine.targets import LocalTarget
from deadbeat.machine.targets.fake import FakeTarget

V2 = {
    "/proc/self/cgroup": "0::/user.slice/session\n",
    "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n",
}
V1 = {
    "/proc/self/cgroup": "3:cpuset:/docker/1\n1:cpu,cpuacct:/\n",
    "/proc/self/mountinfo": (
        "34 31 0:31 /docker/1 /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    ),
}
#: A login shell of ARM_BOARD has CPUs 0-1 of 0-3, as 2-3 are isolated.
SHELL = {"allowed-cpus": "Cpus_allowed_list:\t0-3\n"}


@pytest.mark.parametrize(
    ("files", "outputs", "usable"),
    [
        ({}, SHELL, (0, 1, 2, 3)),
        ({}, {"allowed-cpus": "Cpus_allowed_list:\t1-2\n"}, (1, 2)),
        # a board without taskset
        ({}, {}, (0, 1, 2, 3)),
        (V2 | {"/sys/fs/cgroup/user.slice/cpuset.cpus.effective": "1,3\n"}, {}, (1, 3)),
        (V2 | {"/sys/fs/cgroup/cpuset.cpus.effective": "0-63\n"}, {}, (0, 1, 2, 3)),
        (V1 | {"/sys/fs/cgroup/cpuset/cpuset.effective_cpus": "2\n"}, {}, (2,)),
        (V1 | {"/sys/fs/cgroup/cpuset/cpuset.cpus": "2-3\n"}, {}, (2, 3)),
        ({f"{CPU}/online": "0,2-3\n"}, SHELL, (0, 2, 3)),
    ],
)
def test_what_a_shell_runs_on_is_no_limit_and_its_cpuset_is(
    files: dict[str, str], outputs: dict[str, str], usable: tuple[int, ...]
) -> None:
    assert usable_on(FakeTarget(files=ARM_BOARD | files, outputs=outputs)) == usable


def test_a_shell_that_is_bound_may_ask_for_the_other_cpus() -> None:
    """As the kernel gives them here, whatever was inherited; what reads stays where it was."""
    every = tuple(_given(range(os.cpu_count() or 1)))
    found, own = [], []

    def bound() -> None:
        os.sched_setaffinity(0, {every[0]})
        with LocalTarget() as target:
            found.append(usable_on(target))
        own.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=bound)
    thread.start()
    thread.join()
    assert (found, own) == ([every], [{every[0]}])


def _given(cpus: Iterable[int]) -> list[int]:
    """Of ``cpus`` what the kernel gives a thread that asks for each of them."""
    given = []

    def ask() -> None:
        for cpu in cpus:
            try:
                os.sched_setaffinity(0, {cpu})
            except OSError:
                continue
            given.append(cpu)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return given


BOARD = {"cpus_present": [0, 1, 2, 3, 4, 5], "cpus_online": [0, 1, 2, 3], "cpus_allowed": [0, 1, 2]}


@pytest.mark.parametrize(
    ("cpu", "why"),
    [(9, "does not exist"), (4, "is offline"), (3, "is outside the cpuset of this shell")],
)
def test_the_limit_is_named(cpu: int, why: str) -> None:
    with pytest.raises(UsageError, match=f"--cpus: CPU {cpu} {why}"):
        require_usable([0, cpu], [0, 1, 2], BOARD)


def test_what_is_not_measured_is_named_with_the_reason() -> None:
    assert left_out([0, 1, 2, 3, 4, 5], BOARD) == left_out([0], {}) == ""
    cpuset = "is outside the cpuset of this shell (a container's, a service's)"
    assert left_out([1, 2], BOARD) == f"0, 3 ({cpuset}), 4-5 (is offline)"
