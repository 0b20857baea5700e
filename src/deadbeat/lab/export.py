"""What left a virtual machine (runtime/port/linux/guest_export.c): checked, as nobody vouches for
it."""

from __future__ import annotations

import binascii
import re
import struct
import zlib

from deadbeat.model.errors import DataError

HEADER_BYTES = 64
_HEADER = re.compile(rb"deadbeat-guest 1 (\d{1,10}) ([0-9a-f]{8})\n")
_END = b"deadbeat-guest end"
_NAME_MOST = 4096
_HINT = "the machine's last words are above; boot it again"


def exported(memory: bytes, console: bytes) -> dict[str, bytes] | None:
    """Name -> content of what was handed over through shared memory, else on the console; None
    where nothing was.

    Raises:
        DataError: It is damaged.
    """
    head = _HEADER.match(memory)
    if head:
        length = int(head[1])
        return _files(_checked(memory[HEADER_BYTES : HEADER_BYTES + length], head))
    plain = console.replace(b"\r", b"")
    heads = list(_HEADER.finditer(plain))
    if not heads:
        return None
    found = heads[-1]
    text, end, _ = plain[found.end() :].partition(_END)
    if not end:
        return None
    try:
        payload = b"".join(binascii.a2b_base64(line) for line in text.split())
    except binascii.Error as error:
        raise DataError(f"what the machine wrote on its console is damaged: {error}", _HINT) from (
            error
        )
    return _files(_checked(payload, found))


def _checked(payload: bytes, head: re.Match[bytes]) -> bytes:
    if len(payload) != int(head[1]):
        raise DataError(
            f"what the machine handed over has {len(payload)} bytes, not {int(head[1])}", _HINT
        )
    if zlib.crc32(payload) != int(head[2], 16):
        raise DataError("what the machine handed over is damaged: its checksum differs", _HINT)
    return payload


def _files(payload: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    at = 0
    while at < len(payload):
        if at + 8 > len(payload):
            raise DataError("what the machine handed over ends in the middle of a file", _HINT)
        name_bytes, size = struct.unpack_from("<II", payload, at)
        name, at = payload[at + 8 : at + 8 + name_bytes], at + 8 + name_bytes
        content, at = payload[at : at + size], at + size
        if at > len(payload) or not 0 < name_bytes <= _NAME_MOST:
            raise DataError("what the machine handed over ends in the middle of a file", _HINT)
        found[name.decode(errors="replace")] = content
    return found
