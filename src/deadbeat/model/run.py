"""What is stored of every run, whatever its kind."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from deadbeat.model.finding import Finding


@frozen(kw_only=True)
class Replaced:
    """An invalid measurement of a run that was then measured again.

    Attributes:
        started: UTC, RFC 3339.
        problems: Why it was invalid.
    """

    started: str
    problems: tuple[Finding, ...]


@frozen(kw_only=True, slots=False)  # a run may have a second base
class StoredRun:
    """One measurement.

    Attributes:
        key: Which run of its folder.
        started: UTC, RFC 3339; "": not known.
        problems: What is wrong with it.
        replaced: Invalid measurements in the place of which it is, the first first.
    """

    key: Any
    started: str
    problems: tuple[Finding, ...] = ()
    replaced: tuple[Replaced, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether its figures count."""
        return all(problem.severity != "invalid" for problem in self.problems)
