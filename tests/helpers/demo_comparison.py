"""A comparison of campaigns made of formulas: others are worse where contention is high, and better
in one corner."""

from collections.abc import Sequence

from deadbeat.base.model.comparison import ComparisonResult
from deadbeat.base.model.observations import Cell
from deadbeat.tasksets.contention.observe import COMPARABLE
from deadbeat.tasksets.model.figures import SetFigures
from deadbeat.tasksets.model.results import Summary
from helpers.aa import RunFigure, Side
from helpers.demo_stress import demo_stress
from helpers.demo_summary import demo_summary
from helpers.judges import compare_sides, options_of


def demo_comparison(
    *,
    names: Sequence[str] = ("baseline", "candidate"),
    mode: str = "profile",
    cores: tuple[int, ...] = (1, 2, 4),
    factors: tuple[float, ...] = (2.0,),
    labels: tuple[str, ...] = ("simulated", "policy other"),
) -> tuple[ComparisonResult, tuple[Summary, ...]]:
    """The result, and the summaries in the order of ``names``."""
    summaries = tuple(
        demo_summary(name=name, cores=cores, contention=1 + 0.3 * place, holes=False, labels=labels)
        if mode == "profile"
        else demo_stress(name=name, factors=factors, sets_per_group=40, labels=labels)
        for place, name in enumerate(names)
    )
    sides = [
        _side(name, summary, 1 + 0.3 * place * (mode == "stress"), corner=0.94 if place else 1.0)
        for place, (name, summary) in enumerate(zip(names, summaries, strict=True))
    ]
    repeats = [_side(f"aa-{n}", summaries[0], 1 + 0.002 * n) for n in (1, 2, 3)]
    comparisons = tuple(
        compare_sides(sides[0], other, repeats, options=options_of("contention"))
        for other in sides[1:]
    )
    result = ComparisonResult(
        campaigns=tuple(
            {
                "name": name,
                "path": f"runs/{name}",
                "kernel": f"6.18.{44 + place}",
                "preemption": "full" if place else "none",
                "platform": "bench-07",
                "labels": labels,
                "runs": len(summary.sets),
                "fingerprint": f"{place:064d}",
            }
            for place, (name, summary) in enumerate(zip(names, summaries, strict=True))
        ),
        comparisons=comparisons,
        differences=("kernel: 6.18.44 | 6.18.45", "preemption: none | full"),
        findings=summaries[0].findings[:1],
        labels=labels,
        verdict="worse",
        parameters={"minimum_effect": 0.02, "resamples": 9999, "seed": 1},
        look=COMPARABLE.look,
    )
    return result, summaries


def _side(name: str, summary: Summary, scale: float, *, corner: float = 1.0) -> Side:
    """What the sets of a campaign showed, their contention ``scale`` times as strong."""

    def run(own: SetFigures, number: int) -> RunFigure:
        rho, alpha = (-1.0, -1.0) if own.group else (own.sync_share, own.contended_ratio)
        factor = corner if (rho, alpha) == (0.25, 0.25) else 1.0
        values = {
            metric: factor * (1 + ((own.column(column) or 1.0) - 1) * scale)
            for metric, column in (
                ("slowdown", "slowdown_mean"),
                ("delay_ratio", "delay_ratio_mean"),
            )
        }
        values["deadline_miss_ratio"] = min(1.0, (own.deadline_miss_ratio or 0.0) * scale)
        cell = Cell(
            own.group, 0 if own.group else own.cores, rho, alpha, own.deadline_factor or 10.0
        )
        return RunFigure(cell=cell, block=f"{number % 4}", values=values)

    return Side(name=name, runs={f"{n:05}": run(own, n) for n, own in enumerate(summary.sets)})
