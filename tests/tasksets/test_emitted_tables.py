"""The truth is the C compiler: what it reads out of the emitted tables is the task set."""

import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from deadbeat.base.model.errors import UsageError
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.emit import TABLES_VERSION, emit_batch, task_set_id
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.synthesis import Synthesiser, SynthesisParameters, seed_for

INCLUDE = Path(__file__).parents[2] / "runtime" / "include"
FLAGS = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes", "-Wshadow"]
FRAGMENTS = example_fragments()

DUMP = r"""
#include <inttypes.h>
#include <stdio.h>
#include "deadbeat/tables.h"

static void dump_task(const struct db_task *t)
{
    printf("task %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", t->core,
           t->priority, t->wcet_ns, t->period_ns, t->deadline_ns, t->offset_ns, t->seed);
    for (uint32_t s = 0, next = 0; s < t->segment_count; s++) {
        const struct db_segment *g = &t->segments[s];
        printf("segment %d %" PRIu64 " %d\n", g->kind, g->budget_ps, g->first_use == next);
        for (next = g->first_use; next < g->first_use + g->use_count; next++) {
            const struct db_use *u = &t->uses[next];
            const struct db_context_spec *c = &t->contexts[u->context];
            printf("use %d %s %u %d %u\n", u->context < t->context_count, c->fragment->name,
                   c->size, c->resource == DB_NO_RESOURCE ? -1 : c->resource, u->repeats);
        }
        if (s + 1 == t->segment_count)
            printf("uses %d\n", next == t->use_count);
    }
}

int main(void)
{
    printf("version %u sets %u\n", db_tables_version, db_task_set_count);
    for (uint32_t i = 0; i < db_task_set_count; i++) {
        const struct db_task_set *set = db_task_sets[i];
        printf("set %s %d\n", set->id, set->cores);
        for (uint32_t r = 0; r < set->resource_count; r++)
            printf("resource %s %d\n", set->resources[r].fragment->name,
                   set->resources[r].core == DB_ALL_CORES ? -1 : set->resources[r].core);
        for (uint32_t t = 0; t < set->task_count; t++)
            dump_task(&set->tasks[t]);
    }
    return 0;
}
"""


def expected(batch: list[TaskSet]) -> list[str]:
    lines = [f"version {TABLES_VERSION} sets {len(batch)}"]
    for task_set in batch:
        lines.append(f"set {task_set_id(task_set)} {task_set.cores}")
        for resource in task_set.resources:
            core = -1 if resource.core is None else resource.core
            lines.append(f"resource {resource.fragment} {core}")
        for t in task_set.tasks:
            lines.append(
                f"task {t.core} {t.priority} {t.wcet_ns} {t.period_ns} {t.deadline_ns} "
                f"{t.offset_ns} {t.seed}"
            )
            for segment in t.segments:
                kind = ["NS", "SY"].index(segment.kind)
                lines.append(f"segment {kind} {segment.budget_ps} 1")
                for use in segment.uses:
                    resource_index = -1 if use.resource is None else use.resource
                    lines.append(
                        f"use 1 {use.entry.fragment} {use.entry.size} {resource_index} "
                        f"{use.repeats}"
                    )
            lines.append("uses 1")
    return lines


def batch_of(count: int) -> list[TaskSet]:
    catalog = Catalog(fragments={fragment.name: fragment for fragment in FRAGMENTS})
    synthesiser = Synthesiser(catalog, example_calibration(example_entries(FRAGMENTS)))
    points = [(rho, alpha) for rho in (0, 1, 2, 4) for alpha in (0, 1, 4)]
    return [
        synthesiser.synthesise(
            SynthesisParameters(
                cores=cores,
                tasks=2 * cores,
                sync_share=Fraction(rho, 4),
                contended_ratio=Fraction(alpha, 4),
            ),
            seed_for(5, cores, replica),
        )
        for cores in (1, 3)
        for replica in range(count)
        for rho, alpha in points
    ]


def test_the_compiler_reads_the_task_set(tmp_path):
    batch = batch_of(3)
    stubs = "".join(
        f"extern const struct db_fragment db_fragment_{f.name};\n"
        f'const struct db_fragment db_fragment_{f.name} = {{.name = "{f.name}"}};\n'
        for f in FRAGMENTS
    )
    sources = {
        "batch.c": emit_batch(batch),
        "dump.c": DUMP,
        "stubs.c": f'#include "deadbeat/fragment.h"\n{stubs}',
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text, encoding="ascii")
    subprocess.run(
        ["gcc", *FLAGS, f"-I{INCLUDE}", *sources, "-o", "dump"], cwd=tmp_path, check=True
    )
    output = subprocess.run([tmp_path / "dump"], capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == expected(batch)


def test_only_used_fragments_are_declared():
    text = emit_batch(batch_of(1)[:1])
    declared = text.count("extern const struct db_fragment")
    used = {f.name for f in FRAGMENTS if f"&db_fragment_{f.name}," in text}
    assert declared == len(used)


def test_an_empty_batch_is_refused():
    with pytest.raises(UsageError, match="without task sets"):
        emit_batch([])
