"""Truth: measurement.md: progress is drawn between sets only; style.md: readable without colour."""

import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

import pyte
import pytest
from helpers.answers import Capture
from rich.console import Console

from deadbeat.base.experiment.base import Phase, RunDone, RunFailed, Started
from deadbeat.base.model.words import duration, size
from deadbeat.base.report.document import CellMap
from deadbeat.base.report.lines import broken, print_table, table_lines
from deadbeat.cli._progress import Watch
from deadbeat.cli._signals import interruptible
from deadbeat.cli.main import main
from deadbeat.sched.simulator import policies, tie_rules
from deadbeat.tasksets.model.results import Point, RunKey

KEY = RunKey(Point(2, 500, 1000), 3)


def events() -> list[Phase | Started | RunDone | RunFailed]:
    done = [
        RunDone(key=KEY, done=number, total=100, eta_s=100 - number) for number in range(1, 101)
    ]
    return [
        Phase(name="calibration"),
        Phase(name="calibration", share=0.5),
        Started(total=100, done=0, failed=0, eta_s=100),
        *done[:50],
        RunFailed(key=KEY, reason="it broke"),
        *done[50:],
    ]


def watched(*, terminal: bool) -> tuple[str, int]:
    """What is drawn, and how many threads that took."""
    text = io.StringIO()
    most = 0
    with Watch("quick", Console(file=text, force_terminal=terminal, width=100)) as watch:
        for event in events():
            watch(event)
            most = max(most, threading.active_count())
    return text.getvalue(), most


def test_the_bar_is_drawn_by_no_thread_of_its_own() -> None:
    before = threading.active_count()
    text, threads = watched(terminal=True)
    assert threads == before
    assert "50 of 100 runs, 50 s left" in text
    assert "run m002-s0500-c1000-r0003 has no result: it broke" in text


def test_without_a_terminal_there_is_a_line_at_every_twentieth(capsys: Capture) -> None:
    watched(terminal=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "deadbeat: quick: calibration"
    assert sum(" of 100 runs" in line for line in lines) == 21
    assert lines[-1] == "deadbeat: quick: 100 of 100 runs, 1 without a result"
    assert all(line.isprintable() for line in lines)


def test_a_terminal_shows_what_was_measured_so_far_and_then_gives_way() -> None:
    """At 80 x 24: a bar, and what the screen has room for of a picture; nothing of it stays."""
    text, times = io.StringIO(), iter(range(10_000))

    def so_far() -> CellMap:
        return CellMap(
            title="latest", corner="load", columns=("runs",), rows=("idle",) * 40,
            cells=(("1",),) * 40, strength=((0,),) * 40,
        )  # fmt: skip

    console = Console(file=text, force_terminal=True, width=80, height=24)
    screen = pyte.Screen(80, 24)
    with Watch("quick", so_far=so_far, console=console, clock=lambda: 0.2 * next(times)) as watch:
        for event in events():
            watch(event)
            if isinstance(event, RunDone) and event.done == 60:
                pyte.Stream(screen).feed(text.getvalue().replace("\n", "\r\n"))
    shown = [line.rstrip() for line in screen.display if line.strip()]
    assert "60 of 100 runs, 1 without a result, 40 s left" in shown[1].replace("  ", " ")
    assert shown[2:4] == ["latest", "load runs"]
    pyte.Stream(screen := pyte.Screen(80, 24)).feed(text.getvalue().replace("\n", "\r\n"))
    assert not any("latest" in line or "quick" in line for line in screen.display)


def test_tables_have_no_colour_and_are_never_cut_off(capsys: Capture) -> None:
    print_table(["a", "b"], [["[red]x[/red]", "y" * 90], ["1 [0, 2]", ""]], title="[t]")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    for text in ("[red]x[/red]", "y" * 90, "1 [0, 2]", "[t]"):
        assert text in out


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((-1, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (60, "1 min"), (125, "2 min 5 s")),
        *((3600, "1 h"), (3599.6, "1 h"), (11_400, "3 h 10 min")),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *((0, "0 B"), (999, "999 B"), (1000, "1 kB"), (8_440_000, "8.44 MB"), (999_600, "1 MB")),
        *((2.5e12, "2.5 TB"), (3e15, "3e+03 TB")),
    ],
)
def test_sizes(count: float, text: str) -> None:
    assert size(count) == text


def test_a_termination_is_an_interrupt_inside_the_block_only() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


TEN = ("name", *(f"c{n}" for n in range(9)))
#: Columns, a row, the width, which columns are numbers; the lines that come of it.
TABLES = [
    (("a", "b"), ("x", "1"), 80, ("b",), ["a  b", "x  1"]),
    (("a", "x [95 %]"), ("x", "1 [0.9, 1.1]"), 80, (), ["a  x [95 %]", "x  1 [0.9, 1.1]"]),
    # columns leave from the right, and stand below
    (TEN[:5], ("m002-s0904", *["12345"] * 4), 26, TEN[1:],
     ["name           c0     c1", "m002-s0904  12345  12345", "",
      "name           c2     c3", "m002-s0904  12345  12345"]),
    # words break, figures do not; a heading stands at the foot of its row
    (("of", "what is done"), ("1", "takes 132 of 132 runs in 1.15 ms"), 24, ("of",),
     ["of  what is done", " 1  takes 132 of 132", "    runs in 1.15 ms"]),
    # where there is no room, a path or name breaks; where no two columns fit, one stays
    (("knob", "file"), ("hung-task", "/proc/sys/kernel/hung_task_timeout_secs"), 34, (),
     ["knob       file", "hung-task  /proc/sys/kernel/", "           hung_task_timeout_secs"]),
    (("name", "release"), ("contention-random-quick", "6.12.118"), 26, (),
     ["name              release", "contention-       6.12.118", "random-quick"]),
    (("a", "b"), ("12345678901", "12345678901"), 20, ("a", "b"),
     ["          a", "12345678901", "no room here for: b"]),
    # an empty table, a cell of two lines
    (("a", "b"), (), 80, (), ["a  b"]),
    (("a", "b"), ("x", "one\ntwo"), None, (), ["a  b", "x  one", "   two"]),
    # in a pipe nothing is left out or broken
    (TEN, ("m002-s0904", *["12345"] * 9), None, TEN[1:],
     ["name        " + "  ".join(f"{c:>5}" for c in TEN[1:]), "m002-s0904" + "  12345" * 9]),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "row", "width", "numeric", "lines"), TABLES)
def test_a_table_fits(
    columns: Sequence[str],
    row: Sequence[str],
    width: int | None,
    numeric: Sequence[str],
    lines: list[str],
) -> None:
    found = table_lines(columns, [row] if row else [], width=width, numeric=numeric)
    assert found == lines


BROKEN = [
    ("one two three", 8, ["one two", "three"]),
    ("it took 12.5 ms", 12, ["it took", "12.5 ms"]),
    ("a slowdown of 1.5 [0.52, 1.78]", 20, ["a slowdown of 1.5", "[0.52, 1.78]"]),
    ("at M = 1, rho = 1", 8, ["at", "M = 1,", "rho = 1"]),
    ("from 12 to 15 of them", 10, ["from", "12 to 15", "of them"]),
    ("loads: idle,50,cpu:75", 10, ["loads:", "idle,50,", "cpu:75"]),
    ("/a/path/that/is/long", 8, ["/a/path/that/is/long"]),
    ("    indented text", 12, ["    indented", "    text"]),
    ("in a pipe a line is whole", None, ["in a pipe a line is whole"]),
]


@pytest.mark.parametrize(("text", "width", "lines"), BROKEN)
def test_a_line_is_broken_between_words(text: str, width: int | None, lines: list[str]) -> None:
    assert broken(text, width) == lines


# --- signals


#: Python lets no exception out of a callback of a weak reference.
IN_A_CALLBACK = """
class Some: pass
def strike(_):
    os.kill(os.getpid(), number)
    for _ in range(1000): pass
some = Some()
reference = weakref.ref(some, strike)
del some
for _ in range(200): time.sleep(0.01)
"""
#: Python ends itself by SIGINT where an ordinary KeyboardInterrupt passed through a text's code.
IN_A_TEXT = 'exec("os.kill(os.getpid(), number)\\nfor _ in range(1000): pass")'


def test_one_that_strikes_while_a_class_is_made_interrupts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def strike(words: list[str], *, quiet: bool) -> int:
        class Named:
            def __set_name__(self, owner: type, name: str) -> None:
                signal.raise_signal(signal.SIGTERM)

        type("Owner", (), {"named": Named()})
        return 0

    monkeypatch.setattr("deadbeat.cli.main._run", strike)
    assert main(["--version"]) == 128 + signal.SIGTERM
    assert capsys.readouterr().err == "deadbeat: interrupted\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", [IN_A_CALLBACK, IN_A_TEXT], ids=["callback", "text"])
def test_a_signal_is_not_lost(where: str, number: signal.Signals) -> None:
    lines = [
        "import os, sys, time, weakref",
        "from deadbeat.cli._signals import INTERRUPTED, interruptible",
        f"number = {int(number)}",
        "with interruptible() as caught:",
        "    try:",
        *(f"        {line}" for line in where.strip().splitlines()),
        "        status = 0",
        "    except KeyboardInterrupt:",
        "        status = caught.status(INTERRUPTED)",
        "sys.exit(status)",
    ]
    words = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (128 + number, "")


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        ("list policies", f"{len(policies())} policies, {len(tie_rules())} ties"),
        ("list results --runs none", "0 results"),
        ("list options", None),
        ("list generators", None),
        ("tune status --root .", "0 changes in the journal"),
        ("show aa-lacks-cells", None),
    ],
)
def test_every_answer_has_a_headline(words, headline, capsys, tmp_path, monkeypatch):
    """In JSON a list says how much there is; first-use.md, section 2."""
    monkeypatch.chdir(tmp_path)
    main((*words.split(), "--json"))
    found = json.loads(capsys.readouterr().out)["headline"]
    assert found.startswith(headline) if headline else found
