"""A target that is this machine but says that it is another: what takes one for the other shows.

Nothing of its folder is known to whoever does not ask it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from deadbeat.base.model.errors import UnreachableError
from deadbeat.machine.targets.base import Completed, Process, Readings
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.readings import ask


class PretendedTarget:
    """See `deadbeat.machine.targets.base.Target`.

    Attributes:
        cpu: Its programs run on this CPU alone; None: on all.
        cut_at: It cannot be reached any more from this start of a program on; None: it always can.
        made: Every one that was made, in order.
    """

    kind = "hardware"
    boot_s = 0.0
    cpu: ClassVar[int | None] = None
    cut_at: ClassVar[int | None] = None
    made: ClassVar[list[PretendedTarget]] = []

    def __init__(self, word: str) -> None:
        self.address = word
        self.name = word.partition("://")[2]
        self.asked: list[str] = []
        self._inner = LocalTarget()
        self.folder = self._inner.folder
        self.closed = False
        self.made.append(self)

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        starts = sum(each.startswith("start ") for each in self.asked)
        if self.cut_at is not None and starts >= self.cut_at:
            self._inner.close()
            raise UnreachableError(f"{self.name} cannot be reached any more", "is it on?")

    def _argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        bound = () if self.cpu is None else ("taskset", "-c", str(self.cpu))
        return (*bound, *argv)

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        self._ask(f"run {argv[0]}")
        return self._inner.run(self._argv(argv), timeout=timeout)

    def start(self, argv: Sequence[str]) -> Process:
        self._ask(f"start {argv[0]}")
        return self._inner.start(self._argv(argv))

    def put(self, source: Path, destination: str) -> None:
        self._ask(f"put {destination}")
        self._inner.put(source, destination)

    def get(self, source: str, destination: Path) -> None:
        self._ask(f"get {source}")
        self._inner.get(source, destination)

    def read_text(self, path: str) -> str | None:
        self._ask(f"read {path}")
        return self._inner.read_text(path)

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        given = dict(commands or {})
        if self.cpu is not None and "allowed-cpus" in given:
            given["allowed-cpus"] = f"echo Cpus_allowed_list: {self.cpu}"
        return ask(self.run, paths, given)

    def close(self) -> None:
        self._inner.close()
        self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
