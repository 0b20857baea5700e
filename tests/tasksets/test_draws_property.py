"""Truth: the grammar: a canonical text reads back, and draws keep to what is said."""

from hypothesis import given
from hypothesis import strategies as st

from deadbeat.base.model import rules
from deadbeat.tasksets.contention import stress as draws
from deadbeat.tasksets.contention.stress import CoreChoice, CoresRule, DrawKind, Drawn, SpreadRule
from deadbeat.tasksets.synthesis.stream import Stream

KINDS: dict[str, tuple[DrawKind, int, int]] = {
    "shares": (draws.shares(), 0, 1000),
    "wholes": (draws.drawn_by(rules.Whole(1, 64), 1, 3), 1, 64),
    "durations": (draws.drawn_by(rules.DurationNs(1_000, 10**9), 50_000, 200_000), 1_000, 10**9),
}


@st.composite
def drawn_of(draw: st.DrawFn) -> tuple[SpreadRule, Drawn]:
    kind, low, high = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    numbers = st.integers(low, high)
    if draw(st.booleans()):
        ends = sorted((draw(numbers), draw(numbers)))
        return SpreadRule(kind), Drawn((), *ends)
    options = draw(st.lists(numbers, min_size=1, max_size=6, unique=True))
    return SpreadRule(kind), Drawn(tuple(options))


@given(drawn_of())
def test_the_canonical_form_reads_back(given_: tuple[SpreadRule, Drawn]) -> None:
    spread, drawn = given_
    plain = spread.plain(drawn)
    assert spread.parse(plain) == drawn
    if isinstance(plain, list):
        assert spread.parse(",".join(map(str, plain))) == drawn


@given(drawn_of(), st.integers(0, 2**63))
def test_a_draw_keeps_to_what_is_said(given_: tuple[SpreadRule, Drawn], seed: int) -> None:
    _, drawn = given_
    stream, again = Stream(seed, "a"), Stream(seed, "a")
    for _ in range(5):
        value = drawn.draw(stream)
        assert value == drawn.draw(again)
        assert isinstance(value, int)
        assert drawn.smallest <= value <= drawn.largest
        assert value in drawn.options or drawn.ranged


@given(
    st.lists(st.integers(1, 1024), unique=True, max_size=5).map(sorted),
    st.none() | st.just(()) | st.tuples(st.integers(1, 1024), st.integers(1, 1024)),
)
def test_core_counts_read_back(fixed: list[int], drawn: tuple[int, ...] | None) -> None:
    if not fixed and drawn is None:
        return
    low, high = sorted(drawn) if drawn else (None, None)
    choice = CoreChoice(fixed=tuple(fixed), drawn=drawn is not None, low=low, high=high)
    plain = CoresRule.plain(choice)
    assert CoresRule().parse(plain) == choice
    assert CoresRule().parse(",".join(map(str, plain))) == choice
