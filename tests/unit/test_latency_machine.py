"""Truth: a kernel that is built or told not to preempt itself does not; what cannot be read is not
guessed."""

import pytest

from deadbeat.host.machine import read_machine
from deadbeat.targets import FakeTarget

_DYNAMIC = "Linux version 6.12.1 #1 SMP PREEMPT_DYNAMIC x"


@pytest.mark.parametrize(
    ("files", "model", "kept_in"),
    [
        (
            {"/proc/version": _DYNAMIC, "/proc/cmdline": "quiet preempt=none\n"},
            "none",
            "in the kernel, which preemption model none lets run on to its next voluntary point",
        ),
        (
            {"/proc/version": _DYNAMIC, "/proc/cmdline": "preempt=lazy\n"},
            "lazy",
            "in a part of the kernel that cannot be",
        ),
        ({"/sys/kernel/realtime": "1\n"}, "rt", "in a part of the kernel that cannot be"),
        (
            {"/proc/version": _DYNAMIC},
            None,
            "in a part of the kernel that cannot be, or of a kernel that does not preempt",
        ),
    ],
)
def test_where_a_thread_is_not_preempted_depends_on_the_model(
    files: dict[str, str], model: str | None, kept_in: str
) -> None:
    machine = read_machine(FakeTarget(files=files))
    assert (machine.preemption, machine.kept_in) == (model, kept_in)
