"""Sizes of memory, as they are typed: ``64,10K,1M``."""

from __future__ import annotations

import re
from typing import Any

from deadbeat.model.rules import ListOf, refuse
from deadbeat.model.words import shown

_SIZE = re.compile(r"([0-9]{1,13})\s*(B|KB|MB|K|M)?", re.IGNORECASE)
_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1024**2, "MB": 1024**2}
#: Of what is allocated or copied.
SIZE_LIMIT = 2**32


def bytes_of(value: Any) -> int:
    """Bytes of ``64``, ``10K``, ``1M``."""
    match = _SIZE.fullmatch(str(value).strip())
    size = int(match[1]) * _UNITS[(match[2] or "").upper()] if match else 0
    if not 0 < size <= SIZE_LIMIT:
        raise refuse(f"{shown(value)} is not a size", "bytes up to 4G, like 64, 10K or 1M")
    return size


def size_word(size: int) -> str:
    """A size as it is typed: ``10K``."""
    for word, unit in (("M", 1024**2), ("K", 1024)):
        if size % unit == 0:
            return f"{size // unit}{word}"
    return str(size)


#: Sizes in bytes.
BYTE_SIZES = ListOf(bytes_of, "a list of sizes", "64,10K,1M", optional=True, plain_one=size_word)
