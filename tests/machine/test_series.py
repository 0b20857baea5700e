"""Truth: several machines are measured one after another by one command, which goes on where it was
killed; what differs between them is compared."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.answers import Capture, answer
from helpers.pretend import PretendedTarget

import deadbeat
from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.cli.main import main
from deadbeat.machine.targets import opening
from deadbeat.machine.targets.opening import slug, targets_in
from deadbeat.machine.targets.run import in_series

BOTH = "local,pretend://board"
LATENCY = (
    *("latency", "--policy", "other", "--loads", "idle", "--duration", "100ms", "--repeats", "1"),
    *("--engine", "prober", "--target", BOTH),
)
#: Kills itself where the board's run begins.
KILLED = """
import os, signal, sys
from deadbeat.cli.main import main
from deadbeat.machine.targets import opening
from helpers.pretend import PretendedTarget

class Deadly(PretendedTarget):
    def start(self, argv):
        if "probe" in argv and sum(each.startswith("start") for each in self.asked) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().start(argv)

sys.modules["deadly"] = sys.modules["__main__"]
opening.SCHEMES["pretend"] = "deadly:Deadly"
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def pretended(in_a_folder: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(opening.SCHEMES, "pretend", "helpers.pretend:PretendedTarget")
    monkeypatch.setattr(PretendedTarget, "cut_at", None)
    PretendedTarget.made.clear()
    yield
    assert all(each.closed for each in PretendedTarget.made)


def folders() -> list[str]:
    return sorted(path.name for path in Path("runs").iterdir() if not path.is_symlink())


def test_a_killed_series_goes_on_where_it_was(capsys: Capture) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *LATENCY],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert folders() == ["latency-local", "latency-pretend-board"]
    (kept,) = Path("runs").glob("latency-*/runs/*")
    measured = kept.parts[1], kept.stat().st_mtime_ns
    options = {word[2:]: value for word, value in zip(LATENCY[1::2], LATENCY[2::2], strict=True)}
    opened = deadbeat.latency(**options, progress=True)
    assert "latency-local answers it already" in capsys.readouterr().err
    assert [each.path.name for each in opened] == ["latency-local", "latency-pretend-board"]
    assert measured == ("latency-local", kept.stat().st_mtime_ns)
    assert len([*Path("runs").glob("latency-*/runs/*")]) == 2
    assert "compare-latency-local-latency-pretend-board" in folders()


def test_a_machine_that_is_lost_does_not_end_the_others(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PretendedTarget, "cut_at", 1)
    words = [*LATENCY[:-1], "pretend://board,local"]
    assert main(words) == 3
    out, err = capsys.readouterr()
    assert "board cannot be reached any more" in err
    assert "no result of latency-pretend-board: repeat with: deadbeat latency" in out


def test_what_is_not_compared_is_told_one_by_one(capsys: Capture) -> None:
    words = ["doctor", "--only", "kernel", "--target", BOTH]
    found = answer(capsys, *words, "--out", "page.html")
    assert [*found["targets"]] == BOTH.split(",")
    assert main(["tune", "status", "--target", BOTH]) == 0
    out = capsys.readouterr().out
    assert out.startswith("local:\n") and "\n\npretend://board:\n" in out
    assert sorted(path.name for path in Path().glob("*.html")) == [
        "page-local.html",
        "page-pretend-board.html",
    ]


def test_the_first_is_told_to_the_others_and_usage_ends_all() -> None:
    asked: list[tuple[str, str | None]] = []

    def measure(name: str, first: str | None) -> str:
        asked.append((name, first))
        if name == "b":
            raise TargetError("is off")
        if name == "d":
            raise UsageError("no such load")
        return name.upper()

    said: list[str] = []
    answers, failed = in_series("abc", measure, said.append)
    assert [*answers.values()] == ["A", "C"]
    assert asked == [("a", None), ("b", "A"), ("c", "A")]
    assert said == ["b: is off"] and [*failed] == ["b"]
    with pytest.raises(UsageError, match="no such load"):
        in_series("da", measure, said.append)


def test_words_for_machines(capsys: Capture) -> None:
    assert main(["latency", "--target", "pretend://a,pretend:/a"]) == 2
    assert "results of one name" in capsys.readouterr().err
    assert targets_in(None) == () and targets_in("a, b") == ("a", "b")
    assert targets_in("lab:x,cores=2,parallel,local") == ("lab:x,cores=2,parallel", "local")
    assert slug("ssh://root@10.0.0.2:22") == "ssh-root-10.0.0.2-22"
    assert slug("//") == "target"
