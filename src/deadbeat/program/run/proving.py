"""Whether what observes programs sees, on this machine, what is late: a program that injects it."""

from __future__ import annotations

import tempfile

import numpy as np
from attrs import frozen

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.words import time_text
from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.program.derive.jobs import single_jobs
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.tries import ORIGINAL
from deadbeat.program.run.watching import watched

#: As injector.c has them, ns; a response may differ by so much, as a clock is read and a call made.
_PERIOD, _APART = 2_000_000, 50_000
_NAME = "injected"


@frozen(kw_only=True)
class Proof:
    """A part of the self-test. ``passed``: None: it could not be done."""

    name: str
    passed: bool | None
    words: str


def prove(target: Target, made: Toolchain) -> tuple[Proof, ...]:
    """What the self-test shows; it takes two seconds and more."""

    def only(passed: bool | None, words: str) -> tuple[Proof, ...]:
        return (Proof(name="injected lateness", passed=passed, words=words),)

    if target.boot_s or not is_here(target):
        return only(None, "the self-test is of this machine, not of another one")
    spec = ProgramSpec(command=(str(tool_program(made, "injector")),), name=_NAME)
    with tempfile.TemporaryFile() as output:
        try:
            watch = watched(spec, output.fileno(), target, made, ORIGINAL)
        except DeadbeatError as error:
            return only(False, str(error))
        output.seek(0)
        own = np.array([line.split()[1] for line in output.read().decode().splitlines()], np.int64)
    jobs = derive(watch.recording, deadlines={_NAME: _PERIOD}).jobs.get(_NAME)
    release, end, _ = single_jobs(jobs, _PERIOD) if jobs else (own[:0],) * 3
    seen = end - release
    if not len(own) or len(own) != len(seen):
        return only(False, f"{len(seen)} of {len(own)} jobs were seen")
    late, called = own > _PERIOD, seen > _PERIOD
    found = int((late & called).sum())
    # What holds a job up after it has looked at the clock is seen, and right.
    wrong = int((~late & called & (seen - own < _APART)).sum())
    borders = int((np.abs(own - _PERIOD) < _APART).sum())
    right = found >= late.sum() - borders and wrong <= borders
    text = f"{found} of {late.sum()} late jobs of {len(own)} were found, {wrong} more called late"
    apart = int(np.median(np.abs(seen - own)))
    clock = f"half of the responses are within {time_text(apart)} of the program's own clock"
    return (
        *only(right, text),
        Proof(name="clock of the trace", passed=apart <= _APART, words=clock),
    )
