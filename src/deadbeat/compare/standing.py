"""What became of every program that a campaign planned, as far as a comparison must know."""

from __future__ import annotations

from attrs import frozen

from deadbeat.kinds.contention import rounds
from deadbeat.kinds.contention.plan import plan
from deadbeat.kinds.contention.spec import read_spec
from deadbeat.kinds.contention.view import CampaignView
from deadbeat.model.results import RunKey


@frozen(kw_only=True)
class Standing:
    """The programs of a campaign by what became of them; each is in one of the four.

    Attributes:
        done: They have a result.
        failed: They failed.
        left: They are not run yet: the campaign is unfinished.
        unwanted: Never run, since their point was known well enough (``--precision``).
        decided: Whether it is known that all of ``left`` will be run.
    """

    done: frozenset[RunKey]
    failed: frozenset[RunKey]
    left: frozenset[RunKey]
    unwanted: frozenset[RunKey]
    decided: bool

    @property
    def planned(self) -> frozenset[RunKey]:
        return self.done | self.failed | self.left | self.unwanted


def standing_of(view: CampaignView) -> Standing:
    """What became of the programs of ``view``.

    Raises:
        DeadbeatError: Its parameters cannot be read, or a record is damaged.
    """
    store = view.store
    spec = read_spec(store.spec)
    done = frozenset(view.keys)
    failed = frozenset(store.failed()) - done
    others = (store.planned() | frozenset(plan(spec))) - done - failed
    complete = rounds.is_complete(spec, store)
    return Standing(
        done=done,
        failed=failed,
        left=frozenset() if complete else others,
        unwanted=others if complete else frozenset(),
        decided=spec.precision is None,
    )
