"""Truth: whatever a machine answers, deadbeat says in a line that it makes no sense, or goes on."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import pytest
from attrs import evolve
from helpers.hardware import keys, settings, task, task_set

from deadbeat.base.model.errors import TargetError
from deadbeat.build.programs import usable_on
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.host.environment import environment_of
from deadbeat.machine.host.machine import read_machine
from deadbeat.machine.host.snapshot import take
from deadbeat.machine.settings.doctor import examine
from deadbeat.machine.settings.hardening import states_of
from deadbeat.machine.targets import Conversation, FakeTarget
from deadbeat.machine.targets.base import Completed, Readings, Target
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.readings import Reading, ask
from deadbeat.tasksets.executors.base import RunError, RunRequest
from deadbeat.tasksets.executors.hardware import HardwareExecutor

#: What is answered in place of each number.
LIES = {
    "a word": "x",
    "no decimal": "\N{SUPERSCRIPT TWO}",
    "too long": "9" * 4301,  # for Python's int
    "infinite": "1e999",
    "below zero": "-7",
    "a range": "0-99999999999",
    "nothing": "",
}


class Liar(LocalTarget):
    """This machine, with another answer in place of numbers: of all, or of one in fifty."""

    def __init__(self, lie: str, every: int) -> None:
        super().__init__()
        self._lie, self._every, self._seen = lie, every, 0

    def _number(self, found: re.Match[str]) -> str:
        self._seen += 1
        return found[0] if self._seen % self._every else self._lie

    def _changed(self, each: Reading) -> Reading:
        text = None if each.text is None else re.sub(r"\d+", self._number, each.text)
        return Reading(text, each.reason)

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        found = super().read_many(paths, commands)
        return evolve(
            found,
            files={path: self._changed(each) for path, each in found.files.items()},
            commands={name: self._changed(each) for name, each in found.commands.items()},
        )


def environment(target: Target) -> object:
    return environment_of(target, now=datetime.now(UTC))


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@pytest.mark.parametrize("every", [1, 50])
@pytest.mark.parametrize("read", [usable_on, read_machine, take, states_of, environment])
def test_files_that_no_kernel_writes_are_an_error_of_the_target(
    read: Callable[[Target], object], lie: str, every: int
) -> None:
    with Liar(lie, every) as target:
        try:
            read(target)
        except TargetError as error:
            assert target.name in error.message and "\n" not in error.message
            assert len(error.message) < 200


@pytest.mark.parametrize("every", [1, 50])
def test_the_doctor_does_not_know_what_it_does_not_understand(every: int) -> None:
    with Liar("x", every) as target:
        assert "unknown" in {result.status for result in examine(target, rt_cpus=(0,)).results}


def test_a_shell_that_answers_something_else() -> None:
    """It knows the mark, and nothing binds it to the questions."""

    def lying(argv: Sequence[str]) -> Completed:
        mark = argv[4]
        text = f"{mark}\nfile\n{mark}\n\n{mark}\nglob\n/made/up\n0\n\nx\n{mark}\nend\nend\n0\n\n"
        return Completed(argv=tuple(argv), returncode=0, stdout=text, stderr="")

    found = ask(lying, ("/proc/stat", "/proc/*/x"), {"name": "true"})
    assert found.files["/proc/stat"].text is None
    assert found.commands["name"].text is None
    assert found.patterns["/proc/*/x"] == ()


@pytest.mark.parametrize(
    "line", ["bound", "bound 0 x", f"bound 0 {'9' * 40}", "threads 0", "threads 0 a,b", "error"]
)
def test_a_program_that_says_something_else(line: str) -> None:
    said = Conversation(greeting=("ready 1",), answer=lambda _: (line,))
    target = FakeTarget(folder="/fake")
    machine = HardwareExecutor(target=target, cpus=(0,), toolchain=Toolchain.find())
    request = RunRequest(keys(1)[0], task_set(task("bitcount", 64)))
    with machine.open([request], settings()) as session:
        target.conversations[f"/fake/{session.program.name}"] = said
        try:
            error = session.run(request.key).error
        except TargetError as raised:
            error = RunError(raised.message)
    assert error is not None and "\n" not in str(error)
