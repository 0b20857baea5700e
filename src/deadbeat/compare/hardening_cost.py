"""What hardening costs: a comparison of two latency matrices between which hardening differs.

The difference is the comparison's, with its interval; what it is attributed to is what was recorded
to differ. Where more than one option differs, or anything else of the platforms, the cost is of all
of it together, and that is said.
"""

from __future__ import annotations

from attrs import frozen

from deadbeat.compare.results import compare_results
from deadbeat.kinds.latency.observe import COMPARABLE, Matrix
from deadbeat.model.comparison import Comparison, ComparisonResult, Lineup
from deadbeat.model.errors import UsageError
from deadbeat.settings.hardening import Differences, differences
from deadbeat.settings.reading import few


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
        doubts = ["other things of the platforms differ too"] if self.beside else []
        if self.differences.unknown:
            doubts.append(f"not known is {few(self.differences.unknown)}")
        return f"{told}; but {' and '.join(doubts)}" if doubts else told

    def plain(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "differs": [
                {
                    "name": each.option.name,
                    "title": each.option.title,
                    "expected": each.option.expected,
                    "states": list(each.states),
                }
                for each in self.differences.known
            ],
            "unknown": list(self.differences.unknown),
            "beside": list(self.beside),
            "attribution": self.attribution,
            "comparison": self.result.plain(),
        }


def hardening_cost(without: Matrix, hardened: Matrix) -> HardeningCost:
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
    result = compare_results(COMPARABLE, Lineup(subjects=sides))
    beside = tuple(line for line in result.differences if not _explained(line, found, sides))
    return HardeningCost(differences=found, beside=beside, result=result)


def _details(matrix: Matrix) -> dict[str, object]:
    details = matrix.platform.get("details")
    return details if isinstance(details, dict) else {}


def _recorded(matrix: Matrix) -> dict[str, str]:
    """States of options as the matrix's environment has them; empty: not recorded."""
    recorded = _details(matrix).get("hardening")
    return dict(recorded) if isinstance(recorded, dict) else {}


def _explained(line: str, found: Differences, sides: tuple[Matrix, Matrix]) -> bool:
    """Whether a difference of platforms is no more than the options that differ."""
    if not line.startswith("cmdline:"):
        return False
    words = [set(str(_details(side).get("cmdline", "")).split()) for side in sides]
    switching = {name for each in found.known for name in each.option.arguments}
    return {word.partition("=")[0] for word in words[0] ^ words[1]} <= switching
