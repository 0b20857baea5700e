"""What records, on a board without Python, what deadbeat would: lines of shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from textwrap import wrap

from deadbeat.program.derive.recorder import EVENTS, WAITS

_TEXT = """\
# On the board, as root, one of three; then elsewhere: deadbeat import FILE
cd /sys/kernel/tracing/events
E=$(ls -d {events} 2>/dev/null
for c in {calls}; do
    ls -d syscalls/sys_enter_$c syscalls/sys_exit_$c syscalls/sys_e*_${{c}}_time64
done 2>/dev/null)
cd - >/dev/null

# 1. trace.txt, by the kernel alone
T=/sys/kernel/tracing/instances/deadbeat-$$
mkdir $T || exit
trap 'sleep 1; kill $!; wait; rmdir $T' EXIT
trap : INT TERM  # ends the program alone
echo 0 >$T/tracing_on && echo mono >$T/trace_clock && echo 16384 >$T/buffer_size_kb
for e in $E; do echo 1 >$T/events/$e/enable; done
for o in event-fork record-tgid; do echo 1 >$T/options/$o; done
(trap '' INT; exec cat $T/trace_pipe >trace.txt) &
sh -c 'echo $$ >$0/set_event_pid; echo 1 >$0/tracing_on; exec "$@"' $T {command}

# 2. trace.dat, by trace-cmd
trace-cmd record -q -C mono -b 16384 -F -c $(printf ' -e %s' $E | tr / :) {command}

# 3. perf.data, by perf: of all programs, so name yours: deadbeat import --process NAME
P=$(printf '%s\n' $E | grep -v -e irq_vectors -e kmem -e exceptions | tr / : | paste -sd,)
perf record -q -a -k mono -m 4M -o perf.data -e "$P" --exclude-perf {command}
"""


def recipe(command: Sequence[str]) -> str:
    """The lines for a command; without one they say ./program."""
    plain = dict.fromkeys(name for name in EVENTS if not name.startswith("syscalls/"))
    events, calls = (" \\\n    ".join(wrap(" ".join(names), 90)) for names in (plain, WAITS))
    words = shlex.join(command) if command else "./program"
    return _TEXT.format(events=events, calls=calls, command=words)
