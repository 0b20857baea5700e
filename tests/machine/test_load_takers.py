"""Truth: event text written by hand, as the kernel prints it."""

from deadbeat.machine.trace.why import takers_of

HEAD = "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"


def line(cpu: int, at: str, event: str, thread: str = "db-rounds0") -> str:
    return f"{thread:>16}-{number(thread)}    [{cpu:03d}] d..2.   {at}: {event}\n"


def number(thread: str) -> int:
    return 0 if thread.startswith("swapper") else 10 + sum(thread.encode())


def switch(cpu: int, at: str, before: str, after: str) -> str:
    """``before``: name, state; ``after``: name, priority."""
    prev, state = before.split()
    follow, priority = after.split()
    prio = {"db-rounds0": 0, "migration/0": -1, "multipathd": 0}.get(prev, 120)
    return line(
        cpu,
        at,
        f"sched_switch: prev_comm={prev} prev_pid={number(prev)} prev_prio={prio}"
        f" prev_state={state} ==> next_comm={follow} next_pid={number(follow)}"
        f" next_prio={priority}",
        prev,
    )


def test_who_has_its_cpu_while_it_is_ready_is_counted_by_name() -> None:
    text = HEAD
    text += switch(1, "10.000000", "swapper/1 R", "db-rounds0 0")
    text += switch(1, "10.100000", "db-rounds0 R+", "db-normal3 120")
    text += switch(1, "10.140000", "db-normal3 R", "kworker/1:0 120")
    text += switch(1, "10.141000", "kworker/1:0 S", "db-normal1 120")
    text += switch(1, "10.150000", "db-normal1 R", "db-rounds0 0")
    found = takers_of(text)
    assert found["switches"] == 1
    assert found["waited_ns"] == {
        "ordinary threads of this test": 49_000_000, "kworker/1:0 (ordinary)": 1_000_000,
    }  # fmt: skip


def test_sleep_is_no_waiting() -> None:
    text = switch(0, "1.000000", "db-rounds0 S", "db-normal0 120")
    text += switch(0, "1.500000", "db-normal0 R", "db-rounds0 0")
    assert takers_of(text)["waited_ns"] == {}
    assert takers_of(text)["switches"] == 0


def test_waiting_ends_where_it_runs_on_and_other_cpus_do_not_count() -> None:
    text = switch(0, "1.000000", "db-rounds0 R", "migration/0 -1")
    text += switch(1, "1.000500", "db-normal0 R", "db-normal1 120")
    text += switch(1, "1.001000", "db-normal1 R", "db-rounds0 0")
    text += switch(0, "1.900000", "migration/0 S", "db-normal2 120")
    assert takers_of(text)["waited_ns"] == {"migration/0 (deadline)": 1_000_000}


def test_a_task_of_its_own_priority_is_named_with_it() -> None:
    text = switch(0, "1.000000", "db-rounds0 R", "multipathd 0")
    text += switch(0, "1.002000", "multipathd S", "db-rounds0 0")
    assert takers_of(text)["waited_ns"] == {"multipathd (priority 99)": 2_000_000}


def test_interrupts_count_only_while_it_runs() -> None:
    text = line(0, "0.900000", "irq_handler_entry: irq=24 name=virtio0", "swapper/0")
    text += line(0, "0.950000", "irq_handler_exit: irq=24 ret=handled", "swapper/0")
    text += switch(0, "1.000000", "swapper/0 R", "db-rounds0 0")
    text += line(0, "1.100000", "irq_handler_entry: irq=24 name=virtio0")
    text += line(0, "1.100040", "irq_handler_exit: irq=24 ret=handled")
    text += line(0, "1.200000", "softirq_entry: vec=1 [action=TIMER]")
    text += line(1, "1.200001", "softirq_entry: vec=3 [action=NET_RX]", "swapper/1")
    text += line(0, "1.200007", "softirq_exit: vec=1 [action=TIMER]")
    text += line(1, "1.300000", "softirq_exit: vec=3 [action=NET_RX]", "swapper/1")
    text += line(0, "1.400000", "local_timer_entry: vector=236")
    text += line(0, "1.400003", "local_timer_exit: vector=236")
    assert takers_of(text)["interrupted_ns"] == {
        "interrupt virtio0": 40_000, "softirq TIMER": 7_000, "local timer": 3_000,
    }  # fmt: skip


def test_text_without_events_and_torn_lines_say_nothing() -> None:
    torn = switch(0, "1.000000", "db-rounds0 R", "db-normal0 120")
    for text in ("", HEAD, "no such thing\n", torn[: len(torn) // 2]):
        assert takers_of(text)["waited_ns"] == {}
