"""Another machine's kernel by its files, against what its configuration and command line say: built
without what its command line asks for."""

import gzip
import json
from pathlib import Path

import pytest

from deadbeat.cli.main import main
from deadbeat.machine.targets.local import LocalTarget

CONFIG = """\
CONFIG_NR_CPUS=4
CONFIG_PREEMPT=y
# CONFIG_PREEMPT_RT is not set
CONFIG_HZ=250
CONFIG_DEBUG_PREEMPT=y
CONFIG_PROVE_LOCKING=y
"""
CMDLINE = "console=ttymxc0,115200 root=/dev/mmcblk0p2 isolcpus=3 nohz_full=3 rcu_nocbs=3\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.config").write_text(CONFIG)
    (tmp_path / "config.gz").write_bytes(gzip.compress(CONFIG.encode()))
    (tmp_path / "a.cmdline").write_text(CMDLINE)
    monkeypatch.chdir(tmp_path)

    def reads(*_: object, **__: object) -> None:
        raise AssertionError("facts of this machine")

    monkeypatch.setattr(LocalTarget, "run", reads)
    monkeypatch.setattr(LocalTarget, "read_text", reads)
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, dict[str, dict[str, str]]]:
    assert main(["doctor", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return found["headline"], {check["id"]: check for check in found["results"]["checks"]}


@pytest.mark.parametrize("config", ["a.config", "config.gz"])
def test_both_files(folder: Path, capsys: pytest.CaptureFixture[str], config: str) -> None:
    headline, checks = asked(capsys, "--config", config, "--cmdline", "a.cmdline")
    assert config in headline and "a.cmdline" in headline
    for name, words in {
        "kernel.preempt-rt": "CONFIG_PREEMPT_RT is not set",
        "cmdline.nohz-full": "nohz_full=3 ignored: the kernel is built without NO_HZ_FULL",
        "cmdline.rcu-nocbs": "rcu_nocbs=3 ignored: the kernel is built without RCU_NOCB_CPU",
        "kernel.lockdep": "CONFIG_PROVE_LOCKING=y",
        "kernel.debug": "CONFIG_DEBUG_PREEMPT=y",
    }.items():
        check = checks[name]
        assert check["status"] == "fail"
        assert f"{check['found']} {check['reason']}".startswith(words)
    for name in ("power.governor", "watchdogs.psi", "memory.swap", "scheduler.rt-throttling"):
        assert checks.get(name, {"status": "unknown"})["status"] == "unknown"


def test_one_file_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, checks = asked(capsys, "--config", "a.config")
    assert checks["kernel.preempt-rt"]["status"] == "fail"
    assert checks["cmdline.threadirqs"]["status"] == "unknown"
    _, checks = asked(capsys, "--cmdline", "a.cmdline")
    assert checks["kernel.preempt-rt"]["status"] == "unknown"
    assert checks["cmdline.threadirqs"]["status"] == "fail"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--config", "a.cmdline"), "has no line CONFIG_"),
        (("--cmdline", "a.config"), "is a build configuration"),
        (("--config", "nothing"), "cannot read --config nothing"),
        (("--config", "a.config", "--target", "ssh://board"), "exclude each other"),
    ],
)
def test_what_is_no_such_file_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert main(["doctor", *words]) in (2, 3)  # of use, of data
    assert says in capsys.readouterr().err
