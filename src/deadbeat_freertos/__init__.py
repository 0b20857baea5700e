"""FreeRTOS for deadbeat: task sets on an emulated board, in virtual time, or hosted on this Linux.

Found by the entry point ``freertos`` of ``deadbeat.executors``: `make`, and `PORT` for its C tree.
"""

from deadbeat_freertos.build import PORT
from deadbeat_freertos.executor import freertos_executor as make

__all__ = ["PORT", "make"]
