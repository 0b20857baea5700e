"""``deadbeat tune`` on a made-up tree of the kernel's files."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer_of
from helpers.trees import BOOT_ID, grow, held

from deadbeat.base.model.tuning import Setting
from deadbeat.cli.main import main
from deadbeat.machine.settings.journal import Journal
from deadbeat.machine.settings.tune import Holder, applied, holder_of
from deadbeat.machine.targets.local import LocalTarget

VM = "/proc/sys/vm"
TREE = {
    BOOT_ID: "one\n",
    "/proc/cmdline": "quiet nosmt\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    f"{VM}/swappiness": "61\n",
    f"{VM}/stat_interval": "1\n",
    "/sys/kernel/mm/ksm/run": "0\n",
    "/sys/devices/virtual/workqueue/cpumask": "f\n",
    "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list": "2-3\n",
    "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "2-3\n",
    "/sys/devices/system/cpu/cpu3/online": "1\n",
    "/proc/irq/9/effective_affinity_list": "3\n",
}
KNOBS = [f"--knob={name}" for name in ("swappiness", "stat-interval=7", "ksm=0", "workqueues")]


class Tool:
    def __init__(self, folder: Path, capsys: Capture) -> None:
        self.root = grow(folder / "tree", TREE)
        self._capsys = capsys

    def __call__(self, verb: str, *words: str) -> tuple[int, str, str]:
        status = main(["tune", verb, "--root", str(self.root), *words])
        told = self._capsys.readouterr()
        return status, told.out, told.err

    def json(self, verb: str, *words: str) -> tuple[int, Any]:
        status, out, err = self(verb, "--json", *words)
        assert err == ""
        return status, answer_of(out)

    def kernel(self) -> dict[str, bytes]:
        return {path: text for path, text in held(self.root).items() if path in TREE}


@pytest.fixture
def tune(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.delenv("DEADBEAT_STATE", raising=False)
    return Tool(tmp_path, capsys)


def test_apply_status_and_revert(tune: Tool) -> None:
    before = tune.kernel()
    status, out, err = tune("apply", *KNOBS, "--rt-cpus", "2-3")
    said = "deadbeat: 3 applied, 1 already; deadbeat tune revert puts everything back\n"
    assert (status, err) == (0, said)
    assert "CPUs for real-time tasks: 2, 3\n" in out
    assert tune.kernel()["/sys/devices/virtual/workqueue/cpumask"] == b"3\n"
    status, out, err = tune("status")
    assert (status, out.count("applied")) == (0, 3)
    assert f"3 changes in the journal {tune.root}/var/lib/deadbeat/tune" in err
    status, out, err = tune("revert")
    assert (status, err) == (0, "deadbeat: 3 restored\n")
    assert tune.kernel() == before
    said = "deadbeat: nothing was changed: there is nothing to put back\n"
    assert tune("revert") == (0, "", said)


def test_a_dry_run_changes_nothing_and_says_what_would_be(tune: Tool) -> None:
    before = held(tune.root)
    status, answer = tune.json("apply", "--dry-run", *KNOBS, "--knob=boot-skew-tick")
    assert (status, answer["session"], answer["rt_cpus"]) == (0, None, [1, 2, 3])
    assert {c["path"]: (c["old"], c["wanted"], c["outcome"]) for c in answer["changes"]} == {
        f"{VM}/swappiness": ("61", "10", "planned"),
        f"{VM}/stat_interval": ("1", "7", "planned"),
        "/sys/kernel/mm/ksm/run": ("0", "0", "already"),
        "/sys/devices/virtual/workqueue/cpumask": ("f", "1", "planned"),
    }
    assert answer["boot"]["whole"] == "quiet nosmt skew_tick=1"
    assert held(tune.root) == before


def test_interrupts_that_the_kernel_places_are_no_failure(tune: Tool) -> None:
    lists = {f"/proc/irq/{n}/smp_affinity_list": "0-3\n" for n in (36, 37)}
    rows = " CPU0 CPU1\n 36: 0 9 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0\n"
    grow(tune.root, {**lists, "/proc/interrupts": rows})
    words = ("--knob=irq-affinity", "--rt-cpus=3")
    status, out, err = tune("apply", *words, "--dry-run")
    assert (status, err) == (0, "deadbeat: 1 left, 1 planned; nothing was changed\n")
    assert "left: managed" in out
    status, answer = tune.json("apply", *words, "--accept-irreversible")
    assert status == 0
    assert {c["path"]: (c["knob"], c["outcome"]) for c in answer["changes"]} == {
        "/proc/irq/36/smp_affinity_list": ("irq-affinity", "left"),
        "/proc/irq/37/smp_affinity_list": ("irq-affinity", "applied"),
    }
    assert (tune.root / "proc/irq/36/smp_affinity_list").read_text() == "0-3\n"
    assert tune("revert")[0] == 0


def test_words_for_the_boot_are_printed_and_never_applied(tune: Tool) -> None:
    before = held(tune.root)
    status, out, _ = tune("apply", "--knob=boot-isolation", "--knob=boot-nosmt", "--rt-cpus=3")
    assert status == 0
    assert "  isolcpus=managed_irq,domain,3 rcu_nocbs=3 irqaffinity=0-2\n" in out
    assert "  quiet nosmt isolcpus=managed_irq,domain,3 rcu_nocbs=3 irqaffinity=0-2\n" in out
    assert {path: text for path, text in held(tune.root).items() if path in before} == before


def test_a_profile_turns_what_there_is(tune: Tool) -> None:
    status, answer = tune.json("apply", "realtime")
    assert status == 0
    changed = [row["knob"] for row in answer["changes"] if row["outcome"] == "applied"]
    assert changed == ["workqueues", "stat-interval", "swappiness"]
    assert "governor" in {row["knob"] for row in answer["not_here"]}
    status, answer = tune.json("status")
    assert {row["reason"] for row in answer["changes"]} == {"deadbeat tune apply realtime"}


def test_a_knob_that_was_asked_for_and_is_not_there_is_a_failure(tune: Tool) -> None:
    status, out, _ = tune("apply", "--knob=governor", "--knob=swappiness")
    assert status == 3
    assert "not here: governor: not found" in out
    assert tune.kernel()[f"{VM}/swappiness"] == b"10\n"


def test_what_cannot_be_put_back_needs_a_word_and_is_told(tune: Tool) -> None:
    before = held(tune.root)
    words = ["--knob=smt", "--knob=swappiness", "--rt-cpus=2"]
    status, out, err = tune("apply", *words)
    assert (status, out, held(tune.root)) == (2, "", before)
    assert "not everything of this can be put back (nothing was changed" in err
    assert "smt: interrupts move away from a CPU that goes offline" in err
    status, out, _ = tune("apply", *words, "--accept-irreversible")
    assert status == 0
    assert "cannot be put back: smt: interrupts move away" in out
    assert tune.kernel()["/sys/devices/system/cpu/cpu3/online"] == b"0\n"
    (tune.root / "proc/irq/9/effective_affinity_list").write_text("0\n")
    status, out, err = tune("revert")
    assert (status, err) == (0, "deadbeat: 2 restored, 1 moved\n")
    assert "/proc/irq/9/effective_affinity_list" in out
    assert tune.kernel()["/sys/devices/system/cpu/cpu3/online"] == b"1\n"


def test_what_somebody_else_changed_is_a_failure_of_revert(tune: Tool) -> None:
    tune("apply", *KNOBS)
    (tune.root / "proc/sys/vm/swappiness").write_text("33\n")
    status, answer = tune.json("revert")
    assert status == 3
    changed = [row["path"] for row in answer["changes"] if row["result"] == "changed"]
    assert changed == [f"{VM}/swappiness"]
    assert tune.kernel()[f"{VM}/swappiness"] == b"33\n"
    assert tune("revert", "--force")[0] == 0
    assert tune.kernel()[f"{VM}/swappiness"] == b"61\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "neither a profile nor a knob is given (profiles: compute, low-latency-network"),
        (["--knob", "ksn"], 'there is no knob "ksn": did you mean ksm?'),
        (["--knob", "ksm=x"], 'ksm: "x" is not possible: 0, 1 or 2'),
        (["--knob", "ksm="], 'ksm: "" is not possible'),
        (["realtme"], "did you mean realtime?"),
        (["--knob", "ksm", "--rt-cpus", "9"], "--rt-cpus: CPU 9 is not online (use 0, 1, 2, 3"),
        (["--knob", "ksm", "--rt-cpus", "a"], "--rt-cpus: "),
        (["--knob=swappiness=10", "--knob=swappiness=20"], "swappiness is given twice"),
        (["--knob", "ksm", "--rt-cpus", "1,1"], "--rt-cpus: "),
    ],
)
def test_what_cannot_be_understood_is_one_line(tune: Tool, words: list[str], message: str) -> None:
    before = held(tune.root)
    status, out, err = tune("apply", *words)
    assert (status, out, held(tune.root)) == (2, "", before)
    assert message in err


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert main(["tune", "status", "--root", str(tmp_path / "none")]) == 2
    assert "is not a usable folder" in capsys.readouterr().err


def test_a_journal_that_cannot_be_written_is_one_line(tune: Tool, monkeypatch: pytest.MonkeyPatch):
    before = held(tune.root)
    monkeypatch.setenv("DEADBEAT_STATE", f"{tune.root}/proc/cmdline/state")
    status, out, err = tune("apply", *KNOBS)
    assert (status, out, len(err.splitlines())) == (3, "", 1)
    assert "the journal in " in err
    assert "cannot be written (as root? DEADBEAT_STATE names another folder" in err
    assert held(tune.root) == before


def test_a_journal_is_named_from_the_root(tune: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADBEAT_STATE", "state")
    said = "deadbeat: error: DEADBEAT_STATE: state is not absolute (begin it with /)\n"
    assert tune("status") == (2, "", said)


def test_the_list_names_every_knob_and_profile(capsys: Capture) -> None:
    assert main(["list", "knobs", "--json"]) == 0
    answer = answer_of(capsys.readouterr().out)
    assert main(["list", "knobs"]) == 0
    told = capsys.readouterr().out
    assert all(
        re.search(rf"{knob['name']} .* {re.escape(knob['title'])}", told)
        for knob in answer["knobs"]
    )


@pytest.mark.parametrize(
    ("setting", "text", "same"),
    [
        (Setting("/a", "3 4 1 7"), "3\t4\t1\t7\n", True),
        (Setting("/a", "10"), "100\n", False),
        (Setting("/a", "never", "selected"), "always madvise [never]\n", True),
        (Setting("/a", "never", "selected"), "[always] madvise never\n", False),
        (Setting("/a", "full", "selected"), "none (full)\n", True),
        (Setting("/a", "never", "selected"), "never\n", True),
        (Setting("/a", "3", "mask"), "00000000,00000003\n", True),
        (Setting("/a", "100000003", "mask"), "1,00000003\n", True),
        (Setting("/a", "0", "mask"), "000\n", True),
        (Setting("/a", "3", "mask"), "30\n", False),
    ],
)
def test_what_a_file_shows_means_the_same_here_and_to_the_shell(
    tune: Tool, setting: Setting, text: str, same: bool
) -> None:
    grow(tune.root, {"/a": text})
    with LocalTarget() as target:
        journal = Journal(target, folder=f"{tune.root}/state", root=str(tune.root))
        (change,) = journal.apply([setting], reason="test").changes
    assert setting.holds(text) == same
    assert (change.outcome == "already") == same


def test_a_read_only_file_is_a_failure_only_where_it_was_asked_for(tune: Tool) -> None:
    (tune.root / "proc/sys/vm/swappiness").chmod(0o444)
    profile = tune.root / "mine.toml"
    profile.write_text('knobs = ["swappiness"]\n')
    status, answer = tune.json("apply", str(profile))
    assert (status, answer["changes"][0]["outcome"]) == (0, "skipped")
    status, out, err = tune("apply", "--knob=swappiness")
    assert (status, err) == (3, "deadbeat: 1 skipped; nothing was changed\n")
    assert "read-only on this machine" in out


def test_what_a_living_measurement_holds_is_not_pulled_away(tune: Tool) -> None:
    root = str(tune.root)
    with LocalTarget() as target:
        journal = Journal(target, folder=f"{root}/var/lib/deadbeat/tune", root=root)
        setting = Setting(f"{VM}/swappiness", "9")
        with applied(target, [setting], reason="deadbeat load, a", journal=journal):
            held = tune.kernel()
            status, out, err = tune("revert")
            assert (status, out) == (3, "")
            said = f"deadbeat load, a holds 1 of these settings right now (process {os.getpid()}"
            assert said in err
            assert "--force" in err
            assert tune.kernel() == held
            said = " ".join(tune("status")[1].split())
            assert f"deadbeat load, a (process {os.getpid()}, running)" in said
            (change,) = tune.json("status")[1]["changes"]
            assert change["reason"] == "deadbeat load, a"
            assert (change["process"], change["running"]) == (os.getpid(), True)
            assert tune("revert", "--force")[0] == 0
            assert tune.kernel()[f"{VM}/swappiness"] == b"61\n"


def test_what_a_killed_measurement_left_is_put_back(tune: Tool) -> None:
    root = str(tune.root)
    with LocalTarget() as target:
        journal = Journal(target, folder=f"{root}/var/lib/deadbeat/tune", root=root)
        reason = f"deadbeat load, a [process {os.getpid()}, started at tick 1]"
        journal.apply([Setting(f"{VM}/swappiness", "9")], reason=reason)
    (change,) = tune.json("status")[1]["changes"]
    assert (change["process"], change["running"]) == (os.getpid(), False)
    assert tune("revert")[0] == 0
    assert tune.kernel()[f"{VM}/swappiness"] == b"61\n"


def test_a_change_that_is_meant_to_last_has_no_owner() -> None:
    reason = "deadbeat tune apply realtime"
    assert holder_of(reason) == Holder(reason=reason)


def test_a_tree_that_tells_nothing_is_told_nothing_of(tune: Tool) -> None:
    for path in ("/proc/cmdline", "/sys/devices/system/cpu/online"):
        (tune.root / path[1:]).unlink()
    status, out, _ = tune("apply", "--knob=boot-skew-tick", "--knob=swappiness", "--dry-run")
    assert status == 0
    assert "whole line" not in out
    assert "could not be read (/proc/cmdline)" in out
    _, out, _ = tune("apply", "--knob=workqueues", "--dry-run")
    assert "CPUs for real-time tasks: not known: which are online could not be read" in out
    assert tune.json("apply", "--knob=boot-skew-tick", "--dry-run")[1]["boot"]["whole"] is None
