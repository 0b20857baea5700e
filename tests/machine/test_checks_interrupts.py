"""What reaches the real-time CPUs: made-up machines for every check of the family."""

from helpers.checks import Cases, Thread, case, window

ONLINE = {"/sys/devices/system/cpu/online": "0-1\n"}
DENIED = "denied: Permission denied"
RECEIVE = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
SEND = "/sys/class/net/eth0/queues/tx-0/xps_cpus"
NONE = "failed: cat: No such file or directory"
READ_ONLY = "-r--r--r-- 1 root root 0 Nov 22 /proc/irq/36/smp_affinity\n"
BOTH = "-rw-r--r-- 1 root root 0 Nov 22 /proc/irq/41/smp_affinity\n"
ROWS = {
    "36": ("PCI-MSI 1-edge virtio1-req.0", (5, 5), (5, 7)),
    "41": ("PCI-MSI 1-edge eth0-rx", (5, 5), (9, 5)),
    "11": ("GICv3 27 Level arch_timer", (1, 1), (9, 9)),
    "LOC": ("Local timer interrupts", (0, 0), (10, 4)),
    "CAL": ("Function call interrupts", (0, 0), (0, 5)),
}
QUIET = {**ROWS, "36": ("PCI-MSI 1-edge virtio1-req.0", (5, 5), (5, 5))}
BUSY = {**ROWS, "LOC": ("Local timer interrupts", (0, 0), (10, 500)),
        "CAL": ("Function call interrupts", (0, 0), (0, 60))}  # fmt: skip
#: What boards count beside devices: names as drivers/clocksource, arch/arm64/kvm and drivers/perf
#: of Linux give them, in the columns of a board's /proc/interrupts.
BOARD = {
    "5": ("RISC-V INTC 5 Edge riscv-timer", (1, 1), (90, 90)),
    "9": ("GICv3 25 Level vgic", (0, 0), (0, 3)),
    "11": ("GICv3 30 Level kvm guest ptimer", (0, 0), (0, 4)),
    "16": ("GIC-0 29 Level twd", (800, 790), (840, 830)),
    "17": ("GPC 55 Level i.MX Timer Tick", (9, 0), (9, 7)),
    "33": ("KVM 1 Level kvm guest vtimer", (0, 0), (0, 4)),
    "36": ("GIC-0 94 Level arm-pmu", (0, 0), (0, 2)),
    "41": ("GIC-0 150 Level 2188000.ethernet", (5, 5), (9, 5)),
}
BALANCE = Thread(tid=50, name="irqbalance")
IRQ_THREAD = Thread(tid=51, name="irq/24-acpi", kernel=True, policy=1, priority=50, cpus="0")
LATE = Thread(tid=52, name="control", policy=1, priority=40)
KHUGE = Thread(tid=53, name="khugepaged", kernel=True)
PLACED = {key: text.replace("list:\t0-1", "list:\t0") for key, text in window(KHUGE).items()}


def irqs(cpu_of_36: str, cpu_of_41: str, name: str = "effective_affinity_list") -> dict[str, str]:
    return {
        **ONLINE,
        f"/proc/irq/36/{name}": f"{cpu_of_36}\n",
        f"/proc/irq/41/{name}": f"{cpu_of_41}\n",
        f"/proc/irq/11/{name}": "0-1\n",
    }


def ksoftirqd(ticks: int) -> Thread:
    return Thread(tid=19, name="ksoftirqd/1", kernel=True, cpus="1", ticks=(8, ticks))


CASES: Cases = {
    "interrupts.default-placement": {
    },
    "interrupts.disk-completion": {
        "pass no disk": case({"/sys/block/loop0/queue/rq_affinity": "1\n"}, says="none"),
    },
    "interrupts.on-rt-cpus": {
        "pass": case(outputs=window(interrupts=QUIET)),
        "unknown no CPU": case(outputs=window(interrupts=BUSY), rt_cpus=None,
                               says="no CPU is known"),
        "fail": case(outputs=window(interrupts=ROWS), says="36 (virtio1-req.0): 2 on CPU 1"),
        "fail board": case(outputs=window(interrupts=BOARD), rt_cpus=(0,),
                           says="41 (2188000.ethernet): 4 on CPU 0 |"),
    },
    "interrupts.placement": {
        "pass": case(irqs("0", "0"), outputs=window(interrupts=ROWS)),
        "fail": case(irqs("1", "0"), outputs=window(interrupts=ROWS), says="36 (virtio1-req.0)"),
        "unknown": case(ONLINE, outputs=window(interrupts=ROWS)),
    },
    "interrupts.managed": {
        "pass": case(irqs("0", "1"), outputs={**window(interrupts=ROWS),
                                              "irq-modes": READ_ONLY + BOTH}, says="1 managed"),
        "fail": case(irqs("1", "1"), outputs={**window(interrupts=ROWS),
                                              "irq-modes": READ_ONLY + BOTH}, says="36 (virtio1"),
        "fail by its name": case(irqs("1", "0"), outputs={
            **window(interrupts=ROWS), "irq-modes": READ_ONLY.replace("-r--", "-rw-") + BOTH}),
        "unknown": case(irqs("1", "1"), outputs=window(interrupts=ROWS)),
        "unknown none": case(outputs={**window(interrupts=ROWS), "irq-modes": READ_ONLY + BOTH},
                             says="no interrupt with an affinity"),
    },
    "interrupts.balancing": {
        "pass": case(outputs=window()),
        "pass isolated": case({"/sys/devices/system/cpu/isolated": "1\n"}, outputs=window(BALANCE)),
        "fail": case({"/etc/default/irqbalance": "#IRQBALANCE_BANNED_CPULIST=1\n"},
                     outputs=window(BALANCE), says="banned: none"),
        "unknown": case(outputs=window(visible=False)),
    },
    "interrupts.thread-priority": {
        "pass": case(outputs=window(IRQ_THREAD)),
        "pass none": case(outputs=window()),
        "fail": case(outputs=window(IRQ_THREAD, LATE), says="control (fifo 40)"),
        "unknown": case(outputs=window(visible=False)),
        "fail 51": case(
            outputs=window(Thread(tid=9, name="irq/9-x", kernel=True, policy=1, priority=51)),
            says="irq/9-x (fifo 51) |",
        ),
        "fail at 50": case(
            outputs=window(IRQ_THREAD, Thread(tid=9, name="x", policy=1, priority=50)), says="x (f"
        ),
        "pass others": case(
            outputs=window(
                IRQ_THREAD,
                Thread(tid=8, name="irq/8-mine", policy=1, priority=60),
                Thread(tid=9, name="migration", kernel=True, policy=1, priority=99),
                Thread(tid=10, name="x", policy=1, priority=51),
            )
        ),
        "fail lowest": case(
            outputs=window(IRQ_THREAD, Thread(tid=9, name="x", policy=1, priority=1)), says="x (fi"
        ),
    },
    "interrupts.kernel-threads": {
        "pass": case(ONLINE, outputs=PLACED),
        "fail": case(ONLINE, outputs=window(KHUGE), says="khugepaged"),
        "unknown": case(ONLINE, outputs={"window": window()["window"]}),
    },
    "interrupts.softirqs": {
        "pass": case(outputs=window(softirqs={"TIMER": ("", (0, 0), (5, 5)),
                                              "NET_RX": ("", (0, 0), (5, 0))})),
        "fail": case(outputs=window(softirqs={"NET_RX": ("", (0, 0), (0, 5))}), says="NET_RX: 5"),
    },
    "interrupts.softirq-threads": {
        "pass": case(outputs=window(ksoftirqd(8))),
        "fail": case(outputs=window(ksoftirqd(11)), says="ksoftirqd/1: 3 ticks"),
        "unknown": case(outputs=window()),
        "fail one tick": case(outputs=window(ksoftirqd(9)), says="1 ticks"),
    },
    "interrupts.receive-steering": {
        "pass": case({**ONLINE, RECEIVE: "0\n"}),
        "fail": case({**ONLINE, RECEIVE: "2\n"}, says="eth0 rx-0"),
        "unknown": case(ONLINE, refused={RECEIVE: DENIED}),
    },
    "interrupts.send-steering": {
        "pass": case({**ONLINE, SEND: "1\n"}, says="1 queues"),
        "pass one queue": case(ONLINE, refused={SEND: NONE}, says="0 queues"),
        "fail": case({**ONLINE, SEND: "3\n"}, says="eth0 tx-0"),
        "unknown": case(ONLINE, refused={SEND: DENIED}),
    },
    "interrupts.coalescing": {
        "pass": case(outputs={"network": "==eth0\nAdaptive RX: off  TX: off\nrx-usecs:\t3\n"}),
        "pass none": case(outputs={"network": "==\n"}, says="no device"),
        "fail": case(outputs={"network": "==a\nrx-usecs: 3\n==b\nrx-usecs: 50\n"}, says="b: rx"),
        "fail adaptive": case(
            outputs={"network": "==eth0\nAdaptive RX: on  TX: off\nrx-usecs:\t8\n"},
            says="eth0: rx-usecs 8, adaptive",
        ),
    },
    "interrupts.eee": {
        "pass": case(outputs={"network": "==eth0\n\tEEE status: disabled\n"}),
        "pass none": case(outputs={"network": "==v\nnetlink error: Operation not supported\n"}),
        "fail": case(
            outputs={"network": "==eth0\n\tEEE status: enabled - inactive\n"}, says="eth0"
        ),
    },
    "interrupts.network-queues": {
        "pass": case({**ONLINE, RECEIVE: "0\n"}, says="eth0: 1"),
        "fail": case({**ONLINE, RECEIVE: "0\n", RECEIVE.replace("rx-0", "rx-1"): "0\n"},
                     says="eth0: 2"),
        "unknown": case(ONLINE),
    },
    "interrupts.between-cpus": {
        "pass": case(outputs=window(interrupts=ROWS)),
        "fail": case(outputs=window(interrupts=BUSY), says="on CPU 1: 120/s"),
        "fail 12/s": case(
            outputs=window(interrupts={"CAL": ("Function call interrupts", (0, 0), (0, 6))})
        ),
    },
    "interrupts.timer-tick": {
        "pass": case(outputs=window(interrupts=BUSY), says="recorded"),
        "fail": case(outputs=window(interrupts=ROWS), workload="compute", says="CPU 1: 24/s"),
        "fail board": case(outputs=window(interrupts={"16": BOARD["16"]}), workload="compute",
                           says="CPU 1: 80/s"),
        "unknown": case(outputs=window()),
        "pass 10/s": case(
            outputs=window(interrupts={"LOC": ("Local timer interrupts", (0, 0), (0, 5))}),
            workload="compute",
            says="CPU 1: 10/s",
        ),
    },
}  # fmt: skip
