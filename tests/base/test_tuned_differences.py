"""Truth: two platforms whose only difference is what was tuned on purpose."""

from typing import Any

from deadbeat.base.model.platform import differing_platforms

RT = "/proc/sys/kernel/sched_rt_runtime_us = -1 (was 950000): deadbeat tune apply realtime"
SWAP = "/proc/sys/vm/swappiness = 10 (was 60): deadbeat tune apply realtime"
SWAP_LESS = "/proc/sys/vm/swappiness = 1 (was 60): deadbeat tune apply --knob swappiness=1"


def platform(tuned: object) -> dict[str, Any]:
    return {"name": "a", "details": {"tuned": tuned}}


def test_settings_that_were_tuned_on_one_side_are_named() -> None:
    assert differing_platforms(platform([]), platform([RT])) == [
        "/proc/sys/kernel/sched_rt_runtime_us: not tuned"
        " | -1 (was 950000): deadbeat tune apply realtime"
    ]


def test_settings_that_were_tuned_alike_are_no_difference() -> None:
    found = differing_platforms(platform([RT, SWAP]), platform([RT, SWAP_LESS]))
    assert [line.split(":")[0] for line in found] == ["/proc/sys/vm/swappiness"]
    assert differing_platforms(platform([RT]), platform([RT])) == []


def test_what_is_not_known_of_a_side_is_not_guessed() -> None:
    for unknown in (None, "unknown: no permission"):
        assert differing_platforms(platform(unknown), platform([RT])) == []


def test_many_settings_are_counted() -> None:
    many = [f"/sys/{index:02} = 1 (was 0): deadbeat tune apply x" for index in range(15)]
    found = differing_platforms(platform(many), platform([]))
    assert len(found) == 13
    assert found[-1] == "tuned: and 3 more settings"
