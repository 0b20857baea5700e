"""What is stored of every run, whatever its kind."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from deadbeat.base.model.finding import Finding


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
    """One measurement: ``key`` names it in its folder, ``started`` is UTC (RFC 3339), ``problems``
    are what is wrong with it, ``replaced`` the invalid measurements in the place of which it is."""

    key: Any
    started: str
    problems: tuple[Finding, ...] = ()
    replaced: tuple[Replaced, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether its figures count."""
        return all(problem.severity != "invalid" for problem in self.problems)
