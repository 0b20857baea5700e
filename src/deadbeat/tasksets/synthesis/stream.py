"""The generator's own source of randomness: integers only, the same on every machine.

One stream per purpose, named by seed and label, so that drawing more for one purpose (a longer
task) never shifts another (an offset): the basis of common random numbers.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from hashlib import sha256
from typing import Any

_WORD = 1 << 64
_MASK = _WORD - 1


class Stream:
    """splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").

    Args:
        seed: Any integer.
        label: What the stream is for; different labels give independent streams.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int, *label: object) -> None:
        name = "/".join(["deadbeat", str(seed), *map(str, label)])
        self._state = int.from_bytes(sha256(name.encode()).digest()[:8], "little")

    def word(self) -> int:
        """A whole number, uniform in [0, 2^64)."""
        self._state = state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, bound: int) -> int:
        """A whole number, uniform in [0, bound); exactly, by Lemire 2019 (multiply, reject)."""
        if bound > _WORD:
            return self._below_wide(bound)
        product = self.word() * bound
        if product & _MASK < bound:
            unfair = (_WORD - bound) % bound
            while product & _MASK < unfair:
                product = self.word() * bound
        return product >> 64

    def _below_wide(self, bound: int) -> int:
        bits = (bound - 1).bit_length()
        while True:
            draw = 0
            for _ in range(0, bits, 64):
                draw = draw << 64 | self.word()
            draw >>= -bits % 64
            if draw < bound:
                return draw

    def between(self, low: int, high: int) -> int:
        """A whole number, uniform in [low, high], both included."""
        return low + self.below(high - low + 1)

    def chance(self, numerator: int, denominator: int) -> bool:
        """True with probability numerator / denominator, exactly."""
        return self.below(denominator) < numerator

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Permutes in place, every order equally likely (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def seed_for(campaign_seed: int, cores: int, replica: int) -> int:
    """Seed of a replica at ``cores`` cores, in [0, 2^63).

    The synchronisation share and the contended ratio are not in it: at every point of a grid a
    replica is the same task set as far as it can be (common random numbers).
    """
    return Stream(campaign_seed, "task set", cores, replica).word() >> 1
