"""Why jobs are late, by recordings made with a late job in each: late by half to three times its
slack, of each of eight causes, or of something else. All jobs have interrupts and preemptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from helpers.made_recordings import FUTEX, MS, NAP, READ, SLEEP, Made
from helpers.traced_text import written

from deadbeat.program.derive.late import Late, late
from deadbeat.program.derive.records import Recording, RecordKind
from deadbeat.program.derive.tasks import derive
from deadbeat.program.foreign.base import format_of, read_trace

CONTROL, LOGGER, HOG, FAIR, DEADLINE = 100, 101, 55, 56, 10 * MS
#: What a late job does from an instant on for some ns.
Extra = Callable[[Made, Random, int, int], None]


def own(made: Made, draw: Random, at: int, ns: int) -> None:
    pass


def away(*hows: dict[str, int]) -> Extra:
    """Another has the CPU; ``woken`` so long after it left."""

    def wait(made: Made, draw: Random, at: int, ns: int) -> None:
        how = dict(draw.choice(hows))
        wake = at + how.pop("woken", -at)
        made.away(CONTROL, at, at + ns, wake=wake, **how)

    return wait


def lock(made: Made, draw: Random, at: int, ns: int) -> None:
    made.add(at - 100_000, LOGGER, RecordKind.GOT, 0x9000, 0x3)
    made.add(at - 1000, CONTROL, RecordKind.WANT, 0x9000, 0x2)
    made.away(CONTROL, at, at + ns, wake=at + ns - 5000, by=LOGGER)
    made.add(at + ns - 5000, LOGGER, RecordKind.UNLOCK, 0x9000)
    made.add(at + ns + 1000, CONTROL, RecordKind.GOT, 0x9000, 0x2)
    made.add(at + ns + 2000, CONTROL, RecordKind.UNLOCK, 0x9000)


def interrupt(made: Made, draw: Random, at: int, ns: int) -> None:
    made.add(at, CONTROL, RecordKind.INTERRUPT, 7)
    made.add(at + ns, CONTROL, RecordKind.INTERRUPT_END, 7)


def fault(made: Made, draw: Random, at: int, ns: int) -> None:
    """Waits for a disk, or gets many new pages."""
    each = draw.choice([ns, 20_000, 200_000])
    for begin in range(at, at + ns, each):
        made.add(begin, CONTROL, RecordKind.FAULT, 0x7000)
        if each == ns:
            made.away(CONTROL, at + 1000, at + ns - 1000, wake=at + ns - 5000, state=2)
        made.add(begin + each - each // 10, CONTROL, RecordKind.FAULT_END)


def call(*what: int, by: int = 0) -> Extra:
    def wait(made: Made, draw: Random, at: int, ns: int) -> None:
        due = {"due": at + ns - 6000} if what == NAP else {}
        made.call(CONTROL, at, at + ns, what, wake=at + ns - 6000, by=by, ret=1, **due)

    return wait


def semaphore(made: Made, draw: Random, at: int, ns: int) -> None:
    call(*FUTEX, by=LOGGER)(made, draw, at, ns)
    made.add(at + ns + 500, CONTROL, RecordKind.TAKE, 0x7000, 0x2, 1)


def not_traced(made: Made, draw: Random, at: int, ns: int) -> None:
    """Writes to a disk, after a page fault."""
    made.add(at - 2000, CONTROL, RecordKind.FAULT, 0x7000)
    made.add(at - 1000, CONTROL, RecordKind.FAULT_END)
    made.away(CONTROL, at, at + ns, wake=at + ns - 5000, state=draw.choice([1, 2]))


WAKE_UPS = ({"woken": 20_000}, {"woken": 20_000, "beside": FAIR, "prio": 120})
#: What is done -> how, the cause to be named, and by what.
CASES: dict[str, tuple[Extra, str, str]] = {
    "preempted": (away({"by": HOG}), "preempted", "hog"),
    "lock": (lock, "lock", "0x9000, held by logger (0x3)"),
    "interrupt": (interrupt, "interrupt", "interrupt 7"),
    "throttled": (away({}, {"by": FAIR, "prio": 120}), "throttled", "policy fifo"),
    "stolen": (own, "stolen", ""),
    "page fault": (fault, "page fault", ""),
    "late timer": (own, "late timer", "clock_nanosleep (absolute)"),
    "own work": (own, "own work", ""),
    # of something else
    "a nap": (call(*NAP), "waited", "clock_nanosleep"),
    "an answer": (call(*READ, by=LOGGER), "waited", "read"),
    "a futex": (call(*FUTEX, by=LOGGER), "waited", "futex"),
    "a semaphore": (semaphore, "waited", "semaphore"),
    "a device": (call(*READ), "waited", "read"),
    "a disk": (not_traced, "waited", ""),
    "a CPU": (away(*WAKE_UPS), "late wake-up", ""),
    "a gap without events of interrupts": (own, "interrupt or stolen", ""),
    "a steal within an interrupt": (interrupt, "interrupt or stolen", ""),
}


def late_job(
    cause: str,
    extra: Extra,
    draw: Random,
    through: Callable[[Recording], Recording] = lambda recording: recording,
) -> Late:
    """The answer for a job that ``cause`` made late."""
    made, charged, now = Made(), draw.random() < 0.5, 1000
    made.thread("control", policy="fifo", priority=80)
    made.thread("logger")
    stolen = cause in ("stolen", *[*CASES][-2:])
    charged = charged or cause == "a steal within an interrupt"
    for number in range(1, 25):
        tick, is_late = number * DEADLINE, number == 12
        ns = int(8 * MS * draw.uniform(1.5, 4)) if is_late else 0
        shift = ns if cause == "late timer" else 0
        wake = {"wake": tick + shift} if tick > now + 5000 else {}
        back = max(tick + shift + 5000, now + 3000)
        made.call(CONTROL, now, back, SLEEP, due=tick, **wake)
        at, hidden = back + draw.randrange(200_000, MS), 0
        if is_late and not shift:
            extra(made, draw, at, ns)
            at, hidden = at + ns + 10_000, ns * (stolen or (extra is interrupt and not charged))
        handled = draw.randrange(5000, 20_000)
        if cause != "a gap without events of interrupts":
            interrupt(made, draw, at, handled)
        made.away(
            CONTROL,
            at + handled + 1000,
            at + draw.randrange(30_000, 130_000),
            by=HOG,
            stolen=hidden + handled * (not charged),
        )
        now = at + draw.randrange(MS // 2, MS)
    made.add(now, CONTROL, RecordKind.ENTER, *SLEEP)
    recording = through(made.recording(names={HOG: "hog"}))
    found = late(recording, derive(recording, deadlines={"control": DEADLINE}))
    return next(each for each in found if each.job == 11)


#: What text has no event of: the shim's.
IN_TEXT = {"lock": ("waited", "a call that logger ended"), "a semaphore": ("waited", "futex")}


@pytest.mark.parametrize("what", CASES)
def test_text_names_the_same_causes(what: str, tmp_path: Path) -> None:
    """In microseconds, as tracefs prints events."""

    def through(recording: Recording) -> Recording:
        path = tmp_path / "trace"
        path.write_text(written(recording))
        form = format_of(path)
        assert form is not None
        return read_trace(path, form, ",".join(str(each.tid) for each in recording.threads))

    extra, cause, by = CASES[what]
    cause, by = IN_TEXT.get(what, (cause, by))
    for seed in range(2):
        found = late_job(what, extra, Random(f"{what} {seed}"), through)
        assert found.cause == cause and found.by.startswith(by), found


@pytest.mark.parametrize("what", CASES)
def test_the_cause_is_named_and_no_other_is_blamed(what: str) -> None:
    extra, cause, by = CASES[what]
    for seed in range(5):
        found = late_job(what, extra, Random(f"{what} {seed}"))
        assert found.cause == cause and found.by.startswith(by), found
        assert found.response_ns < found.ns + 5 * MS
