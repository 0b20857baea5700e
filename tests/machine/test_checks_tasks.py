"""Who else runs and what is allowed: made-up machines for every check of the family."""

from helpers.checks import Cases, Thread, case, window

ONLINE = {"/sys/devices/system/cpu/online": "0-1\n"}
ALL = (1 << 41) - 1
CONTROL = Thread(tid=900, name="control", policy=1, priority=80)
MULTIPATHD = Thread(tid=910, name="multipathd", policy=2, priority=99)
ELSEWHERE = Thread(tid=911, name="multipathd", policy=2, priority=99, cpus="0")
DENIED = "denied: Permission denied"
SERVICES = "state {}\nactive {}\nrunning {}\ntimers {}\n"


def limits(rtprio: str = "0", rttime: str = "unlimited") -> dict[str, str]:
    return {
        "/proc/self/limits": f"Max realtime priority     {rtprio}    {rtprio}\n"
        f"Max realtime timeout      {rttime}    {rttime}    us\n"
    }


def status(capabilities: int = ALL, uid: int = 0, seccomp: int = 0) -> dict[str, str]:
    return {
        "/proc/self/status": f"Name:\tcat\nUid:\t{uid}\t{uid}\nCapEff:\t{capabilities:016x}\n"
        f"Seccomp:\t{seccomp}\n",
        "/proc/self/uid_map": "         0          0 4294967295\n",
    }


def services(state: str = "running", active: int = 9, running: int = 7, timers: int = 0):
    return {"services": SERVICES.format(state, active, running, timers)}


FIRST = Thread(tid=1, name="systemd", cpus="0")
CASES: Cases = {
    "tasks.competitors": {
        "pass": case(outputs=window(CONTROL), says="control (fifo 80)"),
        "pass elsewhere": case(outputs=window(ELSEWHERE)),
        "fail": case(outputs=window(CONTROL, MULTIPATHD), says="multipathd (rr 99) |"),
        "unknown": case(outputs=window(CONTROL, visible=False)),
        "fail at 90": case(outputs=window(Thread(tid=9, name="x", policy=1, priority=90))),
    },
    "tasks.rtkit": {
        "pass": case(outputs=window(CONTROL)),
        "fail": case(outputs=window(Thread(tid=9, name="rtkit-daemon")), says="20 at most"),
    },
    "tasks.top-priority": {
        "pass": case(outputs=window(CONTROL)),
        "fail": case(outputs=window(ELSEWHERE)),
    },
    "tasks.periodic-jobs": {
        "pass": case(outputs={**window(), **services()}),
        "fail": case(outputs={**window(Thread(tid=8, name="cron")), **services(timers=3)},
                     says="cron, 3 timers"),
        "unknown": case(outputs=services()),
        "unknown timers": case(outputs=window(), says="services: no such program"),
    },
    "tasks.boot-over": {
        "pass": case(outputs={**window(), **services()}, says="100 s, running"),
        "fail": case(outputs={**window(), **services("starting")}),
        "pass after 60 s": case(
            outputs={"window": window()["window"].replace("100.50", "60.00")}, says="up for 60 s"
        ),
    },
    "tasks.realtime-permission": {
        "pass": case({**limits(), **status()}),
        "fail": case({**limits(), **status(0, 1000)}, says="RLIMIT_RTPRIO is 0, below 90"),
        "unknown": case(limits()),
    },
    "tasks.time-limit": {
        "pass": case(limits()),
        "fail": case(limits(rttime="200000"), says="as rtkit asks for"),
        "fail other": case(limits(rttime="9000"), says="9000 us"),
        "unknown": case({"/proc/self/limits": "Limit\n"}, says="no line"),
    },
    "tasks.limits-file": {
        "pass": case({**limits(), "/etc/security/limits.d/rt.conf": "@realtime   -  rtprio  95\n"}),
        "fail": case({**limits(),
                      "/etc/security/limits.conf": "#@realtime - rtprio 95\n* - nofile 9\n"}),
        "unknown": case(limits(), refused={"/etc/security/limits.d/rt.conf": DENIED}),
    },
    "tasks.capabilities": {
        "pass": case(status()),
        "fail": case(status(ALL & ~(1 << 24)), says="without CAP_SYS_RESOURCE |"),
        "unknown": case({"/proc/self/status": "Name:\tcat\n"}),
        "fail lock": case(status(ALL & ~(1 << 14)), says="without CAP_IPC_LOCK |"),
    },
    "tasks.first-process": {
        "pass": case(ONLINE, outputs=window(FIRST), says="systemd: CPU 0"),
        "fail": case(ONLINE, outputs=window(Thread(tid=1, name="init")), says="init: CPU 0-1"),
        "unknown": case(ONLINE, outputs=window()),
    },
    "tasks.ordinary": {
        "pass": case(ONLINE, outputs=window(CONTROL)),
        "fail": case(ONLINE, outputs=window(Thread(tid=8, name="cron")), says="cron |"),
        "unknown": case(ONLINE, outputs=window(visible=False)),
    },
    "tasks.containers": {
        "pass": case(outputs=window()),
        "fail": case(outputs=window(Thread(tid=8, name="dockerd")), says="dockerd"),
    },
}  # fmt: skip
