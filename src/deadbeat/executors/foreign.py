"""Foreign programs on a target, of which nothing is left: the runtime's verb ``guard``.

The guard needs nothing there but itself: it is the static program that measures, copied once. Start
it from a thread that lives as long as it shall: the kernel ends it with the thread that started it.
"""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.build.native import verb_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.model.errors import TargetError
from deadbeat.targets.base import Completed, Target

#: How long a guarded program waits for another measurement on the machine, s.
LOCK_WAIT_S = 10.0
#: Exit statuses of the guard itself; all others are the program's, as a shell has them.
BOUND_PASSED, REFUSED, NOT_EXECUTABLE, NOT_FOUND = 124, 125, 126, 127
#: A status beyond this is that of a program which the signal of the rest has killed.
SIGNALLED = 128


def put_runtime(target: Target, *, toolchain: Toolchain | None = None) -> str:
    """Path on ``target`` of the runtime's program; built and copied where it is not there yet."""
    program = verb_program(toolchain or Toolchain.find())
    destination = f"{target.folder}/{program.name}"
    if target.run(("test", "-x", destination)).returncode != 0:
        target.put(program, destination)
    return destination


def guarded(
    program: str,
    argv: Sequence[str],
    *,
    bound_s: float,
    lock: bool = False,
    lock_wait_s: float = LOCK_WAIT_S,
    until_eof: bool = False,
    fifo: int = 0,
) -> tuple[str, ...]:
    """The command that runs ``argv`` so that it and all its descendants are gone afterwards.

    "Afterwards" is when it ends, when ``bound_s`` has passed, when the guard gets SIGTERM (which it
    passes on, and insists on two seconds later), or when whoever started the guard is killed.

    Args:
        program: The runtime's program on the target, from `put_runtime`.
        argv: The foreign program, looked for on the target's PATH, and its arguments.
        bound_s: Its bound in seconds, above 0.
        lock: Whether it takes the lock of the machine, as whatever measures in real time must.
        lock_wait_s: So long it waits for that.
        until_eof: Whether the end of the guard's standard input asks it to end too, so that
            `Process.close` does; the program itself then reads nothing.
        fifo: Priority under SCHED_FIFO that all its threads start with, below 80; 0: ordinary.
    """
    words = ["--bound-ns", str(max(round(bound_s * 1e9), 1)), "--lock", str(int(lock))]
    words += ["--lock-wait-ns", str(round(lock_wait_s * 1e9)), "--until-eof", str(int(until_eof))]
    words += ["--fifo", str(fifo)]
    return (program, "guard", *words, "--", *argv)


def failure_of(completed: Completed, name: str, *, package: str = "") -> TargetError | None:
    """What went wrong with a guarded program; None where it ended with status 0.

    Args:
        completed: Of the command that `guarded` gave.
        name: The program's.
        package: Debian's package that has it.
    """
    status, said = completed.returncode, completed.stderr.strip().splitlines()
    last = said[-1] if said else ""
    if status == 0:
        return None
    if status == REFUSED and last.startswith("error busy"):
        return TargetError(
            f"another deadbeat measurement has this machine (process {last.split()[-1]})",
            "wait for it to end; two at once would measure each other",
        )
    if status == NOT_FOUND and "cannot be started" in last:
        where = f" (Debian: apt-get install {package})" if package else ""
        return TargetError(f"there is no {name} on the target", f"install it{where}")
    if status == BOUND_PASSED and last.startswith("deadbeat guard:"):
        return TargetError(f"{name} did not end in its time and was ended", "")
    return TargetError(f"{name} ended with status {status}", f"it said: {last}" if last else "")
