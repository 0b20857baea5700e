"""Named studies, with the conclusions that they check; and studies as a person asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, product
from typing import Any

import attrs
from attrs import frozen
from cattrs import Converter

from deadbeat.base.model.conclusion import Conclusion
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.published import nearest_preset, published
from deadbeat.base.model.rules import Problem, refuse
from deadbeat.base.model.specification import checked, parsed, renamed, usage
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.base.report.charts import Chart
from deadbeat.sched import Costs, Scheduler
from deadbeat.sched.study.results import StudyResults
from deadbeat.sched.study.spec import BUDGET, TEST_WORDS, Source, StudySpec, SweepCell
from deadbeat.sched.study.sweep import Sweep, Written

#: Keys that may be given beside a preset; everything else makes a sweep of its own.
PRESET_KEYS = ("preset", "name", "seed", "sets", "ties", "budget", "scheduler")
_COSTS = Converter(forbid_extra_keys=True)
ChartBuilder = Callable[[StudyResults], Iterator[Chart]]


@frozen(kw_only=True)
class Preset:
    """A study with a name. ``about``: what is varied, how many task sets, and what was chosen where
    the source is silent. ``conclusions``: what is checked."""

    name: str
    title: str
    about: str
    build: Callable[[], StudySpec]
    charts: tuple[ChartBuilder, ...]
    conclusions: tuple[Conclusion[StudyResults], ...] = ()


def presets() -> Mapping[str, Preset]:
    return published("studies", Preset)


# ---------- from what a person wrote ----------


def specify(*layers: Mapping[str, Json], names: Mapping[str, str] | None = None) -> StudySpec:
    """The study that the layers describe, later ones winning key by key. ``names``: what a key is
    called where it was written (``tasks`` -> ``--tasks``). Raises UsageError: naming every problem.
    """
    asked: dict[str, Any] = {}
    for key, value in chain.from_iterable(layer.items() for layer in layers):
        old = asked.get(key)
        both = isinstance(value, Mapping) and isinstance(old, Mapping)
        asked[key] = {**old, **value} if both else value  # type: ignore[dict-item]
    name, called = asked.pop("preset", None), names or {}
    if name is not None:
        preset = find_preset(str(name))
        text, hint = f"cannot change the preset {preset.name}", "leave out the one or the other"
        if strange := [Problem(key, text, hint) for key in asked if key not in PRESET_KEYS]:
            raise usage([renamed(problem, called) for problem in strange])
        grid = {"processors": 1, "tasks": 1, "utilisation": 1}
        sweep, spec = checked(Sweep, {**grid, **asked}, called), preset.build()
        changes = {key: getattr(sweep, key) for key in asked if key not in ("ties", "scheduler")}
        if own := _fields("scheduler", sweep.scheduler or {}, Scheduler):
            known = spec.contenders.items()
            spec = attrs.evolve(spec, contenders={x: attrs.evolve(it, **own) for x, it in known})
            changes["contenders"] = spec.contenders
        if "ties" in asked:
            # The preset's contenders, each under every rule instead of its own.
            plain = {attrs.evolve(it, ties=""): re.sub(r" \([^)]*\)$", "", label)
                     for label, it in reversed(list(spec.contenders.items()))}  # fmt: skip
            changes["contenders"] = {
                base if len(sweep.ties) == 1 else f"{base} ({rule})": attrs.evolve(it, ties=rule)
                for it, base in reversed(plain.items())
                for rule in sweep.ties
            }
        return attrs.evolve(spec, **changes).checked()
    sweep = checked(Sweep, asked, called)
    return parsed(lambda swept: _swept(swept).checked(), sweep, called)


def find_preset(name: str) -> Preset:
    """Raises UsageError with the nearest name."""
    if name not in presets():
        raise UsageError(f"there is no preset {shown(name)}", nearest_preset(name, presets()))
    return presets()[name]


def _swept(sweep: Sweep) -> StudySpec:
    # Every distribution with every law of periods and bound of the hyper-period.
    drawn, sources = _fields("generator", sweep.generator or {}, Source), {}
    how = {"randfixedsum": {}} if sweep.distribution is None else sweep.distribution
    laws, limits = sweep.periods or (None,), sweep.lcm_limit or (None,)
    for (label, own), law, limit in product(how.items(), laws, limits):
        source, named = Source(**{**drawn, **_fields("distribution", own, Source)}), label
        if law is not None:
            source = attrs.evolve(source, periods=law)
            named += f":periods={law}" * (len(laws) > 1)
        if limit is not None and source.bound is not None:
            source = attrs.evolve(source, lcm_limit=limit)
            named += f":lcm-limit={limit}" * (len(limits) > 1)
        sources[named] = source
    # what of [scheduler] tests look at, too
    looked_at = {key: word for key, word in (sweep.scheduler or {}).items() if key in TEST_WORDS}
    common, made = _fields("scheduler", sweep.scheduler or {}, Scheduler), {}
    for label, own in (sweep.policies or {}).items():
        scheduler = Scheduler(**{**common, **_fields("policies", own, Scheduler)})
        if "ties" in own:
            made[label] = scheduler
            continue
        for rule in sweep.ties:
            name = label + f" ({rule})" * (len(sweep.ties) > 1)
            made[name] = attrs.evolve(scheduler, ties=rule)
    return StudySpec(
        name=sweep.name or "study",
        title="Sweep",
        seed=sweep.seed,
        sets=sweep.sets or 100,
        sources=sources,
        cells=tuple(
            SweepCell(*place, source)
            for source in sources
            for place in product(sweep.processors, sweep.tasks, sweep.utilisation)
        ),
        contenders=made,
        tests=sweep.tests,
        metrics=sweep.metrics,
        run_on=sweep.run_on,
        budget=sweep.budget or BUDGET,
        **_fields("scheduler", looked_at, StudySpec),
    )


def _fields(key: str, written: Written, kind: type) -> dict[str, Any]:
    """Fields of ``kind`` in the types of their defaults; raises RefusedError."""
    declared, found = attrs.fields_dict(kind), {}
    for name, value in written.items():
        if name not in declared:
            hint = nearest(str(name), list(declared))
            raise refuse(f"unknown key {shown(name)}", hint, key)
        try:
            found[name] = _as(value, declared[name].default)
        except (ValueError, TypeError):
            text = f"{name} = {shown(value)} is not a value of it"
            raise refuse(text, "see the reference", key) from None
    return found


def _as(value: Any, default: Any) -> Any:
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
