"""deadbeat: where a multi-core Linux system starts missing its deadlines, and why.

The names below are the public interface; each is imported when first used, so that
``import deadbeat`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deadbeat.kinds.registry import open_folder as open
    from deadbeat.kinds.study.preset import Preset
    from deadbeat.kinds.study.results import Mask, StudyResults
    from deadbeat.kinds.study.spec import Source, StudySpec, SweepCell
    from deadbeat.model.comparison import CellComparison, Comparison
    from deadbeat.model.conclusion import (
        UNDECIDED,
        Conclusion,
        Evidence,
        Judgement,
        all_hold,
        judge,
    )
    from deadbeat.model.errors import UsageError
    from deadbeat.model.results import Summary
    from deadbeat.sched import Scheduler
    from deadbeat.stats.proportions import (
        Count,
        Mean,
        compare_means,
        compare_paired,
        compare_strata,
    )
    from deadbeat.stats.proportions import compare as compare_shares

    __version__: str

__all__ = [
    "UNDECIDED",
    "CellComparison",
    "Comparison",
    "Conclusion",
    "Count",
    "Evidence",
    "Judgement",
    "Mask",
    "Mean",
    "Preset",
    "Scheduler",
    "Source",
    "StudyResults",
    "StudySpec",
    "Summary",
    "SweepCell",
    "UsageError",
    "__version__",
    "all_hold",
    "compare_means",
    "compare_paired",
    "compare_shares",
    "compare_strata",
    "judge",
    "open",
]  # fmt: skip

#: Module -> the names that it has; with a colon what a name is called there.
_PUBLIC = {
    "kinds.registry": ("open:open_folder",),
    "kinds.study.preset": ("Preset",),
    "kinds.study.results": ("Mask", "StudyResults"),
    "kinds.study.spec": ("Source", "StudySpec", "SweepCell"),
    "stats.proportions": (
        *("Count", "Mean", "compare_means", "compare_paired", "compare_shares:compare"),
        "compare_strata",
    ),
    "model.comparison": ("CellComparison", "Comparison"),
    "model.conclusion": ("UNDECIDED", "Conclusion", "Evidence", "Judgement", "all_hold", "judge"),
    "model.errors": ("UsageError",),
    "model.results": ("Summary",),
    "sched": ("Scheduler",),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("deadbeat")
    for module, held in _PUBLIC.items():
        for public, _, there in (each.partition(":") for each in held):
            if public == name:
                return getattr(import_module(f"deadbeat.{module}"), there or name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
