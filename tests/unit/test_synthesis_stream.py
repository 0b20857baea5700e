"""The truth is splitmix64's published sequence and elementary counting."""

from __future__ import annotations

from collections import Counter

from deadbeat.synthesis import seed_for
from deadbeat.synthesis.stream import Stream


def test_splitmix64_published_sequence():
    # Seed 1234567, as published with the reference implementation on Rosetta Code.
    stream = Stream(0)
    stream._state = 1234567
    assert [stream.word() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_label_and_seed_tell_streams_apart():
    first = {Stream(seed, label).word() for seed in range(50) for label in ("wcet", "offset")}
    assert len(first) == 100
    assert Stream(3, "wcet").word() == Stream(3, "wcet").word()


def test_below_is_even():
    stream = Stream(1, "test")
    counts = Counter(stream.below(6) for _ in range(6000))
    assert sorted(counts) == [0, 1, 2, 3, 4, 5]
    # Six standard deviations of a count are 173.
    assert all(abs(count - 1000) < 173 for count in counts.values())


def test_below_beyond_a_word():
    stream = Stream(2, "test")
    bound = 3 * 2**80
    draws = [stream.below(bound) for _ in range(3000)]
    assert min(draws) >= 0 and max(draws) < bound
    thirds = Counter(draw >> 80 for draw in draws)
    assert all(abs(thirds[third] - 1000) < 155 for third in range(3))


def test_chance_is_exact_at_its_ends():
    stream = Stream(4, "test")
    assert not any(stream.chance(0, 7) for _ in range(100))
    assert all(stream.chance(7, 7) for _ in range(100))


def test_every_order_is_equally_likely():
    stream = Stream(5, "test")
    orders: Counter[tuple[int, ...]] = Counter()
    for _ in range(6000):
        items = [0, 1, 2]
        stream.shuffle(items)
        orders[tuple(items)] += 1
    assert len(orders) == 6
    assert all(abs(count - 1000) < 173 for count in orders.values())


def test_seed_for_depends_on_all_three_and_fits_signed_64_bits():
    seeds = {seed_for(c, m, r) for c in range(5) for m in range(1, 5) for r in range(5)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)
