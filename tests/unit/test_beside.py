"""Truth: docs/howto/measure-your-own-program.md, "Your program beside a measurement"."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deadbeat.cli.main import main
from deadbeat.experiment.base import Experiment, Kept, Lost, Todo, Watcher
from deadbeat.experiment.run import run
from deadbeat.kinds.contention.facts import labels
from deadbeat.kinds.latency.spec import spec_dict, specify
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.results import Summary
from deadbeat.store.folder import OwnedFolder


class Waits(Experiment[str, str]):
    """Runs that end when what they wait for is so."""

    def __init__(self, *conditions: Callable[[], object]) -> None:
        self.conditions, self.stored = conditions, list[str]()

    @property
    def store(self) -> OwnedFolder:
        class Unlocked(OwnedFolder):
            def __init__(self) -> None: ...

            @contextmanager
            def lock(self) -> Iterator[None]:
                yield

        return Unlocked()

    def todo(self) -> Todo:
        return Todo(total=len(self.conditions), done=0, left=len(self.conditions))

    def seconds(self, runs: int) -> float:
        return 0.0

    def measure(self, tell: Watcher) -> Generator[str | Lost[str]]:
        for number, true in enumerate(self.conditions):
            ends = time.monotonic() + 30
            while not true():
                assert time.monotonic() < ends
                time.sleep(0.005)
            yield str(number)

    def keep(self, result: str) -> Kept[str] | Lost[str]:
        self.stored.append(result)
        return Kept(result)


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def gone(process: str) -> bool:
    """Whether it runs no more; a zombie waits for whoever is to read its status."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def started(path: Path, *, then: str) -> tuple[str, ...]:
    return ("sh", "-c", f'echo $$ >>"$0"; {then}', str(path))


def test_a_program_runs_from_the_first_run_to_the_last(tmp_path: Path) -> None:
    file = tmp_path / "started"
    experiment = Waits(lambda: lines(file), lambda: True)
    run(experiment, on_event=lambda event: None, beside=started(file, then="exec sleep 600"))
    assert experiment.stored == ["0", "1"]
    (process,) = lines(file)
    assert gone(process)


def test_it_is_started_again_when_it_is_done(tmp_path: Path) -> None:
    file = tmp_path / "started"
    experiment = Waits(lambda: len(lines(file)) > 2)
    run(experiment, on_event=lambda event: None, beside=started(file, then="sleep 0.01"))
    assert experiment.stored == ["0"]


@pytest.mark.parametrize(
    ("end", "words"), [("exit 3", "with status 3"), ("kill -SEGV $$", "by signal SIGSEGV")]
)
def test_the_run_beside_which_it_failed_is_not_kept(tmp_path: Path, end: str, words: str) -> None:
    file, gate, parent = (tmp_path / name for name in ("started", "gate", "parent"))
    wait = f"echo $PPID >{parent}; while [ ! -e {gate} ]; do sleep 0.01; done; {end}"

    def failed() -> bool:
        gate.touch()
        return gone(lines(parent)[0])

    experiment = Waits(lambda: lines(parent), failed, lambda: True)
    with pytest.raises(DeadbeatError, match=f"ended {words} during a run"):
        run(experiment, on_event=lambda event: None, beside=started(file, then=wait))
    assert experiment.stored == ["0"]


@pytest.mark.parametrize("verb", ["latency", "load", "stress", "profile"])
def test_what_cannot_run_beside_is_refused_before_anything_is_made(
    verb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for words, told in (
        (("--beside",), "--beside: no program"),
        (("--", "ls"), "got unexpected extra argument (ls)"),
        (("--beside", "--", "no-such-program"), "no program no-such-program here"),
        (("--simulated", "--beside", "--", "ls"), "--simulated and --beside exclude each other"),
    ):
        assert main((verb, "--quick", *words)) == 2
        assert told in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_a_result_says_what_ran_beside_it() -> None:
    spec = spec_dict(specify({"beside": ["./control", "a b"]}))
    assert spec["beside"] == ["./control", "a b"]
    assert spec_dict(specify({}))["beside"] == []
    summary = Summary(
        rows=(), sets=(), distributions=(), findings=(), labels=(), meta={"parameters": spec}
    )
    assert labels(summary) == ("beside ./control a b",)


def test_the_end_is_planned_until_the_pace_is_known() -> None:
    """Planned: 4 s a run; they take 2 s, and the first waits 7 s for a build."""
    times = iter([0.0, 9.0, 11.0, 13.0, 15.0, *[20.0] * 20])
    now = [0.0]

    def run_ends() -> bool:
        now[0] = next(times)
        return True

    class Planned(Waits):
        def seconds(self, runs: int) -> float:
            return 4.0 * runs

    next(times)
    found: list[float] = []
    run(
        Planned(*[run_ends] * 5),
        on_event=lambda event: found.append(getattr(event, "eta_s")),  # noqa: B009
        clock=lambda: now[0],
    )
    assert found == [20.0, 16.0, 12.0, 4.0, 2.0, 0.0]
