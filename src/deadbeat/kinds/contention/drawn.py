"""What may differ from task set to task set, as it is written and as it is drawn.

One grammar, in files and on a command line: ``0.5`` | ``0,0.5,1`` (each set picks one) | ``random``
(the whole sensible range) | ``random:0.2..0.8``. Everything is whole numbers (shares in
thousandths, times in nanoseconds) or words, so that what is drawn is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve, field, frozen

from deadbeat.model import rules
from deadbeat.model.rules import Problem, RefusedError, refuse
from deadbeat.model.words import shown
from deadbeat.synthesis.stream import Stream

Value = int | str


_RANDOM = re.compile(r"random(?:\s*:\s*(?P<low>[^.\s][^\s]*?)\s*\.\.\s*(?P<high>[^\s]+))?")


@frozen
class Drawn:
    """Where the value of a set comes from: one of ``options``, or from ``low`` to ``high``."""

    options: tuple[Value, ...] = ()
    low: int = 0
    high: int = 0

    @property
    def fixed(self) -> bool:
        """Whether every set has the same value."""
        return len(self.options) == 1 or (not self.options and self.low == self.high)

    @property
    def ranged(self) -> bool:
        return not self.options

    @property
    def largest(self) -> int:
        """Of numbers."""
        return max((int(option) for option in self.options), default=self.high)

    @property
    def smallest(self) -> int:
        """Of numbers."""
        return min((int(option) for option in self.options), default=self.low)

    def draw(self, stream: Stream) -> Value:
        """One value, every one equally likely."""
        if self.options:
            return self.options[stream.below(len(self.options))]
        return stream.between(self.low, self.high)


@frozen
class DrawKind:
    """What a single value is.

    Attributes:
        parse: From what was written; raises RefusedError.
        plain: Canonical text or number of a value.
        low, high: The whole sensible range, for numbers.
        words: All choices, for words.
        example: How one is written.
    """

    parse: Callable[[Any], Value]
    plain: Callable[[Any], Any]
    low: int = 0
    high: int = 0
    words: tuple[str, ...] = ()
    example: str = "1"


def shares(*, least: int = 0, sensible: tuple[int, int] = (0, 1000)) -> DrawKind:
    """Thousandths, of ``least`` of them to 1."""

    return DrawKind(
        partial(rules.share_milli, least=least),
        lambda milli: milli / 1000,
        *sensible,
        example="random:0.2..0.8",
    )


def drawn_by(rule: Any, low: int = 0, high: int = 0) -> DrawKind:
    """What ``rule`` reads; ``random`` alone means any of its words, or numbers in [low, high]."""
    if isinstance(rule, rules.Choice):
        return DrawKind(rule.parse, str, words=rule.words, example=",".join(rule.words[:2]))
    if isinstance(rule, rules.DurationNs):
        return DrawKind(rule.parse, rule.plain, low, high, example="random:100us..300us")
    return DrawKind(rule.parse, int, low, high, example=f"random:{low}..{high}")


@frozen
class SpreadRule:
    """The rule of a value that may differ from set to set.

    Attributes:
        optional: Whether nothing (None) may be said: then it is as in [tasks].
    """

    kind: DrawKind = field()
    optional: bool = True

    def parse(self, value: Any) -> Drawn | None:
        if isinstance(value, Drawn):
            return value
        if value is None and self.optional:
            return None
        # Random priorities are a kind of priorities: there the word is a choice like others.
        text = value.strip() if isinstance(value, str) and "random" not in self.kind.words else ""
        if text.startswith("random"):
            return self._random(text)
        if isinstance(value, dict):
            raise refuse(f"{shown(value)} is no value", f"write it like {self.kind.example}")
        listed = rules.items(value, "a value, a list or random", self.kind.example)
        if len(listed) == 1:
            return Drawn((self.kind.parse(listed[0]),))
        found = rules.each(listed, self.kind.parse)
        doubled = [option for option in found if found.count(option) > 1]
        if doubled:
            raise refuse(f"{self.kind.plain(doubled[0])} is listed twice", "list each once")
        return Drawn(tuple(found))

    def _random(self, text: str) -> Drawn:
        match = _RANDOM.fullmatch(text)
        hint = f"write it like random or {self.kind.example}"
        if match is None:
            raise refuse(f"{shown(text)} is not understood", hint)
        if self.kind.words:
            if match["low"] is not None:
                raise refuse(f"{shown(text)}: words have no range", "write random, or list them")
            return Drawn(self.kind.words)
        if match["low"] is None:
            return Drawn((), self.kind.low, self.kind.high)
        try:
            low, high = (int(self.kind.parse(match[end])) for end in ("low", "high"))
        except RefusedError as error:
            raise RefusedError(
                *(Problem("", f"{shown(text)}: {p.found}", p.hint) for p in error.problems)
            ) from None
        if low > high:
            raise refuse(f"{shown(text)} is not an ascending range", hint)
        return Drawn((), low, high)

    def plain(self, drawn: Drawn | None) -> Any:
        """The canonical text: ``parse`` of it gives ``drawn`` again."""
        if drawn is None:
            return None
        if drawn.ranged:
            return f"random:{self.kind.plain(drawn.low)}..{self.kind.plain(drawn.high)}"
        listed = [self.kind.plain(option) for option in drawn.options]
        return listed[0] if len(listed) == 1 else listed


@frozen
class CoreChoice:
    """Core counts M: each of ``fixed`` gets all its sets; with ``drawn`` a group draws its own.

    Attributes:
        fixed: None: every count there is here (``resolve``).
        low, high: Range of the drawn group; None: chosen on the machine.
    """

    fixed: tuple[int, ...] | None = ()
    drawn: bool = False
    low: int | None = None
    high: int | None = None


@frozen
class CoresRule:
    """The rule of M: ``4,8``, ``all``, ``random``, ``random:2..8`` or both kinds in one list."""

    def parse(self, value: Any) -> CoreChoice:
        if isinstance(value, CoreChoice):
            return value
        if value is None or value == "all":
            return CoreChoice(fixed=None)
        found = CoreChoice()
        counts: list[Any] = []
        # TOML has lists of both kinds; a text has commas.
        parts = value.split(",") if isinstance(value, str) else value
        for part in parts if isinstance(parts, list | tuple) else [parts]:
            if isinstance(part, str) and part.strip().startswith("random"):
                if found.drawn:
                    raise refuse("random is listed twice", "one group draws its core counts")
                found = self._random(part.strip(), found)
            else:
                counts.append(part)
        if counts or not found.drawn:
            text = ",".join(map(str, counts)) if isinstance(value, str) else counts
            found = evolve(found, fixed=rules.CORES.parse(text))
        return found

    @staticmethod
    def _random(text: str, found: CoreChoice) -> CoreChoice:
        if text == "random":
            return evolve(found, drawn=True)
        drawn = _COUNTS.parse(text)
        assert drawn is not None
        return evolve(found, drawn=True, low=drawn.low, high=drawn.high)

    @staticmethod
    def plain(choice: CoreChoice) -> Any:
        """The canonical form."""
        if choice.fixed is None:
            return None
        drawn = [] if not choice.drawn else ["random"]
        if drawn and choice.high is not None:
            drawn = [f"random:{choice.low}..{choice.high}"]
        return [*choice.fixed, *drawn]


_COUNTS = SpreadRule(drawn_by(rules.Whole(1, 1024), 1, 1024))
