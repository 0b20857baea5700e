"""What hardening costs: two latency matrices between whose platforms hardening differs.

The difference is `compare_latency`'s, with its interval; what it is attributed to is what was
recorded to differ. Where more than one option differs, or anything else of the platforms, the cost
is of all of it together, and that is said.
"""

from __future__ import annotations

from attrs import frozen

from deadbeat.compare.decide import Options
from deadbeat.compare.latency import Matrix, compare_latency
from deadbeat.model.comparison import Comparison, ComparisonResult
from deadbeat.model.errors import UsageError
from deadbeat.settings.hardening import Differences, differences
from deadbeat.settings.reading_values import few


@frozen(kw_only=True)
class HardeningCost:
    """The cost of what differs.

    Attributes:
        differences: Options that differ, and those of which it is not known.
        beside: What else of the platforms differs, a line each: it may be the cause as well.
        result: The second matrix against the first.
    """

    differences: Differences
    beside: tuple[str, ...]
    result: ComparisonResult

    @property
    def comparison(self) -> Comparison:
        return self.result.comparisons[0]

    @property
    def attribution(self) -> str:
        """One line: what the difference is the cost of."""
        names = [each.option.title for each in self.differences.known]
        if not names:
            return f"no option is known to differ: not known is {few(self.differences.unknown)}"
        told = names[0] if len(names) == 1 else f"{len(names)} options together"
        doubts = []
        if self.beside:
            doubts.append("other things of the platforms differ too")
        if self.differences.unknown:
            doubts.append(f"not known is {few(self.differences.unknown)}")
        return f"{told}; but {' and '.join(doubts)}" if doubts else told


def hardening_cost(
    without: Matrix, hardened: Matrix, *, options: Options, allow_mixed: bool = False
) -> HardeningCost:
    """Compares ``hardened`` with ``without``.

    Raises:
        UsageError: Nothing of their hardening differs, or they cannot be compared.
    """
    sides = (without, hardened)
    found = differences(_recorded(without), _recorded(hardened))
    if not found.known and not found.unknown:
        raise UsageError(
            f"{without.name} and {hardened.name} were measured with the same hardening",
            "deadbeat compare compares them; deadbeat doctor lists what is on",
        )
    result = compare_latency([without, hardened], options=options, allow_mixed=allow_mixed)
    beside = tuple(line for line in result.differences if not _explained(line, found, sides))
    return HardeningCost(differences=found, beside=beside, result=result)


def _recorded(matrix: Matrix) -> dict[str, str]:
    """States of options as the matrix's environment has them; empty: not recorded."""
    details = matrix.platform.get("details")
    recorded = details.get("hardening") if isinstance(details, dict) else None
    return dict(recorded) if isinstance(recorded, dict) else {}


def _explained(line: str, found: Differences, sides: tuple[Matrix, Matrix]) -> bool:
    """Whether a difference of platforms is no more than the options that differ."""
    options = [each.option for each in found.known]
    if not line.startswith("cmdline:"):
        return False
    words = [set(str((s.platform.get("details") or {}).get("cmdline", "")).split()) for s in sides]
    switching = {name for option in options for name in option.arguments}
    return {word.partition("=")[0] for word in words[0] ^ words[1]} <= switching
