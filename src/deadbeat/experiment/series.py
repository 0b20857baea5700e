"""One specification on several machines, one after another; what is finished there stays.

A machine that gives no result does not end the others. Where each keeps its folder, the same call
continues after any interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from attrs import define, field

from deadbeat.model.errors import DeadbeatError, UsageError

A = TypeVar("A")


@define(kw_only=True)
class Series(Generic[A]):
    """Machines of one specification.

    Attributes:
        machines: By the names of their results.
        measure: What a machine answers, given what the first one did.
        say: Tells the person a line.
        answers: Of the machines that have one. ``failed``: why others have none.
    """

    machines: Sequence[str]
    measure: Callable[[str, A | None], A]
    say: Callable[[str], None]
    answers: dict[str, A] = field(factory=dict)
    failed: dict[str, DeadbeatError] = field(factory=dict)

    def run(self) -> Sequence[A]:
        """Measures on every machine; the answers, in their order.

        Raises:
            UsageError: What is asked cannot be measured.
        """
        for name in self.machines:
            first = next(iter(self.answers.values()), None)
            try:
                self.answers[name] = self.measure(name, first)
            except UsageError:
                raise
            except DeadbeatError as error:
                self.say(f"{name}: {error}")
                self.failed[name] = error
        return list(self.answers.values())
