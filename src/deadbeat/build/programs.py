"""A machine that generated programs run on: sends, starts and understands them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from deadbeat.base.model.errors import DeadbeatError, RunError, TargetError
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json
from deadbeat.build.native import link_program, verb_program
from deadbeat.build.toolchain import Toolchain, toolchain_for
from deadbeat.machine.host.environment import environment_of, name_of, platform_from_environment
from deadbeat.machine.host.proc import CPU_FOLDER, TRIED, usable_cpus
from deadbeat.machine.host.realtime import refusal_of_realtime
from deadbeat.machine.host.values import gathered, understood
from deadbeat.machine.settings.hardening import states_of
from deadbeat.machine.settings.tune import with_tuning
from deadbeat.machine.targets.base import Completed, Process, Target, is_here, require_connected
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.trace.session import Tracer

#: How long to wait for another measurement on this machine, s.
LOCK_WAIT_S = 10.0
#: From runtime/include/deadbeat/port.h: least priority of the guardian, and the highest there is.
GUARDIAN, HIGHEST = 90, 99
#: Highest exit status of the program itself (runtime/src/host/main.c).
_STATUS_MAX = 6


class ProgramMachine:
    """Runs programs on ``target``.

    Args:
        target: Where programs run; None: this machine.
        cpus: CPU numbers of the logical cores, in order; None: all that may be used there.
        toolchain: Compiler; None: the one found for the target.
        lock_wait: Seconds to wait while another measurement has the machine.
        pools: Folder with ``ns/`` and ``sy/``; None: the project's own fragments.
        lock_memory: False only under sanitizers: their shadow memory cannot be locked.
    """

    def __init__(
        self,
        *,
        target: Target | None = None,
        cpus: Sequence[int] | None = None,
        toolchain: Toolchain | None = None,
        lock_wait: float = LOCK_WAIT_S,
        pools: Path | None = None,
        lock_memory: bool = True,
    ) -> None:
        self._target: Target = target or LocalTarget()
        self._toolchain = toolchain or toolchain_of(self._target)
        self.cpus = tuple(cpus) if cpus else usable_on(self._target)
        self._lock_wait = lock_wait
        self.pools = pools
        self._lock_memory = lock_memory
        self._sent: dict[str, Path] = {}
        self._fetched: TemporaryDirectory[str] | None = None

    def linked(self, source: str) -> Path:
        """Program of C text that has task sets."""
        return link_program(self._toolchain, source, fragments_root=self.pools)

    @property
    def folder(self) -> str:
        """Writable folder on the target."""
        return self._target.folder

    def describe(self) -> Platform:
        """The platform as it stands now."""
        environment = self.environment()
        return platform_from_environment(
            environment,
            cpus=self.cpus,
            toolchain=self._toolchain.identification,
            flags=" ".join(self._toolchain.all_flags),
            kind=self._target.kind,
            name=name_of(environment, self._target),
        )

    def environment(self) -> dict[str, Json]:
        """State of the machine now."""
        more: Json = states_of(self._target)
        also = {"hardening": more, "toolchain": self._toolchain.identification}
        also |= self._target.facts
        return environment_of(self._target, now=datetime.now(UTC), more=also)

    def fetch(self, source: str) -> Path:
        """A file of the target on this host, where it no longer is then; the same file where the
        target is this machine."""
        if is_here(self._target):
            return Path(source)
        if self._fetched is None:
            self._fetched = TemporaryDirectory()
        destination = Path(self._fetched.name) / Path(source).name
        try:
            self._target.get(source, destination)
        except TargetError:
            require_connected(self._target, source.rpartition("/")[0])
            raise
        self._target.run(("rm", "-f", source))
        return destination

    def understood(self) -> AbstractContextManager[None]:
        """See `deadbeat.machine.host.values.understood`."""
        return understood(self._target)

    def require_connected(self, folder: str) -> None:
        """See `deadbeat.machine.targets.base.require_connected`."""
        require_connected(self._target, folder)

    def tracer(self) -> Tracer:
        """Event tracing of the CPUs; it says itself why where it is not to be had."""
        return Tracer(self._target, cpus=self.cpus)

    def start_program(self, program: Path, verb: str, options: Mapping[str, str]) -> Process:
        """Starts ``program`` on the target."""
        destination = f"{self._target.folder}/{program.name}"  # another after a cut connection
        if self._sent.get(destination) != program:
            self._target.put(program, destination)
            self._sent[destination] = program
        argv = [destination, verb]
        argv += ["--cpus", ",".join(map(str, self.cpus))]
        argv += ["--lock-wait-ns", str(round(self._lock_wait * 1e9))]
        argv += ["--lock-memory", str(int(self._lock_memory))]
        for key, value in options.items():
            argv += [key, value]
        return self._target.start(argv)

    def converse(
        self,
        verb: str,
        policy: str,
        options: Mapping[str, str],
        *,
        timeout: float,
        extra: Sequence[str] = (),
    ) -> Iterator[str]:
        """The lines of a verb of the runtime that needs no task sets, run to its end.

        Args:
            options: Beyond those of every verb; the last of a kind counts.
            timeout: Counts from the moment on that it has the machine.
            extra: More words of linking the program.

        Raises:
            TargetError: It reports an error, or fails.
        """
        program = verb_program(self._toolchain, fragments_root=self.pools, extra=extra)
        folder = self.folder
        with self.start_program(program, verb, {"--policy": policy, **options}) as process:
            while (line := process.read_line(timeout + self._lock_wait)) is not None:
                if line.startswith("error "):
                    raise self.explain(line, priority=int(options.get("--priority", "0")))
                yield line
            completed = process.close(timeout)
            if completed.returncode != 0:
                require_connected(self._target, folder)
                words = completed.stderr.strip().splitlines()
                # How a program ended that did not say why; beyond its own statuses is a signal's
                # number.
                status = completed.returncode
                if 0 <= status <= _STATUS_MAX:
                    ending = f"the program ended with status {status}"
                else:
                    ending = (
                        f"the program was killed (signal {abs(status)}): by one of its own"
                        " bounds, which a machine that is too busy does not let it keep, or"
                        " by another program"
                    )
                raise TargetError(ending, words[-1] if words else "")

    def explain(self, line: str, *, priority: int = 0) -> DeadbeatError:
        """The error behind an ``error CODE TEXT`` line of the program.

        Args:
            priority: What it was asked to measure at; 0: that of task sets.
        """
        _, _, rest = line.partition(" ")
        code, _, text = rest.partition(" ")
        if code == "busy":
            return _taken(text)
        if code == "realtime-refused":
            needed = max(GUARDIAN, min(priority + 1, HIGHEST))  # by the guardian (host/main.c)
            diagnosis = refusal_of_realtime(self._target.read_text, priority=needed)
            return TargetError(
                f"SCHED_FIFO was refused: {diagnosis.cause}",
                f"{diagnosis.cure}; or measure without it: --policy other marks every result",
            )
        if code == "memory-lock-refused":
            return TargetError(
                f"memory cannot be locked: {text}",
                "run as root, give CAP_IPC_LOCK, or raise the limit with: ulimit -l unlimited",
            )
        if code == "stood":
            return RunError(f"the measurement stood still: {text}", "repeat the command")
        if code == "primitive":
            return RunError(f"it could not be run: {text}", "the others are not concerned")
        return TargetError(f"the program gave up ({code}): {text}", "")

    def put_text(self, name: str, text: str) -> str:
        """Leaves a text on the target; its path there."""
        destination = f"{self.folder}/{name}"
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(text)
            self._target.put(path, destination)
        return destination

    def close(self) -> None:
        """Removes everything from the target."""
        self._target.close()
        if self._fetched is not None:
            self._fetched.cleanup()


class VerbEngine:
    """Measures with a verb on ``target``.

    Args:
        cross: What builds its programs; None: the one found for the target.
        lock_wait: Seconds to wait while another measurement has the machine.
    """

    def __init__(
        self, target: Target, *, cross: str | None = None, lock_wait: float = LOCK_WAIT_S
    ) -> None:
        self._target, self._lock_wait = target, lock_wait
        self._toolchain = toolchain_of(target, cross=cross)
        self._machine = self._on()

    def _on(self, cpus: Sequence[int] | None = None) -> ProgramMachine:
        return ProgramMachine(
            target=self._target, cpus=cpus, toolchain=self._toolchain, lock_wait=self._lock_wait
        )

    def cpus(self) -> tuple[int, ...]:
        """CPUs that may be used."""
        return self._machine.cpus

    def describe(self) -> Platform:
        """The machine as it stands now, with what was tuned on purpose."""
        return with_tuning(self._machine.describe(), self._target)

    def written(
        self,
        verb: str,
        policy: str,
        options: Mapping[str, str],
        *,
        timeout: float,
        extra: Sequence[str] = (),
    ) -> str:
        """What a verb leaves in its file; as `ProgramMachine.converse`.
        Raises RunError: it says anything but that it is done."""
        out = f"{self._target.folder}/{verb}"
        options = {**options, "--out": out}
        for line in self._machine.converse(verb, policy, options, timeout=timeout, extra=extra):
            if not line.startswith("done "):
                raise RunError(f"unexpected words of the program: {line[:80]}")
        with understood(self._target):
            return self._target.read_text(out) or ""


def usable_on(target: Target) -> tuple[int, ...]:
    """CPUs of ``target`` that programs started there may use.
    Raises TargetError: they cannot be read."""
    cpus = tuple(gathered(target, usable_cpus, (f"{CPU_FOLDER}/online", TRIED)))
    if not cpus:
        raise TargetError(f"the CPUs of {target.name} cannot be read", "is /proc mounted there?")
    return cpus


def _taken(process: str) -> TargetError:
    return TargetError(
        f"another deadbeat measurement has this machine (process {process.strip()})",
        "wait for it to end; two at once would measure each other",
    )


def toolchain_of(target: Target, *, cross: str | None = None) -> Toolchain:
    """The compiler of programs that run on ``target``.

    Args:
        cross: See `Toolchain.find`; None: the one found for its architecture.

    Raises:
        BuildError: There is none.
        TargetError: What ``target`` is cannot be found out.
    """
    if is_here(target) and cross is None:
        return Toolchain.find()
    return toolchain_for(machine_of(target), cross=cross)


def machine_of(target: Target) -> str:
    """Its architecture, as ``uname -m`` says it."""
    done = target.run(("uname", "-m"))
    machine = done.stdout.strip()
    if done.returncode != 0 or not machine.isidentifier():
        raise TargetError(
            f"{target.name} does not name its architecture (uname -m)", "has it a POSIX shell?"
        )
    return machine


# -- foreign programs on a target, of which nothing is left: the runtime's verb ``guard``
#
# The guard needs nothing there but itself: it is the static program that measures, copied once.
# Start it from a thread that lives as long as it shall: the kernel ends it with the thread that
# started it.

#: Exit statuses of the guard itself; all others are the program's, as a shell has them.
BOUND_PASSED, REFUSED, NOT_FOUND = 124, 125, 127
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
        lock_wait_s: How long it waits for that.
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
        completed: The result of the command that `guarded` gave.
        name: The program's.
        package: Debian's package that has it.
    """
    status, said = completed.returncode, completed.stderr.strip().splitlines()
    last = said[-1] if said else ""
    if status == 0:
        return None
    if status == REFUSED and last.startswith("error busy"):
        return _taken(last.split()[-1])
    if status == NOT_FOUND and "cannot be started" in last:
        where = f" (Debian: apt-get install {package})" if package else ""
        return TargetError(f"there is no {name} on the target", f"install it{where}")
    if status == BOUND_PASSED and last.startswith("deadbeat guard:"):
        return TargetError(f"{name} did not end in its time and was ended", "")
    return TargetError(f"{name} ended with status {status}", f"it said: {last}" if last else "")
