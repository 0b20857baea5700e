"""The campaign that a campaign's programs come from, where not its own: ``origin.json``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from attrs import field, frozen
from cattrs import Converter, override
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import read_json, write_json
from deadbeat.tasksets.store.serial import converter, structure, to_plain

_HINT = "restore it from a backup, or start a new campaign with --fresh"


@frozen(kw_only=True)
class Origin:
    """The campaign that the programs were built for, and where they run now.

    Attributes:
        name: Name of that campaign.
        elf: Batch -> SHA-256 of the executable; None: it was never built (a simulation).
        source, index: Batch -> SHA-256 of the C text, and of the list of its task sets.
        original: Where the costs were calibrated, from which C, T and D follow.
        platform: Where the programs run in this campaign.
        original_yardstick_ps, references: From earlier versions, which judged the host by them.
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


@cache
def _converter() -> Converter:
    """The converter of all stored values; files have had these names from the first on."""
    made = converter().copy()
    names: dict[str, Any] = {"name": override(rename="from")}
    names["original"] = override(rename="original_platform")
    made.register_unstructure_hook(Origin, make_dict_unstructure_fn(Origin, made, **names))
    made.register_structure_hook(Origin, make_dict_structure_fn(Origin, made, **names))
    return made


def write_origin(path: Path, origin: Origin) -> None:
    """Write ``origin`` as ``path``, atomically."""
    write_json(path, _converter().unstructure(origin))


def read_origin(path: Path) -> Origin:
    """The origin in ``path``. Raises DataError: unreadable, damaged or of another format."""
    plain = read_json(path, what="origin", hint=_HINT)
    return structure(plain, Origin, path=path, what="origin", hint=_HINT, made=_converter())


def origin_facts(origin: Origin) -> dict[str, Json]:
    """What a summary tells of it: all but the hashes of each batch."""
    return {
        "from": origin.name,
        "programs": len(origin.index),
        "original_platform": to_plain(origin.original),
        "references": origin.references,
        "same_hardware": origin.same_hardware,
    }
