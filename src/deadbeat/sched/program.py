"""Runs the jobs of a program as Linux would schedule them (core/src/program.cpp)."""

from __future__ import annotations

import numpy as np

#: Kinds of operations, and one of them; ``target``: number of a lock, or of a thread to wake.
COMPUTE, LOCK, UNLOCK, SUSPEND, WAKE = range(5)
OP = np.dtype([("kind", "<i8"), ("target", "<i8"), ("ns", "<i8")])
