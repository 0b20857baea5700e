"""Runs real programs on a target: the executor behind every measured figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import places_of
from deadbeat.build.programs import ProgramMachine
from deadbeat.machine.host.environment import core_kinds
from deadbeat.machine.host.values import understood
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.executors.base import (
    Costing,
    Progress,
    RunRequest,
    RunSettings,
    needing_fifo,
    unheard,
)
from deadbeat.tasksets.executors.calibration import (
    Samples,
    calibration_of,
    read_samples,
    runnable,
    visits_of,
)
from deadbeat.tasksets.executors.session import HardwareSession
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.tasks import Entry
from deadbeat.tasksets.prices.table import PriceBatch
from deadbeat.tasksets.prices.works import Pricing

#: Emptying the caches reads this many times the last level.
SCRUB_FACTOR = 2
#: Read when no cache size can be found out.
SCRUB_FALLBACK_BYTES = 64 << 20


class HardwareExecutor(ProgramMachine):
    """Runs task sets on its target; see :class:`deadbeat.tasksets.executors.base.Executor`."""

    boot_s = 0.0

    @cached_property
    def _lacking(self) -> dict[tuple[object, ...], dict[str, str]]:
        """What cannot run, of all that was asked so far."""
        return {}

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """Fragments that cannot run here, each tried once in a process of its own."""
        asked = (*catalog.fragments, policy, participants)
        if asked not in self._lacking:
            self._lacking[asked] = self._tried(catalog, policy, participants)
        return dict(self._lacking[asked])

    def _tried(self, catalog: Catalog, policy: str, participants: int) -> dict[str, str]:
        needy = needing_fifo(catalog) if policy != "fifo" else {}
        refused = {name: f"needs SCHED_FIFO ({words})" for name, words in needy.items()}
        entries = [
            Entry(name, fragment.sizes[0])
            for name, fragment in catalog.fragments.items()
            if name not in refused
        ]
        options = {"--entries": self._put_entries(entries), "--participants": str(participants)}
        for line in self.converse("try", policy, options, timeout=90.0):
            word, _, rest = line.partition(" ")
            if word == "no":
                name, _, reason = rest.partition(" ")
                refused[name.split("/")[0]] = reason
            elif line == "ipc shared":
                why = "needs a private IPC namespace, or its objects outlive a killed run"
                leaky = (n for n, each in catalog.fragments.items() if "sysv-ipc" in each.requires)
                refused |= dict.fromkeys(leaky, f"{why} (run as root)")
        return refused

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = unheard
    ) -> Calibration:
        """Costs of a pool's entries; see the protocol and :mod:`tasksets.executors.calibration`."""
        began = monotonic()
        missing = self.unavailable(catalog, policy=asked.policy, participants=asked.participants)
        entries, refused = runnable(catalog, asked, missing)
        samples = self._sample(entries, asked, progress)
        progress(1.0)
        return calibration_of(
            *(samples, entries, asked),
            kinds=self._kinds(),
            platform=self.describe(),
            refused=refused,
            began_s=began,
        )

    def price(self, asked: Pricing, progress: Progress = unheard) -> PriceBatch:
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

    def spin_gaps(self, *, seconds: float, policy: str) -> tuple[dict[str, int], ...]:
        """What every core loses to others while it only looks at the clock; one dict a core."""
        options = {"--seconds-ns": str(round(seconds * 1e9))}
        lines = map(str.split, self.converse("noise", policy, options, timeout=3 * seconds + 30))
        return tuple(
            dict(zip(words[::2], map(int, words[1::2]), strict=True))
            for words in lines
            if words[0] == "core"
        )

    def open(
        self,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        *,
        program: Path | None = None,
        inject: Mapping[str, str] | None = None,
    ) -> HardwareSession:
        """Builds a batch, or takes the one given. ``inject``: options of the program by which a
        positive control does something to the tasks on purpose (runtime/src/host/inject.c)."""
        most = max(request.task_set.cores for request in requests)
        # a stored program may hold sets for more cores: they are not run, see HardwareSession
        if program is None and most > len(self.cpus):
            raise UsageError(
                f"a task set needs {most} cores, {len(self.cpus)} are given",
                "give more CPUs or fewer cores",
            )
        return HardwareSession(self, requests, settings, program=program, injection=inject or {})

    def _sample(self, entries: Sequence[Entry], asked: Costing, progress: Progress) -> Samples:
        out = f"{self._target.folder}/samples"
        kinds = self._kinds()
        places = places_of(self.environment().get("topology")).values()
        sizes = [cache.size_bytes for place in places for cache in place.caches if cache.size_bytes]
        scrub_bytes = SCRUB_FACTOR * max(sizes) if sizes else SCRUB_FALLBACK_BYTES
        options = {
            "--entries": self._put_entries(entries),
            "--out": out,
            "--seconds-ns": str(round(asked.seconds * 1e9)),
            "--seed": "1",
            "--cold": str(int(asked.basis == "cold")),
            "--scrub-bytes": str(scrub_bytes),
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
            return read_samples(Path(folder) / "samples", cores=len(self.cpus))

    def _put_entries(self, entries: Sequence[Entry]) -> str:
        return self.put_text("entries", "".join(f"{e.fragment} {e.size}\n" for e in entries))

    def _kinds(self) -> tuple[int, ...]:
        return core_kinds(self.environment(), self.cpus)
