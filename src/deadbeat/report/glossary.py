"""Short definitions of the words in a report; the full ones: docs/reference/metrics.md."""

from __future__ import annotations

import functools

from deadbeat.report.embed import asset

Terms = tuple[tuple[str, str], ...]


@functools.cache
def _sections() -> dict[str, Terms]:
    """Kind of report -> its terms, in the order in which a reader meets them."""
    known: dict[str, str] = {}
    found = {}
    for section in asset("terms.md").split("\n## ")[1:]:
        name, *entries = section.strip().split("\n\n")
        split = [" ".join(entry.split()).removeprefix("**").partition("**") for entry in entries]
        pairs = [(term, text.removeprefix(": ")) for term, _, text in split]
        for term, text in pairs:
            known.setdefault(term, text)
        found[name] = tuple((term, text or known[term]) for term, text in pairs)
    return found


def terms(*kinds: str) -> Terms:
    """The terms of ``profile``, ``latency`` ...; of several kinds one after the other."""
    return tuple(pair for kind in kinds for pair in _sections()[kind])
