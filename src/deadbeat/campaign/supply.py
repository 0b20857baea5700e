"""Where the task sets of a batch come from: generated anew, or a stored campaign's own programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from deadbeat.campaign import plan as design
from deadbeat.campaign.spec import CampaignSpec
from deadbeat.emit import task_set_id
from deadbeat.executors.base import RunRequest
from deadbeat.model.results import RunKey
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
