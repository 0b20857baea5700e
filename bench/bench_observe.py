"""What the preloaded library adds to a program that is observed: CPU time of a lock and its unlock.
Takes some seconds."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from common import report

from deadbeat.derive.shim import Shim
from deadbeat.targets.local import LocalTarget

REPEATS = 7
PAIRS = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    enum { PAIRS = 300000 };
    struct timespec used;
    for (int at = 0; at < PAIRS; at++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%.1f\\n", (double)(used.tv_sec * 1000000000 + used.tv_nsec) / PAIRS);
}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, LocalTarget() as here:
        source, program = Path(folder) / "pairs.c", Path(folder) / "pairs"
        source.write_text(PAIRS)
        subprocess.run(["cc", "-O2", "-pthread", source, "-o", program], check=True)
        sides: dict[str, list[float]] = {"without": [], "with": [], "with_charges": []}
        for _ in range(REPEATS):
            for side, costs in sides.items():
                with Shim(here, (str(program),), sleeps=side == "with_charges") as shim:
                    more = {} if side == "without" else shim.environment
                    done = subprocess.run(
                        [program], env=os.environ | more, check=True, stdout=-1, text=True
                    )
                costs.append(float(done.stdout))
        middle = {side: statistics.median(costs) for side, costs in sides.items()}
        more = {"all": sides, "with_charges": middle["with_charges"] - middle["without"]}
        added = middle["with"] - middle["without"]
        report("recording of a lock and its unlock", "<= 150 ns", added, "ns", more)


if __name__ == "__main__":
    main()
