"""``deadbeat latency``: how late a real-time task wakes up, beside every load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deadbeat.cli._latency import run_latency
from deadbeat.cli._latency_import import import_files
from deadbeat.cli._options import json_option, runs_option, typed

#: Option, key of the specification, metavar, help. The rules of the values are in latency.spec.
_VALUES = (
    ("--name", "name", "NAME", "Name of the folder.  [latency, or with the preset's name]"),
    (
        "--loads",
        "loads",
        "LIST",
        "What runs beside it: idle,50,cpu:75,memory,io,timer,scheduler,mixed or all.  [all]",
    ),
    ("--engine", "engines", "LIST", "prober, cyclictest or both in turn.  [both where installed]"),
    ("--cpus", "cpus", "LIST", "CPUs to measure, a thread on each: 0-3.  [all]"),
    (
        "--duration",
        "duration",
        "TIME",
        "Of each load, engine and repeat: 10s, 5min, 6h, 3d; a number is seconds; long ones in"
        " pieces.  [2s]",
    ),
    ("--seconds", "duration", "TIME", "The same."),
    ("--repeats", "repeats", "N", "Times each is measured, all in random order.  [5]"),
    ("--interval", "interval", "TIME", "Period of the measuring threads: 1000us.  [1ms]"),
    ("--priority", "priority", "N", "Their real-time priority, 1 to 99.  [90]"),
    ("--policy", "policy", "fifo|other", "other needs no permission, marks every result.  [fifo]"),
    (
        "--dma-latency",
        "dma_latency",
        "hold|system",
        "Keep deep idle states off while measuring, as cyclictest does, or leave them.  [hold]",
    ),
    (
        "--keep-above",
        "keep_above",
        "TIME",
        "Trace all the time; tell the cause of a run's worst wake-up later than this.  [no]",
    ),
    ("--deadline", "deadlines", "LIST", "Say of these latencies how often they occur: 100us,1ms."),
    ("--seed", "seed", "N", "The order of the runs derives from it.  [1]"),
)


def _value_options(function: Any) -> Any:
    for option, _, metavar, text in reversed(_VALUES):
        function = click.option(option, metavar=metavar, help=text)(function)
    return function


@click.command()
@click.option("--quick", is_flag=True, help="Under one minute: preset quick.")
@click.option(
    "--campaign",
    "campaign_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the parameters from a TOML file; options win over it.",
)
@_value_options
@click.option("--trace", is_flag=True, help="Also split the path of wake-ups by kernel events.")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="[LOAD=]FILE",
    help="Measure nothing: read results of cyclictest (JSON, text), jitterdebugger or OSADL.",
)
@click.option("--fresh", is_flag=True, help="Begin anew, also where one could be continued.")
@click.option("--retry-failed", is_flag=True, help="Measure again what failed in the last matrix.")
@click.option(
    "--retry-invalid",
    is_flag=True,
    help="Measure again what is invalid in the last matrix.",
)
@click.option("--fail-on", metavar="invalid", help="Exit status 1 when a run is invalid.")
@click.option(
    "--figures/--no-figures", default=True, help="Also draw PNG, SVG and PDF figures.  [yes]"
)
@click.option(
    "--simulated",
    is_flag=True,
    help="Use a made-up machine: shows how deadbeat works, says nothing about this one.",
)
@runs_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Measure wake-up latency: how late a periodic real-time task gets its CPU.

    A thread on every CPU sleeps until a moment and looks how much later it is awake; that is
    repeated beside every background load. Two engines take turns: deadbeat's own prober, and
    cyclictest where it is installed (Debian: rt-tests). Loads are stress-ng's.

    Results live in RUNS/NAME. The same command continues what was interrupted, and begins anew
    (NAME-2, ...) once all is finished. A run beside which something else ran, or from which
    the host took time, counts, and says so. One that did not measure what it claims (another
    priority, a load that never ran) is kept, called invalid with the reason, and counted nowhere;
    --retry-invalid measures such runs again.
    """
    layer, names = typed(_VALUES, options)
    if options["quick"]:
        layer["preset"], names["preset"] = "quick", "--quick"
    if options["trace"]:
        layer["trace"], names["trace"] = True, "--trace"
    if options["imports"]:
        return import_files(options, layer=layer, names=names)

    words = ctx.find_root().obj or ["latency"]
    return run_latency(options, layer=layer, names=names, words=words)
