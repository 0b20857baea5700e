"""Recordings as CTF of LTTng and as packets of Perfetto, as those tools write them."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from deadbeat.program.derive.records import IN_INTERRUPT, Recording, RecordKind
from helpers.traced_text import events_of, names_in


class Told(NamedTuple):
    """An event: its CPU, the thread that runs, whether in an interrupt, name and fields."""

    ns: int
    cpu: int
    runs: int
    inside: bool
    name: str
    fields: dict[str, int | str]


def told(recording: Recording, without: Collection[str] = ()) -> Iterator[Told]:
    """Events of the kernel; system calls are ``sys_enter_NAME`` and ``sys_exit_NAME``."""
    names = names_in(recording)
    for ns, tid, kind, cpu, a, b, c in events_of(recording):
        low, high = (v - (1 << 32) * (v >> 31) for v in (c & 0xFFFFFFFF, c >> 32 & 0xFFFFFFFF))
        call = recording.calls.get(a, f"call_{a}")
        side = "entry" if kind == RecordKind.INTERRUPT else "exit"
        interrupts = (("irq_handler", "irq"), ("softirq", "vec"))
        known: dict[int, tuple[str, dict[str, int | str]]] = {
            RecordKind.SWITCH: ("sched_switch", {
                "prev_comm": names.get(tid, "x"), "prev_pid": tid, "prev_prio": low,
                "prev_state": b, "next_comm": names.get(a, "x"), "next_pid": a, "next_prio": high,
            }),
            RecordKind.WAKING: ("sched_waking", {"comm": names.get(tid, "x"), "pid": tid}),
            RecordKind.RUNTIME: ("sched_stat_runtime", {"comm": "x", "pid": tid, "runtime": a}),
            RecordKind.SLEEP_TIMER: ("hrtimer_start", {"expires": b, "softexpires": a}),
            RecordKind.FORK: ("sched_process_fork", {"parent_pid": tid, "child_pid": a}),
            RecordKind.ENTER: (f"sys_enter_{call}", {"first": b, "second": c}),
            RecordKind.EXIT: (f"sys_exit_{call}", {"ret": b}),
            RecordKind.EXEC: ("sched_process_exec", {"filename": "x", "pid": tid, "old_pid": a}),
            RecordKind.END: ("sched_process_exit", {"comm": "x", "pid": tid}),
            RecordKind.PRIORITY: ("sched_pi_setprio", {"pid": tid, "oldprio": a, "newprio": b}),
            RecordKind.INTERRUPT: ("", {}), RecordKind.INTERRUPT_END: ("", {}),
        }  # fmt: skip
        if kind in (RecordKind.INTERRUPT, RecordKind.INTERRUPT_END) and c < len(interrupts):
            known[kind] = (f"{interrupts[c][0]}_{side}", {interrupts[c][1]: a})
        name, fields = known.get(kind, ("", {}))
        if name and name not in without and not (name.startswith("sys_") and "sys" in without):
            inside = kind == RecordKind.WAKING and bool(b & IN_INTERRUPT)
            runs = a if kind == RecordKind.WAKING else tid
            if inside:
                yield Told(ns - 1, cpu, runs, True, "hrtimer_expire_entry", {"now": ns})
            yield Told(ns, cpu, runs, inside, name, fields)
            if inside:
                yield Told(ns + 1, cpu, runs, True, "hrtimer_expire_exit", {"hrtimer": 0})


_HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := clock_t;
trace { major = 1; minor = 8; byte_order = le;
    packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { hostname = "board"; domain = "kernel"; tracer_name = "lttng-modules"; };
clock { name = "monotonic"; freq = 1000000000; offset = OFFSET; };
stream { id = 0; packet.context := struct { uint32_t cpu_id; };
    event.header := struct { uint16_t id; clock_t timestamp; }; };
"""


def write_ctf(found: Iterator[Told], folder: Path, *, offset: int = 10**18) -> None:
    """A stream for each CPU, on the time of day; priorities begin at the ordinary ones."""
    folder.mkdir()
    ids: dict[str, int] = {}
    text, streams = _HEAD.replace("OFFSET", str(offset)), defaultdict[int, bytearray](bytearray)
    for each in found:
        name = each.name.replace("sys_enter_", "syscall_entry_").replace(
            "sys_exit_", "syscall_exit_"
        )
        if name.startswith(("hrtimer", "softirq")):
            name = ("timer_" if name[0] == "h" else "irq_") + name
        fields = dict(each.fields)
        if not name.startswith("ros2:"):
            fields = {key.replace("pid", "tid"): value for key, value in fields.items()}
        if name not in ids:
            ids[name] = len(ids)
            rows = (
                f"{'string' if isinstance(value, str) else 'int64_t'} _{key};"
                for key, value in fields.items()
            )
            text += f'event {{ name = "{name}"; id = {ids[name]}; stream_id = 0;'
            text += f" fields := struct {{ {' '.join(rows)} }}; }};\n"
        stream = streams[each.cpu]
        if not stream:
            stream += struct.pack("<III", 0xC1FC1FC1, 0, each.cpu)
        stream += struct.pack("<HQ", ids[name], each.ns)
        for key, value in fields.items():
            shift = 100 if key in ("prev_prio", "next_prio") else 0
            stream += (
                value.encode() + b"\0"
                if isinstance(value, str)
                else struct.pack("<q", value - shift)
            )
    (folder / "metadata").write_text(text)
    for cpu, stream in streams.items():
        (folder / f"channel0_{cpu}").write_bytes(bytes(stream))


def with_ros2(found: Iterator[Told], jobs: Any, tid: int) -> Iterator[Told]:
    """And what ros2_tracing (4.1) says of a node, whose timer and subscription have a callback in
    each of ``jobs`` of a thread: its first third and its last half; in order of time."""
    node, timer, inner, topic = 0x10, 0x20, 0x30, 0x40
    events: list[tuple[str, dict[str, int | str]]] = [
        ("rcl_node_init", {"node_handle": node, "node_name": "filter", "namespace": "/"}),
        ("rcl_timer_init", {"timer_handle": timer, "period": 10_000_000}),
        ("rclcpp_timer_callback_added", {"timer_handle": timer, "callback": 1}),
        ("rclcpp_timer_link_node", {"timer_handle": timer, "node_handle": node}),
        ("rcl_subscription_init", {"subscription_handle": topic, "node_handle": node,
                                   "topic_name": "/scan", "queue_depth": 10}),
        ("rclcpp_subscription_init", {"subscription_handle": topic, "subscription": inner}),
        ("rclcpp_subscription_callback_added", {"subscription": inner, "callback": 2}),
        ("rclcpp_callback_register", {"callback": 2, "symbol": "Filter::scan(Scan const&)"}),
    ]  # fmt: skip
    of: dict[str, int | str] = {"vtid": tid, "vpid": tid, "procname": "filter"}
    every = [*found]
    begin = every[0].ns
    for number, (name, fields) in enumerate(events):
        every.append(Told(begin + number, 0, tid, False, f"ros2:{name}", of | fields))
    for row in jobs:
        first, whole = int(row["begin"]), int(row["end"] - row["begin"])
        for callback, low, high in ((1, 0.01, 0.33), (2, 0.5, 0.99)):
            for side, share in (("start", low), ("end", high)):
                at = first + round(whole * share)
                name = f"ros2:callback_{side}"
                every.append(Told(at, 0, tid, False, name, of | {"callback": callback}))
    yield from sorted(every, key=lambda each: each.ns)


def write_perfetto(
    found: Iterator[Told], recording: Recording, path: Path, *, compact: bool
) -> None:
    """A bundle of each CPU for each 100 ms; ``compact``: switches and wake-ups in columns."""
    pb: Any = import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace, bundles = pb.Trace(), dict[tuple[int, int], list[Told]]()
    tree = trace.packet.add().process_tree
    for thread in recording.threads:
        tree.threads.add(tid=thread.tid, tgid=thread.pid)
    trace.packet.add().system_info.utsname.machine = "x86_64"
    for each in found:
        bundles.setdefault((each.ns // 10**8, each.cpu), []).append(each)
    numbers = {name: number for number, name in recording.calls.items()}
    for (_, cpu), events in bundles.items():
        bundle = trace.packet.add().ftrace_events
        bundle.cpu = cpu
        last = {"switch": 0, "waking": 0}
        words: dict[str, int] = {}
        for each in events:
            column = each.name.removeprefix("sched_")
            if compact and column in last:
                sched, fields = bundle.compact_sched, each.fields
                getattr(sched, f"{column}_timestamp").append(each.ns - last[column])
                last[column] = each.ns
                if column == "waking":
                    sched.waking_pid.append(fields["pid"])
                    sched.waking_common_flags.append(8 * each.inside)
                    continue
                sched.switch_prev_state.append(fields["prev_state"])
                sched.switch_next_pid.append(fields["next_pid"])
                sched.switch_next_prio.append(fields["next_prio"])
                place = words.setdefault(str(fields["next_comm"]), len(words))
                sched.switch_next_comm_index.append(place)
                continue
            event = bundle.event.add(
                timestamp=each.ns, pid=each.runs, common_flags=IN_INTERRUPT * each.inside
            )
            if each.name.startswith("sys_e"):
                call = each.name.removeprefix("sys_enter_").removeprefix("sys_exit_")
                if each.name.startswith("sys_enter"):
                    values = [int(each.fields[key]) & (1 << 64) - 1 for key in ("first", "second")]
                    event.sys_enter.id = numbers.get(call, 999)
                    event.sys_enter.args.extend(values)
                else:
                    event.sys_exit.id, event.sys_exit.ret = (
                        numbers.get(call, 999),
                        each.fields["ret"],
                    )
            elif hasattr(event, each.name):
                message = getattr(event, each.name)
                message.SetInParent()
                for key, value in each.fields.items():
                    setattr(message, key, value)
        bundle.compact_sched.intern_table.extend(words)
    path.write_bytes(trace.SerializeToString())
