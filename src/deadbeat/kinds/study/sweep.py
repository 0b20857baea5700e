"""What a person wrote, on the command line or in a file, as a study."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs
from attrs import frozen
from cattrs import Converter

from deadbeat.kinds.study.preset import Preset, presets
from deadbeat.kinds.study.spec import SETS_MAX, Source, StudySpec, SweepCell
from deadbeat.model.errors import UsageError
from deadbeat.model.rules import Flag, Name, Problem, Whole, refuse
from deadbeat.model.specification import checked, keyed, renamed, usage
from deadbeat.model.words import nearest, shown
from deadbeat.sched import Costs, Scheduler

_LIMIT = 10_000
#: Keys that may be given beside a preset; everything else makes a sweep of its own.
PRESET_KEYS = ("preset", "name", "seed", "sets", "ties", "budget")
_RANGE = re.compile(r"\s*([0-9.]{1,12})\s*\.\.\s*([0-9.]{1,12})\s*(?::\s*([0-9.]{1,12})\s*)?")
_COSTS = Converter(forbid_extra_keys=True)
#: The words of a source, or of a scheduler, as values of its fields.
Parsed = dict[str, Any]


# ---------- rules ----------


@frozen
class WordList:
    """A TOML list of words, or text with commas."""

    def parse(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
            raise refuse(f"{shown(value)} is not a list of names", "write it like g-edf,p-edf")
        return tuple(dict.fromkeys(value))


@frozen
class Axis:
    """Numbers from ``low`` to ``high``: ``8..20``, ``8..20:4``, ``1,2,4``, or a list; ranges hold
    their end when they hit it. Canonical: ascending multiples of 1 / ``parts``.

    Attributes:
        step: Of a range that names none.
    """

    step: float
    low: float
    high: float
    parts: int
    example: str

    def parse(self, value: Any) -> tuple[int, ...]:
        pieces = value if isinstance(value, (list, tuple)) else [value]
        found = [
            number
            for piece in pieces
            for part in (piece.split(",") if isinstance(piece, str) else [piece])
            for number in self._part(part)
        ]
        if not 0 < len(found) <= _LIMIT:
            raise refuse(f"{len(found)} values found", f"1 to {_LIMIT}, like {self.example}")
        counts = [round(number * self.parts) for number in found]
        for number, count in zip(found, counts, strict=True):
            if abs(number * self.parts - count) > 1e-6:
                kind = "a whole number" if self.parts == 1 else f"a multiple of {1 / self.parts:g}"
                raise refuse(f"{number:g} is not {kind}", f"write it like {self.example}")
            if not self.low <= number <= self.high:
                raise refuse(f"{number:g} is out of range", f"from {self.low:g} to {self.high:g}")
        return tuple(sorted(set(counts)))

    def _part(self, part: Any) -> list[float]:
        match = _RANGE.fullmatch(part) if isinstance(part, str) else None
        try:
            low, high, by = (
                (float(match[1]), float(match[2]), float(match[3] or self.step))
                if match
                else (float(part), float(part), 1.0)
            )
            if not (math.isfinite(low) and low <= high and by > 0):
                raise ValueError
        except (ValueError, TypeError, OverflowError):
            hint = f"write it like {self.example}"
            raise refuse(f"{shown(part)} is not a number or range", hint) from None
        count = int((high - low) / by + 1e-9) + 1
        if count > _LIMIT:
            raise refuse(f"{shown(part)} holds {count} values", f"{_LIMIT} at most")
        return [low + by * k for k in range(count)]


@frozen
class Fields:
    """Fields of an attrs class, as words or numbers."""

    kind: type

    def parse(self, value: Any) -> Parsed:
        if not isinstance(value, Mapping):
            raise refuse(f"{shown(value)} is not a table", "write a section like [generator]")
        declared, found = attrs.fields_dict(self.kind), {}
        for name, each in value.items():
            if name not in declared:
                raise refuse(f"unknown key {shown(name)}", nearest(str(name), list(declared)))
            try:
                found[name] = _as(each, declared[name].default)
            except (ValueError, TypeError):
                raise refuse(
                    f"{name} = {shown(each)} is not a value of it", "see the reference"
                ) from None
        return found


def _as(value: Any, default: Any) -> Any:
    """``value`` in the type of a field's default."""
    if default is None:
        numerator, slash, denominator = str(value).partition("/")
        return (int(numerator), int(denominator)) if slash else float(value)
    if isinstance(default, int | float):
        number = float(value)
        if isinstance(default, int) and not number.is_integer():
            raise ValueError
        return type(default)(number)
    if isinstance(default, str):
        if not isinstance(value, str):
            raise TypeError
        return value
    return _COSTS.structure(value, Costs)


@frozen
class Variants:
    """Label -> its fields: NAME or NAME:KEY=VALUE:KEY=VALUE, where ``word`` is the name's field."""

    kind: type
    word: str

    def parse(self, value: Any) -> dict[str, Parsed]:
        made = {}
        for label in WordList().parse(value):
            name, *pairs = label.split(":")
            own = {self.word: name}
            for pair in pairs:
                option, equals, text = pair.partition("=")
                if not equals:
                    hint = f"write it like {name}:low=0.1"
                    raise refuse(f"{shown(pair)} is not KEY=VALUE", hint)
                own[option.replace("-", "_")] = text
            made[label] = Fields(self.kind).parse(own)
        return made


# ---------- a sweep ----------


@frozen(kw_only=True)
class Sweep:
    """A study as it is asked for."""

    name: str = keyed(
        Name(), "--name NAME", "Name of the study's folder.  [the preset's, or study]",
        default="study",
    )  # fmt: skip
    seed: int = keyed(
        Whole(0, 2**63 - 1), "--seed N", "Everything random derives from it.  [1]", default=1
    )
    sets: int = keyed(
        Whole(1, SETS_MAX), "--sets N", "Task sets per cell.  [the preset's, or 100]", default=100
    )
    ties: tuple[str, ...] = keyed(
        WordList(), "--ties LIST", "Tie rules, each for every policy: index,utilisation-desc.",
        default=("index",),
    )  # fmt: skip
    budget: int = keyed(
        Whole(1, 10**15), "--budget N",
        "Scheduling points after which a verdict is undecided.  [5000000]", default=5_000_000,
    )  # fmt: skip
    processors: tuple[int, ...] = keyed(
        Axis(1.0, 1, 1024, 1, "2,4,8 or 8..20"), "--processors LIST", "Values of m: 4 or 2,4,8."
    )
    tasks: tuple[int, ...] = keyed(
        Axis(1.0, 1, 10_000, 1, "8..20, 8..20:4 or 2,4,8"), "--tasks LIST",
        "Values of n: 8..20 or 8..40:4.",
    )  # fmt: skip
    utilisation: tuple[int, ...] = keyed(
        Axis(0.05, 0.001, 1, 1000, "0.5..0.95:0.05 or 0.6,0.8"), "--utilisation LIST",
        "Values of U by processor: 0.5..0.95:0.05.",
    )  # fmt: skip
    distribution: Mapping[str, Parsed] = keyed(
        Variants(Source, "utilisations"), "--distribution LIST",
        "Of task utilisations: randfixedsum,uniform:low=0.1:high=0.5.  [randfixedsum]",
        default=attrs.Factory(lambda: {"randfixedsum": {}}),
    )  # fmt: skip
    policies: Mapping[str, Parsed] = keyed(
        Variants(Scheduler, "policy"), "--policy LIST",
        "Simulate under: g-edf,c-edf:cluster-size=4.", default=attrs.Factory(dict),
    )  # fmt: skip
    tests: tuple[str, ...] = keyed(
        WordList(), "--test LIST", "Schedulability tests: gfb,rta-edf.", default=()
    )
    metrics: bool = keyed(
        Flag(), "--metrics", "Count migrations and slack in a sweep.", default=False
    )
    generator: Parsed = keyed(
        Fields(Source), "", "Of every distribution.", default=attrs.Factory(dict)
    )
    scheduler: Parsed = keyed(
        Fields(Scheduler), "", "Of every policy.", default=attrs.Factory(dict)
    )

    def study(self) -> StudySpec:
        """The study, whole."""
        sources = {
            label: Source(**{**self.generator, **own}) for label, own in self.distribution.items()
        }
        return StudySpec(
            name=self.name,
            title="Sweep",
            seed=self.seed,
            sets=self.sets,
            sources=sources,
            cells=tuple(
                SweepCell(m, n, load, source)
                for source in sources
                for m in self.processors
                for n in self.tasks
                for load in self.utilisation
            ),
            contenders=self._contenders(),
            tests=self.tests,
            metrics=self.metrics,
            budget=self.budget,
        )

    def _contenders(self) -> dict[str, Scheduler]:
        """Every scheduler under every tie rule, unless it names its own."""
        made = {}
        for label, own in self.policies.items():
            scheduler = partial(Scheduler, **{**self.scheduler, **own})
            if "ties" in own:
                made[label] = scheduler()
                continue
            for rule in self.ties:
                name = f"{label} ({rule})" if len(self.ties) > 1 else label
                made[name] = attrs.evolve(scheduler(), ties=rule)
        return made


def specify(*layers: Mapping[str, Any], names: Mapping[str, str] | None = None) -> StudySpec:
    """The study that the layers describe, later ones winning key by key.

    Args:
        names: What a key is called where it was written (``tasks`` -> ``--tasks``).

    Raises:
        UsageError: Naming every problem.
    """
    asked: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            old = asked.get(key)
            both = isinstance(value, Mapping) and isinstance(old, Mapping)
            asked[key] = {**old, **value} if both else value  # type: ignore[dict-item]
    name = asked.pop("preset", None)
    if name is None:
        return checked(Sweep, asked, names).study().checked()
    return _preset(find_preset(str(name)), asked, names or {}).checked()


def _preset(preset: Preset, asked: Mapping[str, Any], names: Mapping[str, str]) -> StudySpec:
    hint = "leave out the one or the other"
    strange = [
        renamed(Problem(key, f"cannot change the preset {preset.name}", hint), names)
        for key in asked
        if key not in PRESET_KEYS
    ]
    if strange:
        raise usage(strange)
    grid = {"processors": 1, "tasks": 1, "utilisation": 1}
    sweep, spec = checked(Sweep, {**grid, **asked}, names), preset.build()
    changes = {key: getattr(sweep, key) for key in asked if key != "ties"}
    if "ties" in asked:
        changes["contenders"] = _other_ties(spec, sweep.ties)
    return attrs.evolve(spec, **changes)


def find_preset(name: str) -> Preset:
    """Raises UsageError with the nearest name."""
    if name not in presets():
        raise UsageError(f'there is no preset "{name}"', nearest(name, list(presets())))
    return presets()[name]


def _other_ties(spec: StudySpec, rules: tuple[str, ...]) -> dict[str, Scheduler]:
    """The preset's contenders, each under every rule instead of its own."""
    plain = {attrs.evolve(it, ties=""): re.sub(r" \([^)]*\)$", "", label)
             for label, it in reversed(list(spec.contenders.items()))}  # fmt: skip
    return {
        base if len(rules) == 1 else f"{base} ({rule})": attrs.evolve(it, ties=rule)
        for it, base in reversed(plain.items())
        for rule in rules
    }
