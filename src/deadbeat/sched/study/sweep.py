"""What a person writes, on the command line or in a file, to ask for a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model.rules import Ratio, ReadBy, Whole, ascending, each, items, refuse
from deadbeat.base.model.specification import keyed
from deadbeat.base.model.words import Json, shown

#: Task systems of one study; and of one with figures of single sets, which memory must hold.
SETS_MAX, HELD_MAX = 1_000_000_000, 2_000_000
#: Fields of a source, or of a scheduler, as words or numbers.
Written = Mapping[str, Json]


# ---------- rules ----------


def _word_list(value: Any) -> tuple[str, ...]:
    """A TOML list of words, or text with commas."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
        raise refuse(f"{shown(value)} is not a list of names", "write it like g-edf,p-edf")
    return tuple(dict.fromkeys(value))


@frozen
class Axis:
    """Numbers from ``low`` to ``high``, as `items` reads them. Canonical: ascending multiples of
    1 / ``parts``. ``step``: for a range that names none."""

    step: float
    low: float
    high: float
    parts: int
    example: str

    def parse(self, value: Any) -> tuple[int, ...]:
        listed = items(value, "a number or range", self.example, self.step)
        return tuple(ascending(each(listed, self._count)))

    def _count(self, value: Any) -> int:
        number = Ratio(repr(self.low), repr(self.high)).parse(value)
        if (number * self.parts).denominator != 1:
            kind = "a whole number" if self.parts == 1 else f"a multiple of {1 / self.parts:g}"
            raise refuse(f"{float(number):g} is not {kind}", f"write it like {self.example}")
        return int(number * self.parts)


def _fields(value: Any) -> Written:
    if not isinstance(value, Mapping):
        raise refuse(f"{shown(value)} is not a table", "write a section like [generator]")
    return dict(value)


@frozen
class Variants:
    """Label -> its fields: NAME or NAME:KEY=VALUE:KEY=VALUE, where ``word`` is the name's field."""

    word: str

    def parse(self, value: Any) -> Mapping[str, Written]:
        made = {}
        for label in _word_list(value):
            name, *pairs = label.split(":")
            made[label] = own = {self.word: name}
            for pair in pairs:
                option, equals, text = pair.partition("=")
                if not equals:
                    hint = f"write it like {name}:low=0.1"
                    raise refuse(f"{shown(pair)} is not KEY=VALUE", hint)
                own[option.replace("-", "_")] = text
        return made


# ---------- a sweep ----------


@frozen(kw_only=True)
class Sweep:
    """A study as it is asked for; None: not said, so that of a preset or what help says."""

    name: str | None = fields.name("Name of the folder of results.  [the preset's, or study]", None)
    seed: int = fields.SEED
    sets: int | None = keyed(
        Whole(1, SETS_MAX),
        "--sets N",
        "Task sets of each cell.  [the preset's, or 100]",
        default=None,
    )
    ties: tuple[str, ...] = keyed(
        ReadBy(_word_list),
        "--ties LIST",
        "Rules that order equal priorities, each for every policy: index,utilisation-desc.",
        default=("index",),
    )
    budget: int | None = keyed(
        Whole(1, 10**15),
        "--max-steps N",
        "Steps of simulation after which a verdict is undecided.  [5000000]",
        default=None,
    )
    processors: tuple[int, ...] = keyed(
        Axis(1.0, 1, 1024, 1, "2,4,8 or 8..20"),
        "--processors LIST",
        "Numbers of processors (m): 4 or 2,4,8.",
    )
    tasks: tuple[int, ...] = keyed(
        Axis(1.0, 1, 10_000, 1, "8..20, 8..20:4 or 2,4,8"),
        "--tasks LIST",
        "Numbers of tasks (n): 8..20 or 8..40:4.",
    )
    utilisation: tuple[int, ...] = keyed(
        Axis(0.05, 0.001, 1, 1000, "0.5..0.95:0.05 or 0.6,0.8"),
        "--utilisation LIST",
        "Utilisations of each processor: 0.5..0.95:0.05.",
    )
    distribution: Mapping[str, Written] | None = keyed(
        Variants("utilisations"),
        "--utilisations LIST",
        "Distributions of utilisations: randfixedsum,uniform:low=0.1:high=0.5.  [randfixedsum]",
        default=None,
    )
    periods: tuple[str, ...] = keyed(
        ReadBy(_word_list),
        "--periods LIST",
        "Distributions of periods: lcm-limited,log-uniform.  [lcm-limited]",
        default=(),
    )
    lcm_limit: tuple[int, ...] = keyed(
        Axis(1.0, 1, 1e12, 1, "1000,100000"),
        "--lcm-limit LIST",
        "Bounds of the hyper-period: 1000,100000.  [100000]",
        default=(),
    )
    policies: Mapping[str, Written] | None = keyed(
        Variants("policy"),
        "--policy LIST",
        "Scheduling policies to simulate: g-edf,c-edf:cluster-size=4.",
        default=None,
    )
    tests: tuple[str, ...] = keyed(
        ReadBy(_word_list),
        "--test LIST",
        "Schedulability tests to run: gfb,p-fp:admission=density.",
        default=(),
    )
    metrics: bool = fields.flag("--metrics", "Count migrations and measure slack, too.")
    run_on: bool = fields.flag("--run-on", "Simulate past misses: response, tardiness, late jobs.")
    generator: Written | None = keyed(
        ReadBy(_fields), "", "Values for every distribution.", default=None
    )
    scheduler: Written | None = keyed(ReadBy(_fields), "", "Values for every policy.", default=None)
