"""Whose programs a campaign runs, where they are not its own: ``origin.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import field, frozen

from deadbeat.model.errors import DataError
from deadbeat.model.platform import Platform
from deadbeat.store.files import read_json, write_json
from deadbeat.store.serial import structure, to_plain

ORIGIN_FILE = "origin.json"
_HINT = "restore it from a backup, or begin a campaign anew with --fresh"


@frozen(kw_only=True)
class Origin:
    """The campaign that the programs were built for, and where they run now.

    Attributes:
        name: Name of that campaign.
        elf: Batch -> SHA-256 of the executable; None: it was never built (a simulation).
        source, index: Batch -> SHA-256 of the C text, and of the list of its task sets.
        original: Where the costs were calibrated, from which C, T and D follow.
        platform: Where the programs run in this campaign.
        original_yardstick_ps, references: Of earlier versions, which judged the host by them.
    """

    name: str
    elf: dict[str, str | None]
    source: dict[str, str]
    index: dict[str, str]
    original: Platform
    platform: Platform
    original_yardstick_ps: tuple[int, ...] = ()
    references: dict[str, Any] | None = field(default=None)

    @property
    def same_hardware(self) -> bool:
        """Whether the costs hold where it runs: same hardware, frequency policy and toolchain."""
        return self.original.fingerprint == self.platform.fingerprint

    def same_programs(self, other: Origin) -> bool:
        """Whether both run the identical programs, whatever the campaign is called."""
        return (self.elf, self.source, self.index) == (other.elf, other.source, other.index)


def write_origin(path: Path, origin: Origin) -> None:
    """Write ``origin`` as ``path``, atomically."""
    plain = to_plain(origin)
    plain["from"] = plain.pop("name")
    plain["original_platform"] = plain.pop("original")
    write_json(path, plain)


def read_origin(path: Path) -> Origin:
    """The origin in ``path``.

    Raises:
        DataError: Unreadable, damaged or of another format.
    """
    plain = read_json(path, what="origin", hint=_HINT)
    renamed = {"from": "name", "original_platform": "original"}
    if unknown := plain.keys() & set(renamed.values()):
        raise DataError(f"origin {path} is damaged: unknown key {min(unknown)}", _HINT)
    return structure(
        {renamed.get(key, key): item for key, item in plain.items()},
        Origin,
        path=path,
        what="origin",
        hint=_HINT,
    )


def origin_facts(origin: Origin) -> dict[str, object]:
    """What a summary tells of it: all but the hashes of each batch."""
    return {
        "from": origin.name,
        "programs": len(origin.index),
        "original_platform": to_plain(origin.original),
        "references": origin.references,
        "same_hardware": origin.same_hardware,
    }
