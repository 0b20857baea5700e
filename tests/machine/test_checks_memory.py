"""What happens to memory: made-up machines for every check of the family."""

from helpers.checks import Cases, Thread, case, config, window

HUGE = "/sys/kernel/mm/transparent_hugepage"
ONLINE = "/sys/devices/system/cpu/online"
DENIED = "denied: Permission denied"
BALLOON = "/sys/bus/virtio/drivers/virtio_balloon/virtio0"
FEATURES = f"{BALLOON}/features"
CONTROL = Thread(tid=900, name="control", policy=1, priority=80, locked_kb=4096, faults=(7, 7))
LOOSE = Thread(tid=901, name="loose", policy=2, priority=40, faults=(7, 9))
DAMON = "/sys/kernel/mm/damon/admin/kdamonds/0/state"
LIMITS = "Max locked memory         {}              {}              bytes     \n"


def huge(enabled: str, defrag: str = "madvise") -> dict[str, str]:
    return {
        f"{HUGE}/enabled": " ".join(f"[{w}]" if w == enabled else w for w in
                                    ("always", "madvise", "never")),
        f"{HUGE}/defrag": " ".join(f"[{w}]" if w == defrag else w for w in
                                   ("always", "defer", "defer+madvise", "madvise", "never")),
    }  # fmt: skip


def process(memlock: str, capabilities: int) -> dict[str, str]:
    return {
        "/proc/self/limits": LIMITS.format(memlock, memlock),
        "/proc/self/status": f"Name:\tcat\nCapEff:\t{capabilities:016x}\n",
    }


SWAPS = "Filename\tType\tSize\tUsed\tPriority\n"
CASES: Cases = {
    "memory.swap": {
        "pass": case({"/proc/swaps": SWAPS}),
        "pass little": case({"/proc/swaps": f"{SWAPS}/dev/vda2 partition 9 0 -2\n",
                             "/proc/sys/vm/swappiness": "10\n"}),
        "fail": case({"/proc/swaps": f"{SWAPS}/dev/vda2 partition 9 0 -2\n",
                      "/proc/sys/vm/swappiness": "60\n"}, says="/dev/vda2, swappiness 60"),
        "fail eleven": case({"/proc/swaps": f"{SWAPS}/dev/vda2 partition 9 0 -2\n",
                             "/proc/sys/vm/swappiness": "11\n"}),
    },
    "memory.khugepaged": {
        "pass": case({**huge("madvise"), f"{HUGE}/khugepaged/defrag": "0\n"}),
        "pass never": case(huge("never")),
        "pass not built": case(outputs=config("SMP=y"), says="TRANSPARENT_HUGEPAGE is not set"),
        "fail": case({**huge("madvise"), f"{HUGE}/khugepaged/defrag": "1\n"}),
        "unknown": case(huge("madvise")),
    },
    "memory.lock-limit": {
        "pass": case(process("8388608", 1 << 14), says="CAP_IPC_LOCK"),
        "pass unlimited": case(process("unlimited", 0)),
        "fail": case(process("8388608", 0), says="8192 kB"),
        "unknown": case({"/proc/self/status": "CapEff:\t0\n"}),
    },
    "memory.dirty": {
        "pass": case({"/proc/sys/vm/dirty_bytes": "0\n", "/proc/sys/vm/dirty_ratio": "10\n"}),
        "pass bytes": case({"/proc/sys/vm/dirty_bytes": "9000000\n"}),
        "fail": case({"/proc/sys/vm/dirty_bytes": "0\n", "/proc/sys/vm/dirty_ratio": "20\n"}),
        "fail 11": case({"/proc/sys/vm/dirty_bytes": "0\n", "/proc/sys/vm/dirty_ratio": "11\n"}),
    },
    "memory.page-reporting": {
        "pass": case({ONLINE: "0-1\n", FEATURES: "0110000000\n"}, says="not negotiated"),
        "pass no balloon": case({ONLINE: "0-1\n"}, says="no balloon"),
        "fail": case({ONLINE: "0-1\n", FEATURES: "0110010000\n"}),
        "unknown": case({ONLINE: "0-1\n"}, refused={FEATURES: DENIED}),
    },
    "memory.access-monitor": {
        "pass": case({DAMON: "off\n"}, outputs=window()),
        "fail": case(outputs=window(Thread(tid=60, name="kdamond.0", kernel=True)),
                     says="kdamond.0"),
        "fail by its state": case({DAMON: "on\n"}, outputs=window()),
        "unknown": case(outputs=window(visible=False)),
    },
    "memory.locked-tasks": {
        "pass": case(outputs=window(CONTROL), says="control (fifo 80)"),
        "fail": case(outputs=window(CONTROL, LOOSE), says="loose (rr 40) |"),
        "unknown": case(outputs=window(), says="start yours"),
    },
    "memory.faults": {
        "pass": case(outputs=window(CONTROL)),
        "fail": case(outputs=window(CONTROL, LOOSE), says="loose (rr 40): 2"),
        "unknown": case(outputs=window()),
    },
}  # fmt: skip
