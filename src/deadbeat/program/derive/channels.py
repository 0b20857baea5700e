"""What threads sent one another through the kernel: which message was taken when, without marks.

The number of a file leads to what is behind it (`Recording.files`); the n-th byte, or message, that
was sent is the n-th that is taken. From Linux 6.3 on the kernel says which socket got a message
(sock_send_length, sk_data_ready, sock_recv_length); before, sockets are joined by their peers.
"""

from __future__ import annotations

import errno
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.words import count_of
from deadbeat.program.derive.jobs import SURE_JOBS, ThreadJobs
from deadbeat.program.derive.records import IMAGE, Recording, RecordKind
from deadbeat.program.derive.switches import Times, place_in
from deadbeat.program.derive.tracks import NEVER, POLLS, SENDS, Track

Rows = NDArray[np.void]
Flags = NDArray[np.bool_]

TAKES = ("read", "readv", "recvfrom", "recvmsg", "recvmmsg", "mq_timedreceive", "msgrcv")
_STREAMS = ("pipe", "fifo", "unix stream", "tcp", "tcp6")
#: Writable memory that processes share, in /proc/PID/maps.
_SHARED = re.compile(
    r"^\S+ rw-s \S+ \S+ \d+ +(/dev/shm/(?!deadbeat-)\S+|/memfd:\S+|/SYSV\S+)", re.MULTILINE
)
#: By udiag_type.
_UNIX = {1: "unix stream", 2: "unix datagram", 5: "unix seqpacket"}
#: By family and protocol, of a socket that was never looked at.
_FAMILIES = {(1, 0): "unix", (2, 17): "udp", (10, 17): "udp6", (2, 6): "tcp", (10, 6): "tcp6"}
#: Name of a socket that was closed before it could be looked at.
MOMENT = "that lived for a moment"
#: So long after its first use a number is looked at at most.
_LOOK_NS = 500_000_000

#: What a call moved: when it began and ended, its place in the ``order`` of others, ``count`` bytes
#: or messages, through which channel;
#: ``file``: its first argument, ``more``: the second, or the priority; ``lost``: it was dropped.
_MOVE = np.dtype(
    [
        *((n, "<i8") for n in ("at", "until", "order", "tid", "call", "file", "more", "count")),
        ("channel", "<i8"),
        *(("out", "?"), ("lost", "?")),
    ]
)
_TAKEN = np.dtype([("socket", "<i8"), ("ns", "<i8"), ("inode", "<i8")])
#: A message: put while a call of ``sender`` went on from ``put`` to ``until``, taken by a call that
#: ended at ``take`` (NEVER: by none); ``lost``: dropped; ``unsure``: its neighbour may be it.
MESSAGE = np.dtype(
    [
        *((n, "<i8") for n in ("put", "until", "sender", "take", "receiver", "channel")),
        *(("lost", "?"), ("unsure", "?")),
    ]
)


@frozen
class Channel:
    """``kind``: pipe, fifo, unix stream, unix datagram, unix seqpacket, udp, tcp, mq, sysv,
    eventfd, semaphore or lock; ``name``: number, path or address of the end that receives."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@frozen(kw_only=True, eq=False, slots=False)
class Traffic:
    """``messages``: as MESSAGE, in order of ``put``; ``not_seen``: a line each; ``doubtful``:
    channels in which more may have lain before, as nothing shows that they were empty."""

    messages: Rows
    channels: tuple[Channel, ...]
    not_seen: tuple[str, ...] = ()
    doubtful: frozenset[int] = frozenset()

    @cached_property
    def pairs(self) -> dict[tuple[int, int, int], Rows]:
        """(sender, receiver, channel) -> messages that were taken, in order of ``put``."""
        rows = self.messages
        rows = rows[(rows["take"] != NEVER) & (rows["sender"] != rows["receiver"])]
        order = np.lexsort((rows["put"], rows["channel"], rows["receiver"], rows["sender"]))
        rows = rows[order]
        keys = np.column_stack([rows[n] for n in ("sender", "receiver", "channel")])
        parts = np.split(rows, np.flatnonzero(np.diff(keys, axis=0).any(axis=1)) + 1)
        return {
            (int(one["sender"]), int(one["receiver"]), int(one["channel"])): part
            for part in parts
            for one in part[:1]
        }

    def wakers(self, receiver: int) -> Rows:
        """Messages of others to channels that a thread takes from, in order of ``put``."""
        rows, known = self.messages, self.messages["sender"] != receiver
        mine = np.unique(rows["channel"][rows["receiver"] == receiver])
        return np.asarray(rows[np.isin(rows["channel"], mine) & known & ~rows["lost"]])

    def between(self) -> Iterator[tuple[int, int, tuple[int, ...], Rows]]:
        """Sender, receiver, channels and messages. Of a kind those are one that are used one after
        another, and those with a few messages each: a connection is made for every request."""
        groups = defaultdict[tuple[int, int, str], list[tuple[int, Rows]]](list)
        for (sender, receiver, place), rows in self.pairs.items():
            kind = self.channels[place].kind.partition(" ")[0].replace("unix", "socket")
            groups[sender, receiver, kind].append((place, rows))
        for (sender, receiver, _), parts in groups.items():
            lines, few = list[list[tuple[int, Rows]]](), list[tuple[int, Rows]]()
            for place, rows in sorted(parts, key=lambda each: int(each[1]["put"][0])):
                if len(rows) < SURE_JOBS or self.channels[place].name == MOMENT:
                    few.append((place, rows))
                    continue
                free = (line for line in lines if line[-1][1]["take"].max() <= rows["put"][0])
                line = next(free, None)
                if line is None:
                    lines.append([(place, rows)])
                else:
                    line.append((place, rows))
            for line in [*lines, *[few] * bool(few)]:
                places, every = zip(*line, strict=True)
                yield sender, receiver, places, np.sort(np.concatenate(every), order="put")

    def lost(self, sender: int, channels: Sequence[int]) -> int:
        """Messages of a thread that were dropped."""
        rows = self.messages[self.messages["lost"]]
        return int((np.isin(rows["channel"], channels) & (rows["sender"] == sender)).sum())

    def left_over(self, rows: Rows, channels: Sequence[int], jobs: ThreadJobs | None) -> float:
        """Share of the jobs that took of ``rows`` and left messages there."""
        here = np.isin(self.messages["channel"], channels)
        every = self.messages[here & ~self.messages["lost"]]
        takes, ends = np.unique(rows["take"]), jobs.rows["end"] if jobs else np.zeros(0, np.int64)
        last = (
            np.append(np.diff(np.searchsorted(ends, takes)) > 0, True) if len(ends) else takes > 0
        )
        there = np.searchsorted(every["until"], takes, "right")
        gone = np.searchsorted(np.sort(every["take"]), takes, "right")
        return float((there > gone)[last].mean())


def traffic(recording: Recording, tracks: Mapping[int, Track]) -> Traffic:
    """All messages between the threads, as far as both ends were seen."""
    if not len(recording.files) and not len(recording.events):
        return Traffic(messages=np.zeros(0, MESSAGE), channels=())
    return _Traffic(recording, tracks).paired()


class _Traffic:
    """Channels, and what was moved through them."""

    def __init__(self, recording: Recording, tracks: Mapping[int, Track]) -> None:
        self.recording, self.tracks = recording, tracks
        self.calls = {n: name.removesuffix("_time64") for n, name in recording.calls.items()}
        self.channels = dict[tuple[str, int], int]()
        self.made = list[Channel]()
        self.files = defaultdict[tuple[int, int], list[tuple[int, str, int, str]]](list)
        for pid, file, ns, kind, number, name in recording.files:
            self.files[pid, file].append((ns - recording.begin_ns, kind, number, name))
        self.sockets = {int(number): facts for number, *facts in recording.sockets}
        self.peers = {number: int(f[2]) for number, f in self.sockets.items() if f[0] == "unix"}
        inet = {n: facts for n, facts in self.sockets.items() if facts[0] != "unix"}
        ends = {(family, local, remote): n for n, (family, local, remote) in inet.items()}
        bound = {(family, local.rpartition(":")[2]): n for n, (family, local, _) in inet.items()}
        for number, (family, local, remote) in inet.items():
            other = ends.get((family, remote, local), 0)
            if not other and family.startswith("udp"):
                other = bound.get((family, remote.rpartition(":")[2]), 0)
            self.peers[number] = other
        self.unnamed = Counter[str]()
        self.empty = set[int]()  # channels that were seen empty
        #: Kinds of sockets that were never looked at.
        ready = recording.events[recording.events["kind"] == RecordKind.READY]
        kinds = np.unique(ready[["a", "b", "c"]]).tolist()
        self.kinds = {sk: _FAMILIES.get((family, way), "socket") for sk, family, way in kinds}

    def channel(self, kind: str, number: int, name: str = "") -> int:
        """Place of a channel; ``number`` tells those of a kind apart."""
        key = kind.partition(" ")[0], number
        if key not in self.channels:
            self.channels[key] = len(self.made)
            self.made.append(Channel(kind, name.strip("-") or str(number)))
        return self.channels[key]

    def socket(self, number: int) -> int:
        """Place of the channel to a socket, by its inode."""
        family, *facts = self.sockets.get(number, ("socket",))
        if family == "unix":
            name = facts[2] if facts[2] != "-" else f"of inode {number}"
            return self.channel(_UNIX.get(int(facts[0]), "unix"), number, name)
        return self.channel(family, number, _address(facts[0]) if facts else "")

    def paired(self) -> Traffic:
        kinds = self.recording.events["kind"]
        exact = bool(np.isin(kinds, (RecordKind.SENT, RecordKind.TAKEN)).any())
        moves = {tid: self._moves(track) for tid, track in self.tracks.items()}
        parts = [np.zeros(0, _MOVE), *(mine[mine["channel"] >= 0] for mine, _ in moves.values())]
        for tid, (mine, inode) in moves.items():
            if not exact:
                dropped = self.tracks[tid].of(RecordKind.DROPPED)["ns"]
                parts.append(self._by_peer(mine[inode > 0], inode[inode > 0], dropped))
        self.taken = self._taken(moves)
        for tid, (mine, inode) in moves.items() if exact else ():
            parts += self._exact(self.tracks[tid], mine, inode)
        every = np.concatenate(parts)
        every = every[np.argsort(every["order"], kind="stable")]
        found, lines, doubtful = [np.zeros(0, MESSAGE)], list[str](), set[int]()
        for place, channel in enumerate(self.made):
            here = every[every["channel"] == place]
            puts, takes = here[here["out"]], here[~here["out"]]
            rows, line = _paired(channel, puts, takes)
            if len(takes) >= SURE_JOBS and not len(puts):
                line = f"who sends {len(takes):,} messages by {channel}: none of the threads"
            if self.recording.attached and place not in self.empty:
                began = dict(zip(takes["until"].tolist(), takes["at"].tolist(), strict=True))
                ends = rows[["put", "take"]].tolist()
                if not any(put >= began.get(take, NEVER) for put, take in ends):
                    doubtful.add(place)
            rows["channel"] = place
            found.append(rows)
            unsure = int(rows["unsure"].sum()) if channel.kind != "eventfd" else 0
            if unsure and not line:
                line = f"which of two senders was first by {channel}, {unsure:,} times: either"
            lines += [line] * bool(line)
        for name, count in sorted(self.unnamed.items()):
            text = f"what {count:,} calls of {name} moved: it is not known between whom"
            lines += [text] * (count >= SURE_JOBS)
        messages = np.concatenate(found)
        return Traffic(
            messages=messages[np.argsort(messages["put"], kind="stable")],
            channels=tuple(self.made),
            not_seen=tuple(lines),
            doubtful=frozenset(doubtful),
        )

    @cached_property
    def closed(self) -> dict[tuple[int, int], Times]:
        """(process, file) -> when it was closed."""
        return self._calls_of("close", RecordKind.ENTER)

    @cached_property
    def opened(self) -> dict[tuple[int, int], Times]:
        """(process, file) -> when it was opened by a name."""
        return self._calls_of("openat", RecordKind.EXIT)

    def _calls_of(self, name: str, kind: RecordKind) -> dict[tuple[int, int], Times]:
        found = defaultdict[tuple[int, int], list[int]](list)
        numbers = [n for n, each in self.calls.items() if each == name]
        for track in self.tracks.values():
            rows = track.of(kind)
            for ns, file in rows[np.isin(rows["a"], numbers)][["ns", "b"]].tolist():
                found[track.thread.pid % IMAGE, file].append(ns)
        return {key: np.sort(np.array(each, np.int64)) for key, each in found.items()}

    def _moves(self, track: Track) -> tuple[Rows, NDArray[np.int64]]:
        """Calls of a thread that move data, and of sockets their inode (else 0)."""
        rows = track.of(RecordKind.ENTER, RecordKind.EXIT)
        if len(rows) and rows["kind"][0] == RecordKind.EXIT:  # it began before recording did
            same = np.flatnonzero((rows["a"] == rows["a"][0]) & (rows["kind"] == RecordKind.ENTER))
            rows = np.concatenate([rows[same[:1]], rows])
            rows["ns"][: len(same[:1])] = 0
        enters = np.flatnonzero(rows["kind"][:-1] == RecordKind.ENTER)
        wanted = [n for n, name in self.calls.items() if name in (*SENDS, *TAKES)]
        enters = enters[np.isin(rows["a"][enters], wanted)]
        after = rows[enters + 1]
        kept = (after["kind"] == RecordKind.EXIT) & (after["a"] == rows["a"][enters])
        before, after = rows[enters[kept]], after[kept]
        found = np.zeros(len(before), _MOVE)
        found["tid"], found["channel"] = track.thread.tid, -1
        for name, column, source in (
            *(("at", "ns", before), ("until", "ns", after), ("order", "ns", after)),
            ("call", "a", before),
            *(("file", "b", before), ("more", "c", before), ("count", "b", after)),
        ):
            found[name] = source[column]
        inode = np.zeros(len(found), np.int64)
        seen = track.of(RecordKind.SENT, RecordKind.TAKEN)
        names = np.array([self.calls[number] for number in found["call"].tolist()], object)
        found["out"] = np.isin(names, SENDS)
        pid = track.thread.pid % IMAGE
        for file in np.unique(found["file"]).tolist():
            mine = np.flatnonzero(found["file"] == file)
            queue = np.isin(names[mine], ("msgsnd", "msgrcv"))
            if queue.any():
                found["channel"][mine[queue]] = self.channel("sysv", file)
            mine = mine[~queue]
            places = self._looked_up(pid, file, found["at"][mine])
            known = _between(seen["ns"], found[mine])[1] > 0
            unknown = mine[(places < 0) & (found["count"][mine] > 0) & ~known]
            file_of = self.opened.get((pid, file), np.zeros(0, np.int64))
            shut = self.closed.get((pid, file), np.zeros(0, np.int64))
            for at, name in zip(found["at"][unknown], names[unknown], strict=True):
                last = [each[: np.searchsorted(each, at)][-1:].sum() for each in (file_of, shut)]
                self.unnamed[name] += int(last[0] <= last[1])
            for place in np.unique(places[places >= 0]).tolist():
                _, kind, number, name = self.files[pid, file][place]
                these = mine[places == place]
                if kind == "socket":
                    inode[these] = number
                elif kind != "other":
                    found["channel"][these] = self.channel(kind, number, name)
        polls = [n for n, name in self.calls.items() if name in POLLS]
        looked = np.isin(rows["a"], polls) & (rows["kind"] == RecordKind.EXIT) & (rows["b"] == 0)
        takes = ~found["out"] & ((found["count"] == -errno.EAGAIN) | looked.any())
        self.empty |= {*found["channel"][takes].tolist()}
        self.empty |= {self.socket(n) for n in np.unique(inode[takes]).tolist() if n}
        kept = found["count"] >= 0
        return found[kept], inode[kept]

    def _looked_up(self, pid: int, file: int, at: Times) -> NDArray[np.int64]:
        """Place in ``files`` of what a number was at each instant; -1: not known."""
        every = self.files.get((pid, file), ())
        if not every:
            return np.full(len(at), -1)
        looks = np.array([each[0] for each in every], np.int64)
        shut = self.closed.get((pid, file), np.zeros(0, np.int64))
        life, lives = np.searchsorted(shut, at, "right"), np.searchsorted(shut, looks, "right")
        last = np.searchsorted(looks, at, "right") - 1
        same = (last >= 0) & (lives[np.maximum(last, 0)] == life)
        after = np.minimum(last + 1, len(looks) - 1)
        soon = (looks[after] >= at) & (lives[after] == life) & (looks[after] - at < _LOOK_NS)
        return np.where(same, last, np.where(soon, after, -1))

    # -- sockets

    def _by_peer(self, moves: Rows, inode: NDArray[np.int64], dropped: Times) -> Rows:
        """Without the kernel's word: what is sent through a socket goes to its peer."""
        found = moves.copy()
        for number in np.unique(inode).tolist():
            mine, peer = inode == number, self.peers.get(number, 0)
            found["channel"][mine & ~found["out"]] = self.socket(number)
            found["channel"][mine & found["out"]] = self.socket(peer) if peer else -1
            tcp = self._is_tcp(number)
            found["lost"] |= mine & found["out"] & (_between(dropped, found)[1] > 0) & (not tcp)
        self.unnamed["sockets"] += int((found["channel"] < 0).sum())
        several = [n for n, name in self.calls.items() if name in ("sendmmsg", "recvmmsg")]
        times = np.where(np.isin(found["call"], several), found["count"], 1)
        return np.repeat(found, times)[np.repeat(found["channel"] >= 0, times)]

    def _taken(self, moves: Mapping[int, tuple[Rows, NDArray[np.int64]]]) -> Rows:
        """What was received when: socket of the kernel, and its inode (0: not known)."""
        found = [np.zeros(0, _TAKEN)]
        for tid, (mine, inode) in moves.items():
            rows = self.tracks[tid].of(RecordKind.TAKEN)
            call = place_in(rows["ns"], mine["at"], mine["until"])
            each = np.zeros(len(rows), _TAKEN)
            each["socket"], each["ns"] = rows["a"], rows["ns"]
            each["inode"] = np.append(inode, 0)[call]
            found.append(each)
        return np.sort(np.concatenate(found), order=("socket", "ns"))

    def _exact(self, track: Track, moves: Rows, inode: NDArray[np.int64]) -> list[Rows]:
        """Messages of a thread by the kernel's word, which socket got each."""
        rows = track.of(RecordKind.SENT, RecordKind.TAKEN)
        rows = rows[rows["b"] > 0]  # else nothing was moved, or it was looked at (MSG_PEEK)
        ready, dropped = track.of(RecordKind.READY), track.of(RecordKind.DROPPED)
        call = place_in(rows["ns"], moves["at"], moves["until"])
        found = np.zeros(len(rows), _MOVE)
        found["tid"], found["channel"], found["count"] = track.thread.tid, -1, rows["b"]
        found["until"] = found["order"] = rows["ns"]
        found["out"] = rows["kind"] == RecordKind.SENT
        before = np.append(0, rows["ns"][:-1])  # of the same call: sendmmsg
        begins = np.maximum(np.append(moves["at"], 0)[call], before)
        found["at"] = np.where(call >= 0, begins, rows["ns"])
        numbers = np.append(inode, 0)[call]
        took = np.flatnonzero(~found["out"])
        found["channel"][took] = self._of_sockets(rows["a"][took], rows["ns"][took])
        gone = np.flatnonzero(found["out"])
        tcp = np.array([self._is_tcp(number) for number in numbers[gone].tolist()], bool)
        low, many = _between(ready["ns"], found[gone])
        many[tcp] = 0  # the kernel may have sent it later, or again
        to, before = np.repeat(gone, many), np.cumsum(many) - many
        which = np.repeat(low - before, many) + np.arange(len(to))
        sent = found[to]
        sent["channel"] = self._of_sockets(ready["a"][which], ready["ns"][which])
        sent["order"] = ready["ns"][which]
        _, first = np.unique(np.column_stack([to, sent["channel"]]), axis=0, return_index=True)
        rest = gone[many == 0]
        found["lost"][rest] = (_between(dropped["ns"], found[rest])[1] > 0) & ~tcp[many == 0]
        usual = defaultdict[int, set[int]](set)  # where a socket sends that is not connected
        for sk, place in np.unique(np.column_stack([rows["a"][to], sent["channel"]]), axis=0):
            usual[int(sk)].add(int(place))
        for place, number, sk in zip(
            rest.tolist(), numbers[rest].tolist(), rows["a"][rest].tolist(), strict=True
        ):
            peer, known_ones = self.peers.get(number, 0), usual[sk]
            alone = min(known_ones) if len(known_ones) == 1 else -1
            found["channel"][place] = self.socket(peer) if peer else alone
        lone = found[rest]
        self.unnamed["sockets"] += int((lone["channel"] < 0).sum())
        return [found[took], sent[first], lone[lone["channel"] >= 0]]

    def _is_tcp(self, number: int) -> bool:
        return bool(self.peers.get(number)) and self.sockets[number][0].startswith("tcp")

    def _of_sockets(self, sockets: NDArray[np.int64], at: Times) -> NDArray[np.int64]:
        """Places of the channels to sockets of the kernel, by what was taken from them next: one
        that is closed gives its place to another."""
        found = np.full(len(sockets), -1)
        for sk in np.unique(sockets).tolist():
            mine = sockets == sk
            rows = self.taken[slice(*np.searchsorted(self.taken["socket"], [sk, sk + 1]))]
            inode = np.zeros(int(mine.sum()), np.int64)
            if len(rows):
                after = np.searchsorted(rows["ns"], at[mine])
                inode = rows["inode"][np.minimum(after, len(rows) - 1)]
            numbers, which = np.unique(inode, return_inverse=True)
            places = [
                self.socket(number)
                if number
                else self.channel(self.kinds.get(sk, "socket"), sk, MOMENT)
                for number in numbers.tolist()
            ]
            found[mine] = np.array(places)[which]
        return found


def shared_memory(recording: Recording) -> Iterator[str]:
    """What processes share without a call, a line each."""
    names = {thread.tid: thread.name for thread in recording.threads}
    users = defaultdict[str, list[int]](list)
    for pid, text in recording.maps.items():
        for file in {*_SHARED.findall(text)}:
            users[file].append(pid)
    for file, pids in users.items():
        if pids[1:]:
            who = ", ".join(names.get(pid, str(pid)) for pid in sorted(pids))
            yield f"what {who} share in {file}: memory needs no call"


def _between(at: Times, moves: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Place of the first instant in each move, and how many there are."""
    low = np.searchsorted(at, moves["at"], "right")
    return low, np.searchsorted(at, moves["until"], "right") - low


def _address(text: str) -> str:
    """``127.0.0.1:5000`` from the kernel's hexadecimal numbers; those of IPv6: the port alone."""
    host, _, port = text.partition(":")
    raw = bytes.fromhex(host)[::-1]
    return f"{'.'.join(map(str, raw)) if len(raw) == 4 else ''}:{int(port or '0', 16)}"


# -- pairs


def _paired(channel: Channel, puts: Rows, takes: Rows) -> tuple[Rows, str]:
    """The messages of a channel, each with the call that completed it; ``puts`` and ``takes`` as
    they came. And why none is paired; "": they are."""
    found = np.zeros(len(puts), MESSAGE)
    found["put"], found["until"], found["sender"] = puts["at"], puts["until"], puts["tid"]
    found["lost"], found["take"] = puts["lost"], NEVER
    there = np.flatnonzero(~puts["lost"])
    puts = puts[there]
    if not len(puts) or not len(takes):
        return found, ""
    overlaps = np.zeros(len(puts), bool)
    latest = np.maximum.accumulate(puts["until"])
    overlaps[1:] = (puts["at"][1:] < latest[:-1]) & (puts["tid"][1:] != puts["tid"][:-1])
    overlaps &= puts["order"] == puts["until"]  # else the kernel says when it came
    found["unsure"][there] = overlaps
    if channel.kind == "eventfd":  # a read takes all that was written
        place = np.searchsorted(takes["until"], puts["at"], "right")
    elif channel.kind == "mq" and np.ptp(puts["more"]):
        place = _by_priority(puts, takes)
    else:
        by_bytes = channel.kind in _STREAMS
        each, taken = (m["count"] if by_bytes else np.ones(len(m), np.int64) for m in (puts, takes))
        put, took, order = np.cumsum(each), np.cumsum(taken), np.argsort(puts["at"], kind="stable")
        began = np.searchsorted(puts["at"][order], takes["until"], "right")
        could = np.append(0, np.cumsum(each[order]))[began]
        lacking = np.maximum.accumulate(np.maximum(took - could, 0))
        more = int(lacking[-1])  # were there before
        if 2 * (lacking[len(lacking) // 2] + 1) < more:  # it goes on: another writes, too
            unit = "byte" if by_bytes else "message"
            return found, f"messages of {channel}: {count_of(more, unit)} came from elsewhere"
        place = np.searchsorted(took - more, put)
    ends = np.append(takes["until"], NEVER)
    found["take"][there] = ends[np.minimum(place, len(takes))]
    found["receiver"][there] = np.append(takes["tid"], 0)[np.minimum(place, len(takes))]
    return found, ""


def _by_priority(puts: Rows, takes: Rows) -> NDArray[np.int64]:
    """The most urgent message is taken first, of equal ones the oldest."""
    found = np.full(len(puts), len(takes))
    waiting = list[tuple[int, int]]()
    at = 0
    for number, until in enumerate(takes["until"].tolist()):
        while at < len(puts) and puts["at"][at] <= until:
            heappush(waiting, (-int(puts["more"][at]), at))
            at += 1
        if waiting:
            found[heappop(waiting)[1]] = number
    return found
