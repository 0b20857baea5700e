"""Settings of this machine that harm nobody: odd values first, and they come back.

Truth: what the kernel's files show before.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.trees import KillBefore, killed_after, moments

from deadbeat.base.model.tuning import Setting
from deadbeat.machine.settings.journal import Journal
from deadbeat.machine.settings.tune import applied
from deadbeat.machine.targets.local import LocalTarget

VM = Path("/proc/sys/vm")
THP = Path("/sys/kernel/mm/transparent_hugepage")
PRINTK = Path("/proc/sys/kernel/printk")
#: Value that is set first, no default of any kernel, and what is wanted then.
ODD = {
    VM / "swappiness": ("61", Setting(f"{VM}/swappiness", "7")),
    VM / "stat_interval": ("3", Setting(f"{VM}/stat_interval", "11")),
    PRINTK: ("5 4 1 6", Setting(str(PRINTK), "6 4 1 7")),
    THP / "khugepaged/defrag": ("0", Setting(f"{THP}/khugepaged/defrag", "1")),
    THP / "defrag": ("defer", Setting(f"{THP}/defrag", "never", "selected")),
}
THERE = {path: row for path, row in ODD.items() if os.access(path, os.W_OK)}
WANTED = [setting for _, setting in THERE.values()]

pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0 or not THERE, reason="settings of the kernel can be written by root alone"
    ),
    pytest.mark.xdist_group("hardware"),  # test_rounds sets one of them, too
]


def _chosen(text: str) -> str:
    return text.partition("[")[2].partition("]")[0] or text


@pytest.fixture
def alone() -> Iterator[None]:
    """Another run of these tests would take odd values for what was there before."""
    with next(iter(THERE)).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def journal(alone: None, tmp_path: Path) -> Iterator[Journal]:
    before = {path: path.read_text() for path in THERE}
    try:
        for path, (odd, _) in THERE.items():
            path.write_text(odd)
        with LocalTarget() as target:
            yield Journal(target, folder=str(tmp_path / "state"))
    finally:
        for path, text in before.items():
            path.write_text(_chosen(text))
        assert {path: path.read_text() for path in THERE} == before


def _state() -> dict[Path, str]:
    return {path: path.read_text() for path in THERE}


def test_odd_values_come_back(journal: Journal) -> None:
    odd = _state()
    done = journal.apply(WANTED, reason="test")
    assert [each.outcome for each in done.changes] == ["applied"] * len(WANTED)
    assert all(setting.holds(Path(setting.path).read_text()) for setting in WANTED)
    assert {each.result for each in journal.revert()} == {"restored"}
    assert _state() == odd


def test_odd_values_come_back_after_a_block(journal: Journal) -> None:
    odd = _state()
    with applied(journal.target, WANTED, reason="test", journal=journal):
        assert _state() != odd
    assert _state() == odd


def test_a_value_that_the_kernel_refuses_changes_nothing(journal: Journal) -> None:
    odd = _state()
    wanted = [Setting(f"{VM}/swappiness", "99999"), Setting(f"{VM}/stat_interval", "12")]
    done = journal.apply(wanted, reason="test")
    assert [(each.outcome, each.reason) for each in done.changes] == [
        ("refused", "Invalid argument"),
        ("applied", ""),
    ]
    journal.revert()
    assert _state() == odd


def test_odd_values_come_back_after_kills(journal: Journal) -> None:
    odd = _state()
    journal.apply(WANTED[:1], reason="leaves the script there")
    journal.revert()
    script = Path(journal.folder, "journal.sh")
    words = [word for each in WANTED for word in (each.path, each.form, each.value)]
    apply = ["sh", str(script), "apply", journal.folder, script.read_text(), "s", "test", "", ""]
    for moment in moments(8, 0.04, seed=8):
        killed_after([*apply, *words], moment, {})
        journal.revert()
        assert _state() == odd, moment


def _rounded() -> Path | None:
    """A setting that the kernel keeps in pages: it makes 120 of 123."""
    found = Path("/sys/block").glob("loop*/queue/read_ahead_kb")
    return next((path for path in sorted(found) if os.access(path, os.W_OK)), None)


@pytest.mark.skipif(_rounded() is None, reason="no loop device, whose reading ahead harms nobody")
def test_what_the_kernel_made_of_a_value_goes_back_after_a_kill_right_then(
    alone: None, tmp_path: Path
) -> None:
    path = _rounded()
    before = path.read_text()
    try:
        path.write_text("100")
        with LocalTarget() as target:
            _kill_before_every_program(Journal(target, folder=str(tmp_path / "state")), path)
    finally:
        path.write_text(before)


def _kill_before_every_program(journal: Journal, path: Path) -> None:
    done = journal.apply([Setting(str(path), "123")], reason="leaves the script there")
    assert [each.reason for each in done.changes] == ["the kernel made it 120"]
    script = Path(journal.folder, "journal.sh")
    apply = ["sh", str(script), "apply", journal.folder, script.read_text(), "s", "test", "", ""]
    kill = KillBefore(script.parent.parent / "stubs", os.environ["PATH"])
    left = set()
    for number in range(1, 99):
        if not kill([*apply, str(path), "plain", "123"], number):
            break
        left.add(path.read_text())
        journal.revert()
        assert path.read_text() == "100\n", number
    assert "120\n" in left
