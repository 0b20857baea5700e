"""What a study's page, its table in the terminal and its summary say in words."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from attrs import frozen

from deadbeat.kinds.study.preset import presets
from deadbeat.kinds.study.results import Results
from deadbeat.kinds.study.spec import StudySpec
from deadbeat.model.conclusion import Judgement
from deadbeat.sched import policies
from deadbeat.sched import tests as test_facts

LABEL = "SIMULATED"

ANSWER_COLUMNS = (
    "scheduler or test",
    "sets",
    "schedulable",
    "share [95 %]",
    "weighted",
    "undecided",
    "not placed",
)


@frozen(kw_only=True)
class StudyWords:
    """Texts; nothing in them is markup."""

    name: str
    label: str
    label_means: str
    about: str
    facts: tuple[tuple[str, str], ...]
    judgements: tuple[Judgement, ...]
    answers: tuple[tuple[str, ...], ...]
    open_cases: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]


def study_words(results: Results, judgements: tuple[Judgement, ...], *, name: str) -> StudyWords:
    spec = results.spec
    preset = presets().get(spec.preset)
    return StudyWords(
        name=name,
        label=LABEL,
        label_means="verdicts are those of simulated schedules and of tests on random task sets;"
        " nothing was run. They hold for the arrival model and the tie rule named.",
        about=preset.about if preset and spec.sets == preset.build().sets else _sweep(spec),
        facts=_facts(results),
        judgements=judgements,
        answers=answer_rows(results),
        open_cases=open_cases(results),
        parameters=_parameters(spec),
    )


def _sweep(spec: StudySpec) -> str:
    axes = (
        ("m", sorted({cell.processors for cell in spec.cells})),
        ("n", sorted({cell.tasks for cell in spec.cells})),
        ("U/m", sorted({cell.load / 1000 for cell in spec.cells})),
    )
    words = [
        f"{name} {'=' if len(values) == 1 else 'from'} {values[0]:g}"
        + (f" to {values[-1]:g} ({len(values)} values)" if len(values) > 1 else "")
        for name, values in axes
    ]
    return (
        f"{', '.join(words)}; {', '.join(spec.sources)}; {spec.sets} sets in each of"
        f" {len(spec.cells)} cells."
    )


def _facts(results: Results) -> tuple[tuple[str, str], ...]:
    spec = results.spec
    return (
        ("Title", spec.title),
        ("Task sets", f"{int(results.generated.sum())} of {spec.total} asked for"),
        ("Cells", f"{len(spec.cells)}, {spec.sets} sets each"),
        ("Seed", str(spec.seed)),
        ("Ties", ", ".join(dict.fromkeys(it.ties for it in spec.contenders.values())) or "–"),
        ("Arrivals", _arrivals(spec)),
    )


def _arrivals(spec: StudySpec) -> str:
    if any(source.offsets != "zero" for source in spec.sources.values()):
        return "periodic with offsets"
    return "synchronous periodic"


def answer_rows(results: Results) -> tuple[tuple[str, ...], ...]:
    """A row per scheduler and test over all cells; ANSWER_COLUMNS."""
    made = []
    for label in results.labels():
        count = results.count(label, results.everything)
        low, high = count.interval
        share = f"{100 * count.share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        unplaced = "–"
        if (
            not results.is_test(label)
            and policies()[results.spec.contenders[label].policy].partitions
        ):
            unplaced = str(int(np.sum(results.generated & ~results.placed(label))))
        made.append(
            (
                f"test {label}" if results.is_test(label) else label,
                str(count.total),
                str(count.yes),
                share if count.total else "–",
                _weighted(results, label),
                str(int(results.undecided(label).sum())),
                unplaced,
            )
        )
    return tuple(made)


def _weighted(results: Results, label: str) -> str:
    inside = results.decided(label)
    whole = float(results.rows["utilisation"][inside].sum())
    if not whole:
        return "–"
    return f"{float(results.rows['utilisation'][inside & results.yes(label)].sum()) / whole:.3f}"


def open_cases(results: Results) -> tuple[str, ...]:
    """What has no answer, and what became of it; one line each, none where nothing is open."""
    found = []
    missing = ~results.generated
    if missing.any():
        cells = np.unique(results.rows["cell"][missing])
        worst = results.spec.cells[int(np.bincount(results.rows["cell"][missing]).argmax())]
        found.append(
            f"{int(missing.sum())} of {results.spec.total} task sets do not exist or were not"
            f" found within the attempts allowed, cells concerned: {len(cells)} (most with"
            f" m = {worst.processors}, n = {worst.tasks}, U = {worst.load / 1000:g} m,"
            f" {worst.source}); they count nowhere"
        )
    for label in results.labels():
        open_ones = int(results.undecided(label).sum())
        if open_ones:
            why = (
                "are outside what the test is for, or undecided"
                if results.is_test(label)
                else f"were not decided within {results.spec.budget} scheduling points"
            )
            found.append(f"{label}: {open_ones} sets {why}; they are left out of its shares")
    return tuple(found)


def _parameters(spec: StudySpec) -> tuple[tuple[str, str], ...]:
    pairs = [
        ("preset", spec.preset or "none"),
        ("seed", str(spec.seed)),
        ("sets per cell", str(spec.sets)),
        ("budget per verdict", f"{spec.budget} scheduling points"),
        ("processors m", _values(cell.processors for cell in spec.cells)),
        ("tasks n", _values(cell.tasks for cell in spec.cells)),
        ("U by processor", _values(cell.load / 1000 for cell in spec.cells)),
    ]
    for label, source in spec.sources.items():
        pairs.append((f"source {label}", _fields(attrs.asdict(source))))
    for label, scheduler in spec.contenders.items():
        pairs.append((f"scheduler {label}", _fields(attrs.asdict(scheduler))))
    for name in spec.tests:
        facts = test_facts()[name]
        pairs.append((f"test {name}", f"{facts.title}; {facts.reference}"))
    return tuple(pairs)


def _values(values: Any) -> str:
    return ", ".join(f"{value:g}" for value in sorted(set(values)))


def _fields(plain: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


def summary_dict(results: Results, judgements: tuple[Judgement, ...]) -> dict[str, Any]:
    """Counts and conclusions as plain values."""
    return {
        "sets": results.spec.total,
        "generated": int(results.generated.sum()),
        "answers": [_answer(results, label) for label in results.labels()],
        "conclusions": [
            {
                "id": item.conclusion.id,
                "says": item.conclusion.says,
                "confirmed_means": item.conclusion.confirmed,
                "verdict": item.verdict,
                "on": list(item.on),
                "evidence": [
                    {"variant": one.variant, "holds": one.holds, "figures": one.figures}
                    for one in item.evidence
                ],
            }
            for item in judgements
        ],
        "open": list(open_cases(results)),
    }


def _answer(results: Results, label: str) -> dict[str, Any]:
    count = results.count(label, results.everything)
    low, high = count.interval
    return {
        "label": label,
        "kind": "test" if results.is_test(label) else "simulation",
        "decided": count.total,
        "schedulable": count.yes,
        "share": None if math.isnan(count.share) else count.share,
        "low": low,
        "high": high,
        "undecided": int(results.undecided(label).sum()),
    }
