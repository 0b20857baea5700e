"""Truth: docs/howto/measure-your-own-program.md, "Your program beside a measurement"."""

import json
import re
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers import campaigns
from helpers.answers import Capture
from helpers.kinds import KINDS
from helpers.processes import is_alive, until

from deadbeat.base.experiment.base import Experiment, Kept, Lost, Todo, Watcher
from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.cli._options import to_repeat
from deadbeat.cli.main import main
from deadbeat.latencies.latency.spec import spec_dict, specify
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.targets.run import run
from deadbeat.tasksets.contention.facts import labels
from deadbeat.tasksets.model.results import Summary


class Waits(Experiment[str, str]):
    """Runs that end when what they wait for is so."""

    def __init__(self, *conditions: Callable[[], object]) -> None:
        self.conditions, self.stored = conditions, list[str]()

    @property
    def store(self) -> OwnedFolder:
        class Unlocked(OwnedFolder):
            FOLDERS = ()

            def __init__(self, path: Path) -> None:
                self.path = path

            @contextmanager
            def lock(self) -> Iterator[None]:
                yield

        return Unlocked(Path())

    def todo(self) -> Todo:
        return Todo(total=len(self.conditions), done=0, left=len(self.conditions))

    def seconds(self, runs: int) -> float:
        return 0.0

    def measure(self, tell: Watcher) -> Generator[str | Lost[str]]:
        for number, true in enumerate(self.conditions):
            until(true)
            yield str(number)

    def keep(self, result: str) -> Kept[str] | Lost[str]:
        self.stored.append(result)
        return Kept(result)


pytestmark = pytest.mark.usefixtures("in_a_folder")


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def started(path: Path, *, then: str) -> tuple[str, ...]:
    return ("sh", "-c", f'echo $$ >>"$0"; {then}', str(path))


def test_a_program_runs_from_the_first_run_to_the_last(tmp_path: Path) -> None:
    file = tmp_path / "started"
    experiment = Waits(lambda: lines(file), lambda: True)
    run(experiment, on_event=lambda event: None, beside=started(file, then="exec sleep 600"))
    assert experiment.stored == ["0", "1"]
    (process,) = lines(file)
    assert not is_alive(process)


def test_it_is_started_again_when_it_is_done(tmp_path: Path) -> None:
    file = tmp_path / "started"
    experiment = Waits(lambda: len(lines(file)) > 2)
    command = started(file, then="sleep 0.01")
    outcome = run(experiment, on_event=lambda event: None, beside=command)
    assert experiment.stored == ["0"]
    starts = len(lines(file))
    assert starts > 2
    told = re.search(r" was started ([0-9]+) times in ", outcome.beside)
    # One that was ended before it did anything was started, too.
    assert told and int(told[1]) - starts in (0, 1)
    assert f"{told[1]} starts, was ended with the measurement" in Path("beside.log").read_text()


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("exit 3", "with status 3"),
        ("exit 255", "with status 255"),
        ("kill -SEGV $$", "by signal SIGSEGV"),
    ],
)
def test_the_run_beside_which_it_failed_is_not_kept(tmp_path: Path, end: str, words: str) -> None:
    file, gate, parent = (tmp_path / name for name in ("started", "gate", "parent"))
    wait = f"echo $PPID >{parent}; while [ ! -e {gate} ]; do sleep 0.01; done; {end}"

    def failed() -> bool:
        gate.touch()
        return not is_alive(lines(parent)[0])

    experiment = Waits(lambda: lines(parent), failed, lambda: True)
    with pytest.raises(DeadbeatError, match=f"ended {words} after [0-9.]+ s, during a run"):
        run(experiment, on_event=lambda event: None, beside=started(file, then=wait))
    assert experiment.stored == ["0"]
    assert f": 1 start, ended {words} after " in Path("beside.log").read_text()


@pytest.mark.parametrize("verb", ["latency", "load", "contention --random", "contention"])
def test_what_cannot_run_beside_is_refused_before_anything_is_made(
    verb: str, tmp_path: Path, capsys: Capture
) -> None:
    for words, told in (
        (("--beside",), "--beside: no program"),
        (("--", "ls"), "got unexpected extra argument (ls)"),
        (("--beside", "--", ""), "no program '' here"),
        (("--beside", "--", "."), "no program . here"),
        (("--beside", "--", "no-such-program"), "no program no-such-program here"),
        (("--simulated", "--beside", "--", "ls"), "--simulated and --beside exclude each other"),
    ):
        assert main((*verb.split(), "--quick", *words)) == 2
        assert told in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "words",
    [
        ("latency", "--simulated"),
        ("load", "--simulated"),
        ("contention", "--random", "--simulated"),
        ("contention", "--random", "--executor", "sim:cores=2"),
    ],
)
def test_nothing_runs_beside_a_simulation(words: tuple[str, ...], capsys: Capture) -> None:
    Path("asked.toml").write_text('beside = ["touch", "ran"]\n')
    assert main((*words, "--quick", "--file", "asked.toml")) == 2
    said = " ".join(word for word in words[1:] if word != "--random")
    assert f"{said} and --beside exclude" in capsys.readouterr().err
    assert [*Path().iterdir()] == [Path("asked.toml")]


def test_a_command_to_repeat_leaves_the_program_alone() -> None:
    words = ["latency", "--fresh", "--loads", "cpu:50", "--beside", "--", "./c", "--fresh"]
    again = "deadbeat latency --loads cpu:50 --beside --retry -- ./c --fresh"
    assert to_repeat(words, "--retry") == again


@pytest.mark.hardware
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda each: each.name)
def test_it_ends_with_deadbeat(number: signal.Signals, tmp_path: Path) -> None:
    script = "trap '' TERM INT HUP; echo $$; echo $$ >started; while :; do sleep 0.1; done"
    asked = "--loads idle --engine prober --policy other --duration 60 --repeats 1 --no-figures"
    running = campaigns.started("latency", *asked.split(), "--beside", "--", "sh", "-c", script)
    try:
        until(lambda: lines(Path("started")))
    finally:
        running.send_signal(number)
        out, err = running.communicate(timeout=30)
    (process,) = lines(Path("started"))
    assert process not in out and process in err
    until(lambda: not is_alive(process))


def test_a_result_says_what_ran_beside_it() -> None:
    spec = spec_dict(specify({"beside": ["./control", "a b"]}))
    assert spec["beside"] == ["./control", "a b"]
    assert spec_dict(specify({}))["beside"] == []
    summary = Summary(
        cells=(), sets=(), distributions=(), findings=(), labels=(), meta={"parameters": spec}
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


def test_a_comparison_says_what_ran_beside_which_side(capsys: Capture) -> None:
    for name in ("alone", "other", "crowded"):
        assert main(("latency", "--simulated", "--quick", "--name", name, "--no-figures")) == 0
    head = Path("runs/crowded", LatencyStore.HEAD)
    head.write_text(head.read_text().replace('"beside": []', '"beside": ["./control", "a b"]'))
    capsys.readouterr()
    main(("compare", "alone", "crowded", "--json", "--no-figures"))
    found = json.loads(capsys.readouterr().out)["results"]
    assert "beside ./control a b (crowded)" in found["labels"]
    assert "beside: none | ./control 'a b'" in found["differences"]
    assert main(("compare", "alone", "other", "--aa", "crowded")) == 2
    assert "another program beside" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["profile", "latency", "load"])
def test_a_result_says_when_the_program_ended_before_the_measurement(verb: str, capsys: Capture):
    assert main(KINDS[verb][0]) == 0
    evil = "<b>\x1b[31m</script>"
    ended = f"2026-01-01T00:00:00+00:00 {evil}: 2 starts, ended with status 3 after 4.1 s\n"
    again = "2026-01-02T00:00:00+00:00 ./c: 1 start, was ended with the measurement after 9.0 s\n"
    Path("runs/tiny/beside.log").write_text("before\n" * 50 + ended + again)
    capsys.readouterr()
    assert main(("page", "tiny", "--no-figures")) == 0
    assert main(("show", "tiny")) == 0
    out = capsys.readouterr().out
    assert "ended with status 3 after 4.1 s" in out and "\x1b" not in out
    assert main(("show", "tiny", "--json")) == 0
    (found,) = [
        each
        for each in json.loads(capsys.readouterr().out)["findings"]
        if each["id"] == "beside-ended"
    ]
    assert "at 2026-01-01" in found["message"] and "9.0 s" not in found["message"]
    page = Path("runs/tiny/report.html").read_text()
    assert "&lt;b&gt;" in page and "\x1b" not in page and "<b>\x1b" not in page
    text = page.split("<script", 1)[0]
    assert text.count("was ended with the measurement after 9.0 s") == 1
    assert page.count("before\n") < 10
