"""The truth is what this machine does: works of every sort run beside each other."""

from contextlib import closing

import numpy as np
import pytest
from helpers.hardware import LOCK_WAIT, TWO_CORES

from deadbeat.base.model.specification import read
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.interfere.engine import HardwareChannels
from deadbeat.tasksets.interfere.results import ALONE, ASLEEP, InterfereRun
from deadbeat.tasksets.interfere.spec import InterfereKey, InterfereSpec, machine_of, resolved

pytestmark = [pytest.mark.hardware, TWO_CORES]
#: Alone, in pairs whose second is above or beside the first, that sleep, and that make threads.
WORKS = (
    "matmul:8,pipe:1@shared,copy:4K,alloc:ring:1K,alloc:lifo:1K,lock:inherit,lock:spin,event:futex,"
    "event:sysv,event:sigwait,event:mutex,switch,sleep,thread,fault,syscall,clock"
)


def measured(works: str, policy: str = "fifo") -> tuple[InterfereSpec, InterfereRun]:
    with closing(LocalTarget()) as target:
        engine = HardwareChannels(target, lock_wait=LOCK_WAIT)
        asked = read(InterfereSpec, {}, {"works": works, "duration": "1", "policy": policy})
        cpus = engine.cpus()
        spec = resolved(asked, cpus, machine_of(engine.describe(), cpus[0]))
        return spec, engine.run(spec, InterfereKey(1, spec.aggressors[0]))


@pytest.mark.slow
def test_every_sort_of_work_is_measured_beside_every_other() -> None:
    spec, run = measured(WORKS)
    assert run.refused == {}
    slots = np.array(run.slots)
    counts = np.zeros((len(spec.works), len(spec.works) + 2), int)
    np.add.at(counts, (slots[:, 1], slots[:, 2]), 1)
    rounds = 1 + slots[:, 0].max()
    assert (counts[:, : len(spec.works)] == rounds).all()
    # the root of 17 + 1, rounded; as many asleep
    assert (counts[:, ALONE] == 4 * rounds).all()
    assert (counts[:, ASLEEP] == 4 * rounds).all()
    assert (slots[:, 3] > 0).all()
    assert (slots[:, 5] > 0).all()
    # a victim's slots of a round lie side by side
    changes = np.count_nonzero(np.diff(slots[:, 1]))
    assert changes <= rounds * len(spec.works)


def test_footprints_are_those_of_the_works() -> None:
    _, run = measured("pointer_chase:1024,copy:64K,event:futex")
    assert 1024 * 1024 <= run.footprints[0] < 1025 * 1024
    assert run.footprints[1:] == (2 * 64 * 1024, 0)


def test_ordinary_threads_take_turns_too() -> None:
    _, run = measured("matmul:8,switch,event:pipe", policy="other")
    assert run.refused == {}
    assert all(slot[3] > 0 for slot in run.slots)
