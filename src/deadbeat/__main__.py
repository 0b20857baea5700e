"""Entry of the command line, which Ctrl-C may strike before anything is there to answer it.

Until `deadbeat.cli.main` takes over, it ends the process as it ends any other program, without a
word. What starts Python may have blocked the signal until here (``env --block-signal=INT``).
"""

import os
import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
#: Nothing here multiplies matrices, and a machine's limits or its measured CPUs may not take more
#: threads. Spelled like nowhere else, so that `targets.local` keeps it from other programs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "01")


def main() -> int:
    """Runs the command of ``sys.argv``; returns its exit status."""
    from deadbeat.cli.main import main as run  # noqa: PLC0415  after the signal

    return run()


if __name__ == "__main__":
    sys.exit(main())
