"""Looks at this machine's tracefs, wherever it is mounted."""

from __future__ import annotations

import subprocess

#: The instances of event tracing there are, and the machine's own settings, or why not.
LOOK = """
[ -f /sys/kernel/tracing/trace_clock ] || mount -t tracefs tracefs /sys/kernel/tracing || exit 1
cd /sys/kernel/tracing && ls instances && cat trace_clock tracing_on buffer_size_kb
"""


def look(script: str = LOOK) -> str | None:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else None
