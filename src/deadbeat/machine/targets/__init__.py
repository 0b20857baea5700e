"""Machines under test: the seam, the local one and a scripted one."""

from deadbeat.machine.targets.base import Completed, Process, Target
from deadbeat.machine.targets.fake import Conversation, FakeProcess, FakeTarget
from deadbeat.machine.targets.local import LocalProcess, LocalTarget

__all__ = [
    "Completed",
    "Conversation",
    "FakeProcess",
    "FakeTarget",
    "LocalProcess",
    "LocalTarget",
    "Process",
    "Target",
]
