"""Perfetto's packets with events of ftrace, by the message classes of its Python package."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from attrs import define, field

from deadbeat.base.model.errors import DataError
from deadbeat.program.foreign.base import TraceFormat, opened
from deadbeat.program.foreign.fields import FieldReader
from deadbeat.program.foreign.gathered import Gathered

#: Of a packet in the file: field 1, with its length. The longest that is read, unpacked too.
_TAG, _LONGEST = 0x0A, 64 << 20
_FRAMES = 4
#: Names of system calls -> numbers on x86-64 and AArch64.
_CALLS = (
    "read 0 63,write 1 64,readv 19 65,writev 20 66,pread64 17 67,pwrite64 18 68,ioctl 16 29,"
    "poll 7 -1,ppoll 271 73,select 23 -1,pselect6 270 72,epoll_wait 232 -1,epoll_pwait 281 22,"
    "sched_yield 24 124,nanosleep 35 101,clock_nanosleep 230 115,futex 202 98,pause 34 -1,"
    "sendto 44 206,recvfrom 45 207,sendmsg 46 211,recvmsg 47 212,recvmmsg 299 243,fsync 74 82,"
    "fdatasync 75 83,msync 26 227,openat 257 56,mq_timedsend 242 182,mq_timedreceive 243 183,"
    "msgsnd 69 189,msgrcv 70 188,semtimedop 220 192,rt_sigtimedwait 128 137,"
    "rt_sigsuspend 130 133,io_uring_enter 426 426,sched_setscheduler 144 119,sched_setattr 314 274"
)
_MACHINES = {"x86_64": 1, "aarch64": 2}


def _frames(stream: IO[bytes]) -> Iterator[bytes]:
    """Each packet. Raises DataError: it is cut off, or none begins where one should."""
    while tag := stream.read(1):
        length = shift = 0
        while tag[0] == _TAG and shift < 35:
            byte = stream.read(1)
            if not byte:
                break
            length |= (byte[0] & 0x7F) << shift
            shift += 7
            if byte[0] < 0x80:
                break
        data = stream.read(length) if length <= _LONGEST else b""
        if tag[0] != _TAG or len(data) < length:
            raise EOFError(f"it ends within a packet, at byte {stream.tell():,}")
        yield data


def _fits(_: Path, head: bytes) -> bool:
    at = 0
    for _number in range(_FRAMES):
        length = shift = 0
        if at + 6 > len(head):
            return at > 0
        if head[at] != _TAG:
            return False
        at += 1
        while shift < 35:
            length |= (head[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if head[at - 1] < 0x80:
                break
        at += length
    return True


#: Thread, priority and name of who came.
Came = tuple[int, int, str]


@define
class PacketReader:
    classes: Any
    fields: FieldReader = field(factory=FieldReader)
    calls: dict[int, str] = field(factory=dict)
    _last: dict[int, Came] = field(factory=dict)  # of each CPU

    def packet(self, data: bytes, depth: int = 0) -> None:
        packet = self.classes.TracePacket.FromString(data)
        found = self.fields.found
        if packet.HasField("compressed_packets") and depth == 0:
            whole = zlib.decompressobj().decompress(packet.compressed_packets, _LONGEST)
            trace = self.classes.Trace.FromString(whole)
            for each in trace.packet:
                self.packet(each.SerializeToString(), 1)
        elif packet.HasField("ftrace_events"):
            self._bundle(packet.ftrace_events)
            found.flush()
        elif packet.HasField("process_tree"):
            for thread in packet.process_tree.threads:
                found.pids[thread.tid] = thread.tgid
                found.names.setdefault(thread.tid, thread.name or "<...>")
            for process in packet.process_tree.processes:
                found.pids[process.pid] = process.pid
        elif packet.HasField("system_info"):
            place = _MACHINES.get(packet.system_info.utsname.machine, 0)
            rows = [row.split() for row in _CALLS.split(",")] if place else []
            self.calls = {int(row[place]): row[0] for row in rows}

    def _bundle(self, bundle: Any) -> None:
        """Events of a CPU, in order of time."""
        cpu, every = bundle.cpu, [*self._compact(bundle.cpu, bundle.compact_sched)]
        for event in bundle.event:
            every.append((event.timestamp, partial(self._event, cpu, event)))
        every.sort(key=itemgetter(0))
        if bundle.lost_events and every:
            self.fields.lost(every[0][0], cpu, 1)
        for _, act in every:
            act()

    def _event(self, cpu: int, event: Any) -> None:
        name = event.WhichOneof("event")
        if name is None:
            return
        self.fields.runs[cpu] = event.pid
        message = getattr(event, name)
        if name in ("sys_enter", "sys_exit"):
            call = self.calls.get(message.id, "")
            values = [*message.args[:2], 0, 0] if name == "sys_enter" else [message.ret, 0]
            first, second = (int(v) - (int(v) >> 63 << 64) for v in values[:2])
            leaves = name == "sys_exit"
            self.fields.call(call, event.timestamp, cpu, first, second, leaves=leaves)
            return
        get = partial(getattr, message)
        flags = event.common_flags if event.HasField("common_flags") else None
        self.fields.event(name, event.timestamp, cpu, lambda key: get(key, None), flags)
        if name == "sched_switch":
            self._last[cpu] = message.next_pid, message.next_prio, message.next_comm

    def _compact(self, cpu: int, found: Any) -> Iterator[tuple[int, Callable[[], None]]]:
        words, ns = found.intern_table, 0
        rows = zip(
            found.switch_timestamp, found.switch_prev_state, found.switch_next_pid,
            found.switch_next_prio, found.switch_next_comm_index, strict=True,
        )  # fmt: skip
        for apart, state, tid, priority, word in rows:
            ns += apart
            yield ns, partial(self._switch, cpu, ns, state, (tid, priority, words[word]))
        ns, flags = 0, [*found.waking_common_flags]
        for number, (apart, tid) in enumerate(
            zip(found.waking_timestamp, found.waking_pid, strict=True)
        ):
            ns += apart
            known = flags[number] if number < len(flags) else None
            get = {"pid": tid}.get
            yield ns, partial(self.fields.event, "sched_waking", ns, cpu, get, known)

    def _switch(self, cpu: int, ns: int, state: int, comes: Came) -> None:
        goes = self._last.get(cpu)
        self._last[cpu] = comes
        self.fields.runs[cpu] = comes[0]
        if goes is not None:  # else it is the first of this CPU
            fields: dict[str, int | str] = {"prev_state": state}
            for side, (tid, priority, name) in (("prev", goes), ("next", comes)):
                fields |= {f"{side}_pid": tid, f"{side}_prio": priority, f"{side}_comm": name}
            self.fields.event("sched_switch", ns, cpu, fields.get)


def _read(path: Path) -> Gathered:
    try:
        classes = import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        damaged = import_module("google.protobuf.message").DecodeError
    except ImportError as error:
        hint = "pip install 'deadbeat[traces]'"
        raise DataError("the Python package perfetto is not installed", hint) from error
    reader = PacketReader(classes)
    found = reader.fields.found
    found.mixed = True
    with opened(path) as stream:
        try:
            for data in _frames(stream):
                reader.packet(data)
        except (EOFError, damaged, zlib.error, ValueError, IndexError) as error:
            if not found.seen:
                raise DataError(f"it is damaged: {error}", "copy it once more") from error
            found.notes.append(f"what comes after it was damaged: {error!s:.200}")
    return found


FORMAT = TraceFormat(name="Perfetto", fits=_fits, read=_read)
