"""Seeds."""

from __future__ import annotations

from hashlib import sha256


def seed_of(*parts: object) -> int:
    """A seed of 64 bits from anything with a stable text, such as a campaign's seed and a point."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:8], "big")
