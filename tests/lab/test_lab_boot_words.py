"""Truth: a kernel that really boots with four CPUs, and shows what it makes of its command line."""

import re
from pathlib import Path

import pytest
from lab.test_lab_machine import guest

from deadbeat.lab.job import Job

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("machine")]

TABLE = Path(__file__).parents[1] / "pools/foreign/boot-words.tsv"
ROWS = {row.split("\t")[6]: row.split("\t") for row in TABLE.read_text().splitlines()[4:]}
CPU = "/sys/devices/system/cpu"
LINES = [
    "isolcpus=0-3",
    "isolcpus=0-1 nohz_full=0-1 rcu_nocbs=0-1",
    "isolcpus=nohz,domain,managed_irq,2-3",
    "isolcpus=nohz,2-3",
    "isolcpus=managed_irq,2-3",
    "isolcpus=2-3,managed_irq,domain nohz_full=2-3 rcu_nocbs=2-3",
    "isolcpus=domain",
    "isolcpus=nohz_full,2-3",
    "isolcpus=irq2,2-3",
    "isolcpus=all",
    "isolcpus=1-N",
    "isolcpus=2-4",
    "isolcpus=2-3;",
    "isolcpus=1-3 isolcpus=2-3",
    "isolcpus=1-3 nohz_full=2-3",
    "nohz_full=2-3 nohz_full=3",
    "nohz_full=0-3",
    "nohz-full=2-3",
    "rcu_nocbs=1,x",
    "rcu_nocbs=1 nohz_full=2-3",
    "irqaffinity=1,x,3",
    "irqaffinity=3 irqaffinity=0-1",
    'isolcpus="2 3"',
    "isolcpus=2-3,nohz_full=2-3",
]


def listed(text: str) -> str:
    return text.strip().replace("(null)", "") or "none"


@pytest.mark.parametrize("line", LINES)
def test_a_kernel_makes_of_boot_words_what_the_table_says(line: str) -> None:
    cpus, isolated, tickless, _, offloaded, irqs, *_ = ROWS[line]
    assert cpus == "4"
    job = Job().read(
        "now", [f"{CPU}/isolated", f"{CPU}/nohz_full", "/proc/irq/default_smp_affinity"]
    )
    machine = guest("6.12-amd64", words=line, mode="functional", cpus=4)
    files = machine.run(job.log("log"), seed=1, seconds=1).files
    text = {name.removeprefix("now"): each.decode() for name, each in files.items()}
    assert listed(text[f"{CPU}/isolated"]) == isolated
    assert listed(text[f"{CPU}/nohz_full"]) == tickless
    said = re.search(r"Offload RCU callbacks from CPUs: (.*?)\.", text["log"])
    assert (said[1].replace("(none)", "none") if said else "-") == offloaded
    mask = int(text["/proc/irq/default_smp_affinity"].replace(",", ""), 16)
    every = {"-": "0-3", "none": ""}.get(irqs, irqs)
    firsts = [part.partition("-")[::2] for part in every.split(",")]
    assert mask & 15 == sum(1 << cpu for a, b in firsts for cpu in range(int(a), int(b or a) + 1))
