"""Sizes of memory, as they are typed: ``64,10K,1M``."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

from deadbeat.model import rules
from deadbeat.model.rules import refuse
from deadbeat.model.words import shown

_SIZE = re.compile(r"([0-9]{1,13})\s*(B|KB|MB|K|M)?", re.IGNORECASE)
_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1024**2, "MB": 1024**2}
#: Of what is allocated or copied.
SIZE_LIMIT = 2**32


@frozen
class ByteSizes:
    """Sizes in bytes: ``64,10K,1M``."""

    def parse(self, value: Any) -> tuple[int, ...]:
        if value in ([], ()):
            return ()
        return tuple(rules.each(rules.items(value, "a list of sizes", "64,10K,1M"), self._one))

    def _one(self, value: Any) -> int:
        match = _SIZE.fullmatch(str(value).strip())
        size = int(match[1]) * _UNITS[(match[2] or "").upper()] if match else 0
        if not 0 < size <= SIZE_LIMIT:
            raise refuse(f"{shown(value)} is not a size", "bytes up to 4G, like 64, 10K or 1M")
        return size

    @staticmethod
    def plain(sizes: tuple[int, ...]) -> list[str]:
        return [size_word(size) for size in sizes]


def size_word(size: int) -> str:
    """A size as it is typed: ``10K``."""
    for word, unit in (("M", 1024**2), ("K", 1024)):
        if size % unit == 0:
            return f"{size // unit}{word}"
    return str(size)
