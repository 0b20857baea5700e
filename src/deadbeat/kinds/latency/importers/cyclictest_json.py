"""``cyclictest --json=FILE -h N``."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from deadbeat.kinds.latency.cyclictest_command import called
from deadbeat.kinds.latency.cyclictest_json import read_cyclictest
from deadbeat.kinds.latency.imported import Foreign, Importer


def _read(text: str, name: str) -> Foreign:
    result = read_cyclictest(text, name=name)
    return Foreign(
        engine="cyclictest",
        cpus=result.cpus,
        started=_when(result.started),
        version=f"cyclictest V {result.version}".strip(),
        host=result.host,
        kernel=result.kernel,
        **called(result.command, threads=len(result.cpus)),
    )


def _when(text: str) -> str:
    """RFC 2822 as RFC 3339, where it is one."""
    try:
        return parsedate_to_datetime(text).isoformat(timespec="seconds")
    except (ValueError, TypeError):
        return text


IMPORTER = Importer(
    name="cyclictest --json",
    engine="cyclictest",
    fits=lambda text: text.lstrip().startswith("{") and '"resolution_in_ns"' in text,
    read=_read,
)
