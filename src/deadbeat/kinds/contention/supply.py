"""Where the task sets of a batch come from: generated anew, or a stored campaign's own programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from deadbeat.emit import task_set_id
from deadbeat.executors.base import RunRequest
from deadbeat.kinds.contention import plan as design
from deadbeat.kinds.contention import rounds
from deadbeat.kinds.contention.programs import verify_program
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.model.errors import DataError
from deadbeat.model.results import RunKey
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.origin import Origin
from deadbeat.synthesis import Synthesiser


@frozen(kw_only=True)
class Batch:
    """The task sets of one program.

    Attributes:
        requests: In the order of the program's table.
        set_ids: Identifier of each run's task set.
        program: Already built of exactly these; None: it is to be built.
    """

    requests: tuple[RunRequest, ...]
    set_ids: dict[RunKey, str]
    program: Path | None = None


class Supply(Protocol):
    """Hands out batches; the same name and keys give the same batch in every session."""

    def batches(self, keys: Sequence[RunKey]) -> tuple[tuple[str, tuple[RunKey, ...]], ...]:
        """``keys`` by program, each with its name; the order of the keys is kept in each."""

    def batch(self, name: str, keys: Sequence[RunKey]) -> Batch:
        """The task sets of ``keys``.

        Raises:
            SynthesisError, DataError: There is no such batch.
        """


@frozen(kw_only=True)
class Generated:
    """Task sets by synthesis from the campaign's own calibration."""

    spec: CampaignSpec
    synthesiser: Synthesiser

    def batches(self, keys: Sequence[RunKey]) -> tuple[tuple[str, tuple[RunKey, ...]], ...]:
        """Programs of as many task sets as one may hold, of whole rounds where there are any."""
        batches = rounds.batches(self.spec, keys)
        return tuple((f"batch-{index:03d}", batch) for index, batch in enumerate(batches))

    def batch(self, name: str, keys: Sequence[RunKey]) -> Batch:
        """Synthesises every set; ``name`` does not matter."""
        requests = tuple(
            RunRequest(
                key,
                self.synthesiser.synthesise(
                    design.parameters(self.spec, key), design.set_seed(self.spec, key)
                ),
            )
            for key in keys
        )
        ids = {request.key: task_set_id(request.task_set) for request in requests}
        return Batch(requests=requests, set_ids=ids)


@frozen(kw_only=True)
class StoredPrograms:
    """The programs that a campaign holds already, each verified against its origin."""

    store: CampaignStore
    origin: Origin

    def batches(self, keys: Sequence[RunKey]) -> tuple[tuple[str, tuple[RunKey, ...]], ...]:
        """As they were built, the batch of the first key first."""
        home = {key: each.batch for each in self.store.programs() for key in each.keys}
        found: dict[str, list[RunKey]] = {}
        for key in keys:
            if key not in home:
                raise DataError(
                    f"no program of {self.origin.name} holds {key.text}",
                    "begin anew with --fresh",
                )
            found.setdefault(home[key], []).append(key)
        return tuple((name, tuple(batch)) for name, batch in found.items())

    def batch(self, name: str, keys: Sequence[RunKey]) -> Batch:
        """Every set of the program, also those that are not run: their places tell them apart."""
        (program,) = [each for each in self.store.programs() if each.batch == name]
        verify_program(self.store, self.origin, program)
        requests, ids = [], {}
        for key in program.keys:
            planned = self.store.planned_set(key)
            assert planned is not None
            requests.append(RunRequest(key, planned.task_set))
            ids[key] = planned.set_id
        return Batch(requests=tuple(requests), set_ids=ids, program=program.elf)
