"""What the system refused, and what to do about it: the same wherever it strikes."""

from __future__ import annotations

import errno
import os
import resource

#: Limits of this process: the shell's option, what it bounds.
_LIMITS = {
    errno.EAGAIN: ("-u", "processes and threads", resource.RLIMIT_NPROC),
    errno.EFBIG: ("-f", "the size of files", resource.RLIMIT_FSIZE),
    errno.EMFILE: ("-n", "open files", resource.RLIMIT_NOFILE),
    errno.ENOMEM: ("-v", "memory", resource.RLIMIT_AS),
}
_SPACE = "free space there, or {}, then repeat the command: what is finished is kept"
_PERMISSION = "check owner and permissions, or {}"
_HINTS = {
    errno.EACCES: _PERMISSION,
    errno.EDQUOT: _SPACE,
    errno.EIO: "the device fails: the kernel's log says more",
    errno.ENFILE: "the whole machine has too many open files: end some programs",
    errno.ENOSPC: _SPACE,
    errno.EPERM: _PERMISSION,
    errno.EROFS: "the file system is read-only: {}",
}
#: What programs and libraries write, in place of the system's words and beside them.
_WORDS = {
    "File size limit exceeded": errno.EFBIG,
    "Cannot fork": errno.EAGAIN,
    "can't fork": errno.EAGAIN,
    "fork: retry": errno.EAGAIN,
    "can't start new thread": errno.EAGAIN,
    "failed to map segment": errno.ENOMEM,
    "Out of memory": errno.ENOMEM,
    **{os.strerror(number): number for number in (*_LIMITS, *_HINTS)},
}
_ELSEWHERE = "choose another folder"
OTHER_TMPDIR = "set TMPDIR to another folder"


def refusal(
    what: str, error: Exception, otherwise: str = "", elsewhere: str = _ELSEWHERE
) -> tuple[str, str]:
    """Message and hint of an OSError (or of a name that no file can have): ``what`` failed."""
    reason = getattr(error, "strerror", None) or error
    return f"{what}: {reason}", hint_of(getattr(error, "errno", None), otherwise, elsewhere)


def hint_of(number: int | None, otherwise: str = "", elsewhere: str = _ELSEWHERE) -> str:
    """What to do about an error of this number. ``otherwise``: the hint where nothing is known;
    ``elsewhere``: how to name another folder."""
    if number in _LIMITS:
        option, what, limit = _LIMITS[number]
        most = resource.getrlimit(limit)[0]
        now = "unlimited: free some" if most == resource.RLIM_INFINITY else f"{most}: raise it"
        return f"the limit of {what} (ulimit {option}) is {now}"
    if number == errno.ENOENT and os.stat(".").st_nlink == 0:  # noqa: PTH116
        return "the current folder was removed: change to another"
    return _HINTS.get(number or 0, otherwise).format(elsewhere)


def hint_in(words: str, otherwise: str = "", elsewhere: str = _ELSEWHERE) -> str:
    """Find what `hint_of` does, in the words that a program or a library left."""
    number = next((_WORDS[each] for each in _WORDS if each in words), None)
    return hint_of(number, otherwise, elsewhere)
