"""A made-up tree of the kernel's files: what is changed comes back, byte for byte, after anything.

Truth: the bytes that the tree held before.
"""

import fcntl
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from helpers.processes import python, script, until
from helpers.trees import BOOT_ID, WANTED, KillBefore, adjusting, grow, held, killed_after, moments

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.tuning import Setting
from deadbeat.machine.settings.journal import Journal
from deadbeat.machine.settings.tune import applied
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.local import LocalTarget

SWAPPINESS = "/proc/sys/vm/swappiness"


class Machine:
    """A tree, its journal, and what it held at first."""

    def __init__(self, target: LocalTarget, folder: Path) -> None:
        self.root = grow(folder / "tree")
        self.before = held(self.root)
        self.state = folder / "state"
        self.target = target
        self.journal = Journal(target, folder=str(self.state), root=str(self.root))

    def write(self, path: str, content: str) -> None:
        (self.root / path.lstrip("/")).write_text(content)

    def reads(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()

    def restart(self) -> None:
        """Another boot; the files of the kernel as it makes them."""
        grow(self.root)
        self.write(BOOT_ID, "another\n")

    def stands(self) -> list[str]:
        return [each.stand for each in self.journal.status()]

    def revert(self, *, force: bool = False) -> set[str]:
        return {each.result for each in self.journal.revert(force=force)}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with LocalTarget() as target:
        yield Machine(target, tmp_path)


def test_every_form_is_applied_read_back_and_put_back_exactly(machine: Machine) -> None:
    done = machine.journal.apply(WANTED, reason="a  test\nof two lines")
    assert [change.outcome for change in done.changes] == ["applied"] * len(WANTED)
    assert done.changes[2].old == "5 4 1 6"
    for each in WANTED:
        assert machine.reads(each.path) == f"{each.value}\n"
    standing = machine.journal.status()
    assert [each.path for each in standing] == [each.path for each in WANTED]
    assert {each.stand for each in standing} == {"applied"}
    assert {each.reason for each in standing} == {"a test of two lines"}
    assert {each.session for each in standing} == {done.session}
    returned = machine.journal.revert()
    assert [each.path for each in returned] == [each.path for each in reversed(WANTED)]
    assert {each.result for each in returned} == {"restored"}
    assert held(machine.root) == machine.before
    assert (machine.journal.status(), machine.journal.revert()) == ((), ())


def test_what_holds_the_value_already_or_is_not_there_is_left_alone(machine: Machine) -> None:
    locked = machine.root / "sys/odd/many words"
    locked.chmod(0o444)
    wanted = [
        Setting(SWAPPINESS, "61"),
        Setting("/sys/kernel/mm/transparent_hugepage/enabled", "always", "selected"),
        Setting("/sys/devices/virtual/workqueue/cpumask", "f", "mask"),
        Setting("/sys/none", "1"),
        Setting("/sys/odd/many words", "1"),
    ]
    done = machine.journal.apply(wanted, reason="test")
    assert [each.outcome for each in done.changes] == ["already"] * 3 + ["skipped"] * 2
    assert [each.reason for each in done.those("skipped")] == [
        "not on this machine",
        "read-only on this machine",
    ]
    assert (machine.journal.status(), held(machine.root)) == ((), machine.before)


def test_a_second_application_on_top_keeps_what_the_first_found(machine: Machine) -> None:
    machine.journal.apply([Setting(SWAPPINESS, "10")], reason="first")
    machine.journal.apply([Setting(SWAPPINESS, "5"), *WANTED[1:3]], reason="second")
    assert machine.stands() == ["covered", "applied", "applied", "applied"]
    assert machine.revert() == {"restored"}
    assert held(machine.root) == machine.before


def test_one_application_of_several_is_put_back(machine: Machine) -> None:
    machine.journal.apply([Setting(SWAPPINESS, "10")], reason="first")
    second = machine.journal.apply([Setting(SWAPPINESS, "5"), *WANTED[1:3]], reason="second")
    machine.journal.revert(session=second.session)
    assert machine.reads(SWAPPINESS) == "10\n"
    assert machine.stands() == ["applied"]


def test_what_somebody_else_changed_is_left_alone_unless_forced(machine: Machine) -> None:
    machine.journal.apply(WANTED[:2], reason="test")
    machine.write(SWAPPINESS, "33\n")
    assert machine.stands() == ["changed", "applied"]
    assert machine.revert() == {"changed", "restored"}
    assert machine.reads(SWAPPINESS) == "33\n"
    assert machine.stands() == ["changed"]
    assert machine.revert(force=True) == {"restored"}
    assert held(machine.root) == machine.before


def test_what_somebody_else_put_back_is_done_with(machine: Machine) -> None:
    machine.journal.apply(WANTED[:1], reason="test")
    machine.write(SWAPPINESS, "61\n")
    assert machine.stands() == ["back"]
    assert machine.revert() == {"back"}
    assert machine.stands() == []


def test_after_a_restart_nothing_is_put_back_that_the_restart_made(machine: Machine) -> None:
    machine.journal.apply(WANTED, reason="test")
    machine.restart()
    machine.write(SWAPPINESS, "44\n")
    after = held(machine.root)
    assert set(machine.stands()) == {"reset"}
    returned = {each.path: each for each in machine.journal.revert()}
    assert {each.result for each in returned.values()} == {"reset"}
    assert (returned[SWAPPINESS].old, returned[SWAPPINESS].now) == ("61", "44")
    assert held(machine.root) == after
    assert machine.stands() == []


def test_after_a_restart_a_file_that_outlives_it_is_put_back(machine: Machine) -> None:
    machine.write("/etc", "old\n")
    machine.journal.apply([Setting("/etc", "new")], reason="test")
    machine.restart()
    assert machine.reads("/etc") == "new\n"
    assert machine.revert() == {"restored"}
    assert machine.reads("/etc") == "old\n"


def test_a_file_that_has_gone_stays_in_the_journal_until_forced(machine: Machine) -> None:
    machine.journal.apply(WANTED[:1], reason="test")
    (machine.root / SWAPPINESS.lstrip("/")).unlink()
    assert machine.revert() == {"gone"}
    assert machine.stands() == ["gone"]
    machine.revert(force=True)
    assert machine.stands() == []


def test_a_journal_that_is_damaged_says_so(machine: Machine) -> None:
    machine.journal.apply(WANTED[:1], reason="test")
    (machine.state / "000007").write_text("of another version\n")
    assert machine.stands() == ["applied", "damaged"]
    assert machine.revert() == {"damaged", "restored"}


def test_what_moved_by_itself_is_told_after_the_way_back(machine: Machine) -> None:
    machine.write("/proc/irq", "1\n")
    wanted = WANTED[:1]
    machine.journal.apply(wanted, reason="test", keep=["/proc/ir[q]", "/proc/none*"])
    machine.write("/proc/irq", "0\n")
    moved = [each for each in machine.journal.revert() if each.result == "moved"]
    assert [(each.path, each.old, each.now) for each in moved] == [
        (f"{machine.root}/proc/irq", "1", "0")
    ]
    assert sorted(file.name for file in machine.state.iterdir()) == ["journal.sh", "lock"]


def test_settings_hold_for_a_block_and_go_with_an_error_in_it(machine: Machine) -> None:
    with (
        pytest.raises(KeyError),
        applied(machine.target, WANTED, reason="test", journal=machine.journal) as done,
    ):
        assert len(done.those("applied")) == len(WANTED) and machine.reads(SWAPPINESS) == "10\n"
        raise KeyError
    assert held(machine.root) == machine.before


def test_a_block_does_not_begin_without_all_its_settings(machine: Machine) -> None:
    wanted = [*WANTED, Setting("/sys/none", "1")]
    with (
        pytest.raises(TargetError, match="1 of 10 settings not possible here") as caught,
        applied(machine.target, wanted, reason="test", journal=machine.journal),
    ):
        pytest.fail("it began")
    assert caught.value.details == ("/sys/none = 1: not on this machine",)
    assert held(machine.root) == machine.before


def test_a_block_whose_settings_somebody_changed_says_so(machine: Machine) -> None:
    with (
        pytest.raises(TargetError, match="1 settings are not back"),
        applied(machine.target, WANTED, reason="test", journal=machine.journal),
    ):
        machine.write(SWAPPINESS, "33\n")
    assert machine.reads(SWAPPINESS) == "33\n"


class Interrupted(LocalTarget):
    """Somebody presses Ctrl-C whenever it runs something; a thread of ours is told."""

    def __init__(self, *, another: bool) -> None:
        super().__init__()
        self._another = another
        self.finished = 0

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        if self._another:
            told = threading.Thread(target=_interrupt_here)
            told.start()
            told.join()
        else:
            signal.raise_signal(signal.SIGINT)
        done = super().run(argv, timeout=timeout)
        self.finished += 1
        return done


def _interrupt_here() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("another", [False, True])
def test_an_interrupt_waits_until_everything_is_back(machine: Machine, another: bool) -> None:
    with Interrupted(another=another) as target:
        book = Journal(target, folder=str(machine.state), root=str(machine.root))
        with pytest.raises(KeyboardInterrupt), applied(target, WANTED, reason="test", journal=book):
            pytest.fail("it went on")
    assert target.finished == 2  # there and back
    assert held(machine.root) == machine.before
    assert machine.stands() == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("bad", ["relative", "/a\nb", ""])
def test_a_path_is_absolute_and_one_line(bad: str) -> None:
    with pytest.raises(ValueError, match="path"):
        Setting(bad, "1")


def test_two_do_not_change_settings_at_once(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _path_of_few_tools(tmp_path / "bin", monkeypatch, flock=True, sleep="exit 0")
    machine.state.mkdir()
    with (machine.state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(TargetError, match="another deadbeat is changing settings"):
            machine.journal.apply(WANTED, reason="test")
        assert held(machine.root) == machine.before
    machine.journal.apply(WANTED, reason="test")
    assert machine.revert() == {"restored"}


def test_without_flock_two_do_not_change_settings_at_once_either(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _path_of_few_tools(tmp_path / "bin", monkeypatch, flock=False, sleep="exit 0")
    machine.state.mkdir()
    boot = Path(BOOT_ID).read_text().strip()
    owner = machine.state / "owner"
    owner.symlink_to(f"{os.getpid()} {boot}")
    with pytest.raises(TargetError, match="another deadbeat is changing settings"):
        machine.journal.apply(WANTED, reason="test")
    assert held(machine.root) == machine.before
    owner.unlink()
    owner.symlink_to(f"{2**30} {boot}")  # of a process that has ended
    machine.journal.apply(WANTED, reason="test")
    assert machine.revert() == {"restored"}
    assert not os.path.lexists(owner)


def test_a_shell_and_a_few_programs_are_enough(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _path_of_few_tools(tmp_path / "bin", monkeypatch, flock=False)
    machine.journal.apply(WANTED, reason="test")
    (machine.state / "owner").symlink_to("1 of-another-boot")
    machine.target.run(["sh", str(machine.state / "journal.sh"), "revert", str(machine.state)])
    assert held(machine.root) == machine.before
    assert sorted(file.name for file in machine.state.iterdir()) == ["journal.sh", "lock"]


def _path_of_few_tools(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, flock: bool, sleep: str = ""
) -> None:
    folder.mkdir()
    tools = ["sh", "cat", "mkdir", "mv", "rm", "ls", "sync", "date", "sleep", "ln"]
    for tool in [*tools, *(["flock"] if flock else [])]:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    if sleep:
        (folder / "sleep").unlink()
        script(folder / "sleep", sleep)
    monkeypatch.setenv("PATH", str(folder))


def test_without_room_for_the_whole_journal_nothing_is_changed(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, full = os.environ["PATH"], tmp_path / "bin" / "mv"
    script(full, f'case $2 in */000002) exit 1 ;; esac\nPATH={real} exec mv "$@"')
    monkeypatch.setenv("PATH", f"{full.parent}:{real}")
    with pytest.raises(TargetError, match="cannot be written; nothing was changed"):
        machine.journal.apply(WANTED, reason="test")
    assert held(machine.root) == machine.before
    assert machine.revert() == {"back"}
    assert machine.stands() == []


def test_a_value_that_the_kernel_makes_another_of_goes_back_at_once(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = adjusting(tmp_path / "bin", "500", "200")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    wanted = [Setting(SWAPPINESS, "500"), WANTED[1]]
    done = machine.journal.apply(wanted, reason="test")
    assert [(each.outcome, each.reason) for each in done.changes] == [
        ("refused", "the kernel made it 200"),
        ("applied", ""),
    ]
    assert machine.reads(SWAPPINESS) == "61\n"
    assert machine.stands() == ["applied"]
    machine.revert()
    assert held(machine.root) == machine.before


@pytest.mark.parametrize(
    ("wanted", "least"),
    [
        ([Setting(SWAPPINESS, "123")], (10, 5)),  # the kernel makes 120 of it
        (WANTED[3:4], (10, 5)),
        pytest.param(WANTED, (60, 30), marks=pytest.mark.slow),
    ],
)
def test_killed_before_any_program_it_puts_everything_back(
    machine: Machine, tmp_path: Path, wanted: Sequence[Setting], least: tuple[int, int]
) -> None:
    apply = _application(machine, wanted)
    tools = adjusting(tmp_path / "bin", "123", "120")
    kill = KillBefore(tmp_path / "stubs", f"{tools}:{os.environ['PATH']}")
    points = [0, 0]
    while kill(apply, points[0] + 1):
        points[0] += 1
        assert machine.revert() <= {"restored", "back"}
        assert held(machine.root) == machine.before, points
    while kill(_script(machine, "revert"), points[1] + 1):
        points[1] += 1
        machine.journal.revert()
        assert held(machine.root) == machine.before, points
        machine.journal.apply(wanted, reason="test")
    assert held(machine.root) == machine.before
    assert (points[0] > least[0], points[1] > least[1]) == (True, True)


def _application(machine: Machine, wanted: Sequence[Setting]) -> list[str]:
    machine.journal.apply(WANTED[:1], reason="leaves the script there")
    machine.journal.revert()
    script = (machine.state / "journal.sh").read_text()
    words = [word for each in wanted for word in (each.path, each.form, each.value)]
    return _script(machine, "apply", script, "one", "test", str(machine.root), "", *words)


def _script(machine: Machine, verb: str, *words: str) -> list[str]:
    return ["sh", str(machine.state / "journal.sh"), verb, str(machine.state), *words]


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_journal_that_others_can_write_is_not_believed(machine: Machine, mode: int) -> None:
    machine.journal.apply(WANTED[:1], reason="test")
    planted = (machine.state / "000001").read_text().replace(SWAPPINESS, "/victim")
    (machine.state / "000002").write_text(planted)
    (machine.state / "000002.new").write_text("mine\n")
    machine.write("/victim", "mine\n")
    machine.state.chmod(mode)
    for change in (
        machine.journal.status,
        machine.journal.revert,
        lambda: machine.journal.apply(WANTED[1:2], reason="test"),
    ):
        with pytest.raises(TargetError, match="others can write to"):
            change()
    assert machine.reads("/victim") == "mine\n"
    machine.state.chmod(0o755)
    (machine.state / "000002").unlink()
    assert machine.revert() == {"restored"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_journal_of_another_user_is_not_believed(machine: Machine) -> None:
    machine.journal.apply(WANTED[:1], reason="test")
    os.chown(machine.state, 65534, 65534)
    with pytest.raises(TargetError, match="belongs to another user"):
        machine.journal.revert()
    assert machine.reads(SWAPPINESS) == "10\n"
    os.chown(machine.state, 0, 0)
    os.chown(machine.state / "000001", 65534, 65534)  # planted before the folder was root's
    assert machine.stands() == ["damaged"]
    assert machine.revert() == {"damaged"}
    assert machine.reads(SWAPPINESS) == "10\n"


def test_what_was_journalled_but_not_yet_touched_is_not_ours(machine: Machine) -> None:
    machine.journal.apply(WANTED[:2], reason="test")
    number = "000002"
    (machine.state / f"{number}.new").unlink()
    (machine.state / f"{number}.applying").unlink()
    machine.write(WANTED[1].path, "33\n")  # somebody else, after the kill
    assert machine.stands() == ["applied", "changed"]
    assert machine.revert() == {"restored", "changed"}


@pytest.mark.parametrize(
    ("count", "least"), [(12, 3), pytest.param(300, 100, marks=pytest.mark.slow)]
)
def test_killed_at_any_moment_it_puts_everything_back(machine: Machine, count: int, least: int):
    """``least``: so many were running then."""
    apply = _application(machine, WANTED)
    killed = 0
    for number, moment in enumerate(moments(count, 0.06, seed=count)):
        killed += killed_after(apply, moment, {})
        if number % 3 == 0:
            killed += killed_after(_script(machine, "revert"), moment / 2, {})
        if number % 4 == 0:
            machine.journal.apply([Setting(SWAPPINESS, "20"), *WANTED[3:]], reason="on top")
        returned = machine.journal.revert()
        assert [each for each in returned if not each.settled] == []
        assert held(machine.root) == machine.before, moment
    assert killed > least


_HOLDS = """
import sys
from helpers.trees import WANTED
from deadbeat.machine.settings.journal import Journal
from deadbeat.machine.settings.tune import applied
from deadbeat.machine.targets.local import LocalTarget
with LocalTarget() as target:
    book = Journal(target, folder=sys.argv[1], root=sys.argv[2])
    with applied(target, WANTED, reason="test", journal=book):
        print(target.folder, flush=True)
        sys.stdin.readline()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGSEGV])
def test_what_a_killed_process_held_is_put_back_without_it(
    machine: Machine, number: signal.Signals
) -> None:
    holder = python(_HOLDS, str(machine.state), str(machine.root))
    folder = Path(holder.stdout.readline().strip())
    assert folder.is_dir()
    assert held(machine.root) != machine.before
    holder.send_signal(number)
    holder.communicate(timeout=60)
    until(lambda: not folder.exists() and machine.stands() == [])
    assert held(machine.root) == machine.before
