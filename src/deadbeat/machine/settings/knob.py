"""A knob: a setting of the machine that matters to real-time work, and how it is made.

A knob is the ``set`` table of a row (settings/rows.py) or a row of ``settings/knobs.toml``; where
it takes logic, `making` has the function. It says what it reads, and from that which files shall
hold what, or why there is nothing to set here. What is set at boot only gives words for the
kernel's command line instead; those are printed, never applied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import attrs
from attrs import frozen

from deadbeat.base.model.tuning import Setting
from deadbeat.machine.host.values import cpu_mask, cpus_text
from deadbeat.machine.settings.facts import ONLINE, Facts
from deadbeat.machine.settings.making import (
    MAKES,
    NotHereError,
    managed_interrupts,
    of_cpus,
    present,
)
from deadbeat.machine.settings.reading import housekeeping
from deadbeat.machine.settings.rows import Row, SetRow, accepts, learned, loose, rows


@frozen(kw_only=True)
class Knob(SetRow):
    """A `SetRow` with what it has of its check: ``why``, ``source``, ``cures`` and ``path``.

    Attributes:
        reads: All that it looks at (settings/facts.py).
    """

    reads: tuple[str, ...] = ()

    @property
    def possible(self) -> str:
        """What may be given, in words."""
        if self.values:
            *others, last = self.values
            return f"{', '.join(others)} or {last}"
        if self.range != (0, 0):
            return f"{self.range[0]} to {self.range[1]}{self.unit and ' '}{self.unit}"
        return self.words or "no value"

    def allows(self, text: str) -> bool:
        if self.values:
            return text in self.values
        if self.range != (0, 0):
            least, most = self.range
            return bool(re.fullmatch(r"-?\d{1,18}", text)) and least <= int(text) <= most
        return bool(re.fullmatch(self.shape, text))

    def settings(self, facts: Facts, value: str) -> Sequence[Setting]:
        """Files and what they shall hold, in the order of writing; of ``paths``, those there are.

        NotHereError or UnreadError where there is nothing to set."""
        if self.boot or self.name in MAKES:
            return () if self.boot else MAKES[self.name](facts, value)
        paths = self.paths or (self.path,)
        there = [path for path in paths if facts.get(path) is not None] if self.paths else paths
        try:
            found = [
                each
                for path in there or paths[:1]
                for each in (of_cpus if self.only_rt else present)(facts, path)
            ]
        except NotHereError as error:
            raise NotHereError("; ".join(filter(None, (str(error), self.lacking)))) from None
        text = _filled(self.writes, facts) or value
        return [Setting(each, text, self.form) for each in found]

    def fixed(self, facts: Facts) -> Mapping[str, str]:
        """Files of `settings` that the kernel makes read-only, and why; reported, left alone."""
        return managed_interrupts(facts) if self.name == "irq-affinity" else {}

    def boot_words(self, facts: Facts) -> tuple[str, ...]:
        """Words for the kernel's command line, in place of `settings`."""
        return tuple(_filled(word, facts) for word in self.boot)

    def is_enough(self, now: str | None, wanted: str) -> bool:
        """Whether the number that is there is as good as the one that is ``wanted``; a profile
        leaves it alone then, ``--knob NAME=VALUE`` does not."""
        numbers = [re.match(r"-?\d+", text or "") for text in (now, wanted)]
        if numbers[0] is None or numbers[1] is None or not self.enough:
            return False
        limit = {"less": f"<= {numbers[1][0]}", "more": f">= {numbers[1][0]}"}
        return accepts(limit.get(self.enough, self.enough))(int(numbers[0][0]))


def _knob_of(how: SetRow, row: Row | None = None) -> Knob:
    path = how.path or (row.path if row else "")
    makes = learned("knobs").get(how.name, ())
    paths = how.paths or ((path,) if not (how.name in MAKES or how.boot) else ())
    written = " ".join((*how.boot, how.writes))
    fields: dict[str, Any] = {
        **attrs.asdict(how, recurse=False),
        "why": how.why or (row.why if row else ""),
        "source": "; ".join(filter(None, (row.source if row else "", how.source))),
        "cures": how.cures or ((row.id,) if row else ()),
        "path": path,
        "reads": (*makes, *paths, *((ONLINE,) if "{" in written else ())),
    }
    return Knob(**fields)


def _filled(text: str, facts: Facts) -> str:
    """``text`` with the CPUs it asks for: those for real-time tasks, and the others.

    UnreadError where no other is left."""
    if "{" not in text:
        return text
    others = housekeeping(facts)
    rt = cpus_text(facts.rt_cpus)
    return text.format(rt=rt, others=cpus_text(others), others_mask=cpu_mask(others))


@cache
def all_knobs() -> Mapping[str, Knob]:
    """Name -> knob of every row, in alphabetical order."""
    found = [_knob_of(row.set, row) for row in rows().values() if row.set is not None]
    found += map(_knob_of, loose())
    return {knob.name: knob for knob in sorted(found, key=lambda knob: knob.name)}
