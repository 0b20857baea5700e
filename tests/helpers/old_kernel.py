"""Programs as a kernel runs them that does not know a call yet."""

import platform
import sys

#: Of pidfd_open (Linux 5.3), on every architecture (the kernel's syscall tables).
PIDFD_OPEN = 434
#: Of clock_nanosleep, on this one; None: not known here.
CLOCK_NANOSLEEP = {"x86_64": 230, "aarch64": 115, "riscv64": 115}.get(platform.machine())

# Struct sock_fprog of seccomp(2): load the number; of the one: ENOSYS (38); all others: allowed.
_SCRIPT = """
import ctypes, os, struct, sys
call, user, *argv = sys.argv[1:]
lines = (0x20, 0, 0, 0), (0x15, 0, 1, int(call)), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7FFF0000)
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, program, 0, 0) != 0:
    sys.exit(77)
if user:
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
os.execv(argv[0], argv)
"""
#: Exit status where a filter of system calls is refused.
REFUSED = 77


def without_call(number: int, *argv: str, user: int | None = None) -> tuple[str, ...]:
    """``argv``, whose processes get ENOSYS for a system call, as ``user`` where one is given."""
    whose = "" if user is None else str(user)
    return (sys.executable, "-c", _SCRIPT, str(number), whose, *argv)
