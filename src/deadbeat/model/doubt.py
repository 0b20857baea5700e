"""What a kind of finding means for the numbers."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Doubt:
    """What a finding means for the numbers.

    Attributes:
        id: Identifier of the finding; one that ends in ``-`` stands for all that begin with it.
        title: What it is about, in a few words.
        wrong: What it does to the numbers.
        check: How to see whether it did, and what to do.
    """

    id: str
    title: str
    wrong: str
    check: str


def doubt(id_: str, title: str, wrong: str, check: str) -> Doubt:
    """A doubt of texts that may be broken into lines."""
    return Doubt(id=id_, title=title, wrong=" ".join(wrong.split()), check=" ".join(check.split()))
