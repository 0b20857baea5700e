"""The primitives there are: each file of runtime/primitives describes itself."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache

from attrs import frozen

from deadbeat.build.native import primitive_sources

_FRONT = re.compile(r"/\*\+\+\+\n(.*?)\n\s*\+\+\+\*/", re.DOTALL)


@frozen(kw_only=True)
class Primitive:
    """An operation that is timed.

    Attributes:
        sizes: Whether it has a size, in bytes.
        variants: Ways of doing it; none: one way.
        group: Threads that only work together: 2 for a firer and its handler.
        spins: Variants that wait without giving up the CPU ("": the primitive, which has none).
        placements: Where its threads may be; none: wherever such a group may.
        equal: Whether both of a pair have one priority, not the second the higher.
        contends: Whether all threads want one thing, so that one may get more of it than another.
        batches: Whether a sample may be many operations.
        amount: A second number of its own, as its file says; 0: it has none.
    """

    name: str
    summary: str
    sizes: bool = False
    variants: tuple[str, ...] = ()
    group: int = 1
    spins: tuple[str, ...] = ()
    placements: tuple[str, ...] = ()
    equal: bool = False
    contends: bool = False
    batches: bool = False
    amount: int = 0
    allocators: bool = False

    @property
    def places(self) -> tuple[str, ...]:
        """Where its threads may be, of `PLACEMENTS`."""
        return self.placements or (("same", "other") if self.group == 2 else ("one", "all"))


@cache
def primitives() -> Mapping[str, Primitive]:
    """All of them, by name."""
    found = {}
    for path in primitive_sources():
        front = _FRONT.match(path.read_text(encoding="utf-8"))
        assert front, f"{path.name} does not describe itself"
        table = tomllib.loads(re.sub(r"(?m)^ \* ?", "", front[1]))
        listed = {key: tuple(v) for key, v in table.items() if isinstance(v, list)}
        found[path.stem] = Primitive(name=path.stem, **(table | listed))
    return found
