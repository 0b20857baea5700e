"""Runs real programs on a target: the executor behind every measured figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from deadbeat.build.native import link_program, verb_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.catalog import Catalog
from deadbeat.emit import emit_batch
from deadbeat.executors import controls
from deadbeat.executors.base import (
    Costing,
    Injection,
    Progress,
    RunRequest,
    RunSettings,
    SelftestResult,
    untold,
)
from deadbeat.executors.calibration import (
    Samples,
    calibration_of,
    estimate_costs,
    read_samples,
    runnable,
    visits_of,
)
from deadbeat.executors.session import HardwareSession
from deadbeat.executors.toolchains import toolchain_of
from deadbeat.host.environment import (
    core_kinds,
    environment_of,
    name_of,
    platform_from_environment,
)
from deadbeat.host.proc import CPU_FOLDER, TRIED, usable_cpus
from deadbeat.host.realtime import refusal_of_realtime
from deadbeat.host.values import gathered, understood
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import DeadbeatError, RunError, TargetError, UsageError
from deadbeat.model.platform import Platform, places_of
from deadbeat.model.tasks import Entry
from deadbeat.prices.table import PriceBatch
from deadbeat.prices.works import Pricing
from deadbeat.settings.hardening import states_of
from deadbeat.targets.base import Process, Target, is_here, require_connected
from deadbeat.targets.local import LocalTarget
from deadbeat.trace.session import Tracer

#: How long to wait for another measurement on this machine, s.
LOCK_WAIT_S = 10.0
#: As in runtime/include/deadbeat/port.h: least priority of the guardian, and the highest there is.
GUARDIAN, HIGHEST = 90, 99
#: Highest exit status of the program itself (runtime/src/host/main.c).
_STATUS_MAX = 6
#: Emptying the caches reads this many times the last level.
SCRUB_FACTOR = 2
#: Read when no cache size can be found out.
SCRUB_FALLBACK_BYTES = 64 << 20


class HardwareExecutor:
    """Runs task sets on ``target``; see :class:`deadbeat.executors.base.Executor`.

    Args:
        target: Where programs run; None: this machine.
        cpus: CPU numbers of the logical cores, in order; None: all that may be used there.
        toolchain: Compiler; None: as found for the target.
        lock_wait: Seconds to wait while another measurement has the machine.
        pools: Folder with ``ns/`` and ``sy/``; None: the project's own fragments.
        lock_memory: False only under sanitizers, whose shadow memory cannot be locked.
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
        self._cpus = tuple(cpus) if cpus else usable_on(self._target)
        self._lock_wait = lock_wait
        self.pools = pools
        self._lock_memory = lock_memory
        self._sent: dict[str, Path] = {}
        self._lacking: dict[tuple[object, ...], dict[str, str]] = {}
        self._fetched: TemporaryDirectory[str] | None = None

    @property
    def cpus(self) -> tuple[int, ...]:
        """CPU numbers of the logical cores."""
        return self._cpus

    def describe(self) -> Platform:
        """The platform as it stands now."""
        environment = self.environment()
        return platform_from_environment(
            environment,
            cpus=self._cpus,
            toolchain=self._toolchain.identification,
            flags=" ".join(self._toolchain.all_flags),
            kind=self._target.kind,
            name=name_of(environment, self._target),
        )

    def environment(self) -> dict[str, object]:
        """State of the machine now."""
        more = {
            "hardening": states_of(self._target),
            "toolchain": self._toolchain.identification,
        }
        return environment_of(self._target, now=datetime.now(UTC), more=more)

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """Fragments that cannot run here, each tried once in a process of its own."""
        asked = (*catalog.fragments, policy, participants)
        if asked not in self._lacking:
            self._lacking[asked] = self._tried(catalog, policy, participants)
        return dict(self._lacking[asked])

    def _tried(self, catalog: Catalog, policy: str, participants: int) -> dict[str, str]:
        refused = _refused_by_policy(catalog, policy)
        entries = [
            Entry(name, fragment.sizes[0])
            for name, fragment in catalog.fragments.items()
            if name not in refused
        ]
        options = {
            "--entries": self._put_entries(entries),
            "--participants": str(participants),
        }
        for line in self.converse("try", policy, options, timeout=90.0):
            word, _, rest = line.partition(" ")
            if word == "no":
                name, _, reason = rest.partition(" ")
                refused[name.split("/")[0]] = reason
            elif line == "ipc shared":
                refused |= _leaky(catalog)
        return refused

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = untold
    ) -> Calibration:
        """Costs of a pool's entries; see the protocol and :mod:`deadbeat.executors.calibration`."""
        began = monotonic()
        missing = self.unavailable(catalog, policy=asked.policy, participants=asked.participants)
        entries, refused = runnable(catalog, asked, missing)
        samples = self._sample(entries, asked, progress)
        cold = asked.basis == "cold"
        estimates = estimate_costs(samples, entries, kinds=self._kinds(), cold=cold)
        progress(1.0)
        return calibration_of(
            estimates, asked, platform=self.describe(), refused=refused, began_s=began
        )

    def price(self, asked: Pricing, progress: Progress = untold) -> PriceBatch:
        """What operations take alone and shared: the verb ``price`` (runtime/src/host/price.c)."""
        began = datetime.now(UTC).isoformat(timespec="seconds")
        out = f"{self.folder}/prices"
        lines = "".join(f"{work.line}\n" for work in asked.works)
        options = {
            "--entries": self.put_text("works", lines),
            "--out": out,
            "--seconds-ns": str(round(asked.seconds * 1e9)),
            "--seed": str(asked.seed),
        }
        for line in self.converse("price", asked.policy, options, timeout=2 * asked.seconds + 60):
            if line.startswith("progress "):
                progress(min(int(line.split()[1]) / 1000, 1.0))
        with understood(self._target):
            found = json.loads(self._target.read_text(out) or "")
            return PriceBatch(
                works=asked.works,
                errors=tuple(found["errors"]),
                slots=tuple(map(tuple, found["slots"])),
                made_at=began,
            )

    def selftest(
        self,
        catalog: Catalog,
        calibration: Calibration | None,
        *,
        seconds: float,
        progress: Progress,
    ) -> SelftestResult:
        """Controls whose answer is known; ``calibration`` None: it makes its own short one."""
        return controls.selftest(self, catalog, calibration, seconds=seconds, progress=progress)

    def spin_gaps(self, *, seconds: float, policy: str) -> tuple[dict[str, int], ...]:
        """What every core loses to others while it only looks at the clock; one dict a core."""
        options = {"--seconds-ns": str(round(seconds * 1e9))}
        told = map(str.split, self.converse("noise", policy, options, timeout=3 * seconds + 30))
        return tuple(
            dict(zip(words[::2], map(int, words[1::2]), strict=True))
            for words in told
            if words[0] == "core"
        )

    def open(
        self,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        *,
        program: Path | None = None,
        inject: Injection | None = None,
    ) -> HardwareSession:
        """Builds a batch, or takes the one given; ``inject`` only serves a positive control."""
        most = max(request.task_set.cores for request in requests)
        # a stored program may hold sets for more cores: they are not run, see HardwareSession
        if program is None and most > len(self._cpus):
            raise UsageError(
                f"a task set needs {most} cores, {len(self._cpus)} are given",
                "give more CPUs or fewer cores",
            )
        return HardwareSession(
            self, requests, settings, program=program, injection=inject or Injection()
        )

    # --- what a session needs ---------------------------------------------------------------

    def build(self, requests: Sequence[RunRequest]) -> tuple[str, Path]:
        """C source and program of a batch."""
        source = self.source_of(requests)
        return source, link_program(self._toolchain, source, fragments_root=self.pools)

    @staticmethod
    def source_of(requests: Sequence[RunRequest]) -> str:
        """C source of a batch."""
        return emit_batch([request.task_set for request in requests])

    @property
    def folder(self) -> str:
        """Writable folder on the target."""
        return self._target.folder

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
        """See `deadbeat.host.values.understood`."""
        return understood(self._target)

    def require_connected(self, folder: str) -> None:
        """See `deadbeat.targets.base.require_connected`."""
        require_connected(self._target, folder)

    def tracer(self) -> Tracer:
        """Event tracing of the CPUs; it says itself why where it is not to be had."""
        return Tracer(self._target, cpus=self._cpus)

    def start_program(self, program: Path, verb: str, options: Mapping[str, str]) -> Process:
        """Starts ``program`` on the target."""
        argv = [self._send(program), verb]
        argv += ["--cpus", ",".join(map(str, self._cpus))]
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
                raise TargetError(_ending(completed.returncode), words[-1] if words else "")

    def explain(self, line: str, *, priority: int = 0) -> DeadbeatError:
        """The error behind an ``error CODE TEXT`` line of the program.

        Args:
            priority: What it was asked to measure at; 0: as task sets are.
        """
        _, _, rest = line.partition(" ")
        code, _, text = rest.partition(" ")
        if code == "busy":
            return TargetError(
                f"another deadbeat measurement has this machine (process {text.strip()})",
                "wait for it to end; two at once would measure each other",
            )
        if code == "realtime-refused":
            diagnosis = refusal_of_realtime(self._target.read_text, priority=guardian_of(priority))
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

    def _sample(self, entries: Sequence[Entry], asked: Costing, progress: Progress) -> Samples:
        """Visits of ``entries``."""
        out = f"{self._target.folder}/samples"
        kinds = self._kinds()
        options = {
            "--entries": self._put_entries(entries),
            "--out": out,
            "--seconds-ns": str(round(asked.seconds * 1e9)),
            "--seed": "1",
            "--cold": str(int(asked.basis == "cold")),
            "--scrub-bytes": str(self._scrub_bytes()),
            "--one-process": str(int(asked.layout == "shared-address-space")),
            "--visit": ",".join(map(str, visits_of(kinds))),
            "--kinds": str(len(set(kinds))),
        }
        limit_s = 3 * asked.seconds + 180
        for line in self.converse("calibrate", asked.policy, options, timeout=limit_s):
            if line.startswith("progress "):
                with understood(self._target):
                    permille = int(line.split()[1])
                progress(min(permille / 1000, 1.0))
        with TemporaryDirectory() as folder:
            self._target.get(out, Path(folder) / "samples")
            return read_samples(Path(folder) / "samples", cores=len(self._cpus))

    def _send(self, program: Path) -> str:
        destination = f"{self._target.folder}/{program.name}"  # another after a cut connection
        if self._sent.get(destination) != program:
            self._target.put(program, destination)
            self._sent[destination] = program
        return destination

    def _put_entries(self, entries: Sequence[Entry]) -> str:
        return self.put_text("entries", "".join(f"{e.fragment} {e.size}\n" for e in entries))

    def put_text(self, name: str, text: str) -> str:
        """Leaves a text on the target; its path there."""
        destination = f"{self.folder}/{name}"
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(text)
            self._target.put(path, destination)
        return destination

    def _kinds(self) -> tuple[int, ...]:
        """Kind of each logical core."""
        return core_kinds(self.environment(), self._cpus)

    def _scrub_bytes(self) -> int:
        places = places_of(self.environment().get("topology")).values()
        sizes = [cache.size_bytes for place in places for cache in place.caches if cache.size_bytes]
        return SCRUB_FACTOR * max(sizes) if sizes else SCRUB_FALLBACK_BYTES

    def close(self) -> None:
        """Removes everything from the target."""
        self._target.close()
        if self._fetched is not None:
            self._fetched.cleanup()


def usable_on(target: Target) -> tuple[int, ...]:
    """CPUs of ``target`` that programs started there may use.

    Raises:
        TargetError: They cannot be read.
    """
    cpus = tuple(gathered(target, usable_cpus, (f"{CPU_FOLDER}/online", TRIED)))
    if not cpus:
        raise TargetError(f"the CPUs of {target.name} cannot be read", "is /proc mounted there?")
    return cpus


def guardian_of(priority: int) -> int:
    """Priority that the guardian of a thread of ``priority`` needs (host/main.c)."""
    return max(GUARDIAN, min(priority + 1, HIGHEST))


def _ending(status: int) -> str:
    """How a program ended that did not say why; beyond its own statuses is a signal's number."""
    if 0 <= status <= _STATUS_MAX:
        return f"the program ended with status {status}"
    return (
        f"the program was killed (signal {abs(status)}): by one of its own bounds, which"
        " a machine that is too busy does not let it keep, or by somebody else"
    )


def _refused_by_policy(catalog: Catalog, policy: str) -> dict[str, str]:
    """Fragments that need a real-time policy when there is none."""
    if policy == "fifo":
        return {}
    needs = {"realtime-policy", "priority-ceiling", "priority-inheritance"}
    return {
        name: f"needs SCHED_FIFO ({', '.join(sorted(needs & set(fragment.requires)))})"
        for name, fragment in catalog.fragments.items()
        if needs & set(fragment.requires)
    }


def _leaky(catalog: Catalog) -> dict[str, str]:
    """Fragments whose objects would outlive a killed run where there is no private namespace."""
    return {
        name: "needs a private IPC namespace, or its objects outlive a killed run (run as root)"
        for name, fragment in catalog.fragments.items()
        if "sysv-ipc" in fragment.requires
    }
