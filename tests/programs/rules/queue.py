"""A real-time thread of Python that waits for an ordinary one, and prints: 100 jobs."""

import os
import queue
import threading
import time

given: queue.SimpleQueue[float] = queue.SimpleQueue()


def serve() -> None:
    for _ in range(100):
        time.sleep(0.004)
        given.put(time.monotonic())


os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
server = threading.Thread(target=serve)
server.start()
os.sched_setscheduler(server.native_id or 0, os.SCHED_OTHER, os.sched_param(0))
for _ in range(100):
    print(given.get(), flush=True)
