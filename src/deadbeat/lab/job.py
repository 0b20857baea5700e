"""What a virtual machine does from its boot to its end (runtime/port/linux/guest.c)."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen

from deadbeat.model.errors import UsageError

#: The program of the machine: its first process, and with other words what measures.
PROGRAM = "/init"
#: Where it finds its job.
JOB = "/job"
#: From the boot to the first figure, ns: what a kernel still does after it has started its first
#: process (p99 of 140 us on a 6.12 with voluntary preemption, 5 us after this).
WARM_UP_NS = 20_000_000_000
_WORD_MOST = 4000


@frozen
class Job:
    """Lines of a job; every method gives the job with one more.

    A word holds no blank: words are file names and options of ours. UsageError for another.
    """

    lines: tuple[str, ...] = field(default=())

    def read(self, prefix: str, patterns: Sequence[str]) -> Job:
        """Collect the files that match each pattern, under ``prefix`` and their path."""
        job = self
        for pattern in dict.fromkeys(patterns):
            job = job._and("read", prefix, pattern)
        return job

    def log(self, name: str) -> Job:
        """Collect the kernel's messages."""
        return self._and("log", name)

    def keep(self, path: str) -> Job:
        """Collect a file; the job ends where it is not there."""
        return self._and("keep", path)

    def sleep(self, ns: int) -> Job:
        """Virtual time passes, which costs next to nothing while the machine is idle."""
        return self._and("sleep", str(ns))

    def write(self, path: str, word: str) -> Job:
        """Into a file of the system, such as a setting."""
        return self._and("write", path, word)

    def run(self, name: str, argv: Sequence[str], *, limit_ns: int, given: str = "-") -> Job:
        """A program to its end; ``given``: a file for its standard input.

        ``/tmp/NAME.out``, ``.err`` and ``.status`` are collected, 124 where ``limit_ns`` was over.
        """
        return self._and("run", name, str(limit_ns), given, *argv)

    def start(self, name: str, argv: Sequence[str]) -> Job:
        """A program in the background."""
        return self._and("start", name, *argv)

    def stop(self, name: str) -> Job:
        """Ends it with all it started, and collects as `run` does."""
        return self._and("stop", name)

    @property
    def text(self) -> bytes:
        return "".join(f"{line}\n" for line in self.lines).encode()

    def _and(self, *words: str) -> Job:
        for word in words:
            if not word or len(word) > _WORD_MOST or not word.isprintable() or " " in word:
                raise UsageError(f"{word!r} can be no word of a job", "leave blanks out")
        return Job((*self.lines, " ".join(words)))
