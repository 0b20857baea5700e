"""Truth: what each remedy does on made-up machines, and why it does nothing on others."""

import pytest

from deadbeat.base.model.tuning import Setting
from deadbeat.latencies.load.remedies import (
    ONLINE,
    REMEDIES,
    SERVER,
    RemedyChange,
    Situation,
    together,
)
from deadbeat.machine.host.kernel import RT_RUNTIME as RUNTIME
from deadbeat.machine.targets.fake import FakeTarget

CPU = "/sys/devices/system/cpu"
SIBLINGS = {
    f"{CPU}/cpu{cpu}/topology/thread_siblings_list": f"{cpu & ~1}-{cpu | 1}" for cpu in range(4)
}
ALONE = {f"{CPU}/cpu{cpu}/topology/thread_siblings_list": str(cpu) for cpu in range(4)}
SLOW = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" for cpu in range(4)}
FAST = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "performance\n" for cpu in range(4)}
PREEMPT = "/sys/kernel/debug/sched/preempt"


def answer(
    name: str,
    files: dict[str, str],
    *,
    cpus: tuple[int, ...] = (0, 1, 2, 3),
    refused: dict[str, str] | None = None,
) -> RemedyChange | str:
    remedy = REMEDIES[name]
    target = FakeTarget(files=files, refused=refused)
    readings = target.read_many(remedy.reads(cpus))
    return remedy.plan(Situation(readings=readings, cpus=cpus, home=cpus[-1]))


def change(name: str, files: dict[str, str], **more: object) -> RemedyChange:
    found = answer(name, files, **more)  # type: ignore[arg-type]
    assert isinstance(found, RemedyChange), found
    return found


def reason(name: str, files: dict[str, str], **more: object) -> str:
    found = answer(name, files, **more)  # type: ignore[arg-type]
    assert isinstance(found, str), found
    return found


def test_remedies_stand_in_the_order_of_lists() -> None:
    assert list(REMEDIES) == ["pin", "smt", "governor", "preemption", "rt-bandwidth"]


def test_pinning_takes_the_last_cpu_and_changes_nothing_else() -> None:
    found = change("pin", {})
    assert (found.pin, found.settings, found.normal_cpus) == (3, (), None)
    assert "only one" in reason("pin", {}, cpus=(0,))


def test_the_sibling_is_left_idle_not_taken_offline() -> None:
    found = change("smt", SIBLINGS)
    assert found.pin == 3
    assert found.normal_cpus == (0, 1, 3)
    assert found.settings == ()


def test_no_sibling_no_remedy() -> None:
    assert "no SMT" in reason("smt", ALONE)
    assert "no such file" in reason("smt", {})
    assert "no CPU is left" in reason("smt", SIBLINGS, cpus=(0, 1))


def test_the_governor_is_set_on_every_cpu_where_there_is_one() -> None:
    found = change("governor", SLOW)
    assert [setting.value for setting in found.settings] == ["performance"] * 4
    assert "already" in reason("governor", FAST)
    assert "no such file" in reason("governor", {})


def test_the_preemption_model_changes_only_where_the_kernel_lets_it() -> None:
    found = change("preemption", {PREEMPT: "none voluntary (full)"})
    assert found.settings == (Setting(PREEMPT, "none", "selected"),)
    assert "already" in reason("preemption", {PREEMPT: "(none) voluntary full"})
    assert "no such model" in reason("preemption", {PREEMPT: "(full) lazy"})
    assert "PREEMPT_RT" in reason("preemption", {"/sys/kernel/realtime": "1"})
    denied = {PREEMPT: "denied: Operation not permitted"}
    assert "Operation not permitted" in reason("preemption", {}, refused=denied)


def test_both_reservations_for_ordinary_threads_go_where_both_are_there() -> None:
    servers = {SERVER.format(cpu): "50000000\n" for cpu in range(2)}
    found = change("rt-bandwidth", {RUNTIME: "950000\n", **servers}, cpus=(0, 1))
    assert [(setting.path, setting.value) for setting in found.settings] == [
        (RUNTIME, "-1"), (SERVER.format(0), "0"), (SERVER.format(1), "0"),
    ]  # fmt: skip


def test_a_fair_server_out_of_reach_is_disclosed() -> None:
    refused = {SERVER.format(cpu): "denied: Operation not permitted" for cpu in range(2)}
    found = change("rt-bandwidth", {RUNTIME: "950000\n"}, cpus=(0, 1), refused=refused)
    assert [setting.path for setting in found.settings] == [RUNTIME]
    assert "fair server left as it is" in found.words
    assert "Operation not permitted" in found.words


def test_with_a_single_cpu_its_share_for_others_is_not_taken_off() -> None:
    alone = {RUNTIME: "950000\n", ONLINE: "0\n"}
    assert "watchdog" in reason("rt-bandwidth", alone, cpus=(0,))
    assert change("rt-bandwidth", {**alone, ONLINE: "0-1\n"}, cpus=(0,)).settings


def test_no_reservation_no_remedy() -> None:
    assert "-1" in reason("rt-bandwidth", {RUNTIME: "-1\n"})
    assert "no such file" in reason("rt-bandwidth", {})


def test_all_together_is_the_sum_without_a_doubled_setting() -> None:
    one = RemedyChange(pin=3, settings=(Setting("/a", "1"),), words="one")
    two = RemedyChange(
        settings=(Setting("/a", "1"), Setting("/b", "2")), normal_cpus=(0,), words="two"
    )
    found = together([one, two])
    assert [setting.path for setting in found.settings] == ["/a", "/b"]
    assert (found.pin, found.normal_cpus, found.words) == (3, (0,), "one; two")


@pytest.mark.parametrize("name", list(REMEDIES))
def test_a_remedy_that_can_read_nothing_says_so_or_needs_nothing(name: str) -> None:
    found = answer(name, {})
    assert isinstance(found, str) or name == "pin"
