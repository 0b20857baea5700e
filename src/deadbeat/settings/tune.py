"""Settings of a machine for a while: applied, verified, and put back whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from deadbeat.model.errors import TargetError
from deadbeat.model.tuning import Applied, Returned, Setting
from deadbeat.settings.journal import Journal, new_session
from deadbeat.settings.owner import signed
from deadbeat.targets.base import Target


@contextmanager
def applied(
    target: Target,
    settings: Sequence[Setting],
    *,
    reason: str,
    partly: bool = False,
    journal: Journal | None = None,
    keep: Sequence[str] = (),
) -> Iterator[Applied]:
    """Settings that hold for a block: journalled, written, read back; put back at its end.

    A shell on the target puts them back if this process is killed inside; whatever it could not
    stays in the journal, for ``deadbeat tune revert``.

    Args:
        reason: What for; one line, for whoever reads the journal, where this process is added.
        partly: Go on with those that the machine accepts; else one that it lacks or refuses is an
            error, and nothing is changed.
        journal: None: the target's own.
        keep: As `Journal.apply`.

    Raises:
        TargetError: A setting is not possible here, or could not be put back at the end.
    """
    book = journal or Journal(target)
    session = new_session()
    with book.kept(session):
        try:
            done = book.apply(settings, reason=signed(reason), session=session, keep=keep)
            missing = done.those("skipped", "refused")
            if missing and not partly:
                raise TargetError(
                    f"{len(missing)} of {len(settings)} settings not possible here",
                    "nothing is changed",
                    tuple(f"{each.path} = {each.wanted}: {each.reason}" for each in missing),
                )
            yield done
        finally:
            _all_back(book.revert(session=session))


def _all_back(returned: Sequence[Returned]) -> None:
    left = [each for each in returned if not each.settled and each.result != "moved"]
    if left:
        raise TargetError(
            f"{len(left)} settings are not back",
            "deadbeat tune status lists them; deadbeat tune revert --force puts them back",
            tuple(f"{each.path}: {each.reason}" for each in left),
        )
