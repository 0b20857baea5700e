"""The C twin of a task set, and its name by content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from attrs import frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.tasksets.model.tasks import Entry, Kind, Task, TaskSet

#: DB_TABLES_VERSION of tables.h; written as a number, so that the runtime can refuse another.
TABLES_VERSION = 1

_PER_LINE = 8


@frozen
class _Layout:
    """A task's contexts, and its uses by segment as (context, repeats).

    NS uses of one entry share a context. Every SY use has its own, so that a contended and a
    parallel binding of the same program differ in nothing but the resource.
    """

    contexts: list[tuple[Entry, int | None]]
    rows: list[list[tuple[int, int]]]


def _layout(task: Task) -> _Layout:
    contexts: list[tuple[Entry, int | None]] = []
    shared: dict[Entry, int] = {}
    rows = []
    for segment in task.segments:
        row = []
        for use in segment.uses:
            if segment.kind is Kind.SY:
                index = len(contexts)
                contexts.append((use.entry, use.resource))
            else:
                index = shared.setdefault(use.entry, len(contexts))
                if index == len(contexts):
                    contexts.append((use.entry, None))
            row.append((index, use.repeats))
        rows.append(row)
    return _Layout(contexts, rows)


def task_set_id(task_set: TaskSet) -> str:
    """Name of what is executed, 64 hexadecimal digits: SHA-256 of a canonical text.

    Cores, resources, and for each task its timing, priority, seed, contexts and uses by segment.
    Not in it: what was asked for (sync_share, contended_ratio, budgets), the set's seed, names.
    """
    return _identify(task_set, [_layout(task) for task in task_set.tasks])


def _identify(task_set: TaskSet, layouts: Sequence[_Layout]) -> str:
    lines = [f"deadbeat task set {TABLES_VERSION}", f"cores {task_set.cores}"]
    lines += [f"resource {item.fragment} {_number(item.core)}" for item in task_set.resources]
    for task, layout in zip(task_set.tasks, layouts, strict=True):
        lines.append(
            f"task {task.core} {task.wcet_ns} {task.period_ns} {task.deadline_ns} "
            f"{task.offset_ns} {task.priority} {task.seed}"
        )
        for entry, resource in layout.contexts:
            lines.append(f"context {entry.fragment} {entry.size} {_number(resource)}")
        for segment, row in zip(task.segments, layout.rows, strict=True):
            uses = " ".join([f"{context}x{repeats}" for context, repeats in row])
            lines.append(f"segment {segment.kind.value} {uses}")
    return sha256("\n".join(lines).encode()).hexdigest()


def _number(index: int | None) -> str:
    return "-" if index is None else str(index)


def emit_batch(task_sets: Sequence[TaskSet]) -> str:
    """The C file of a batch; ``db_task_sets[i]`` is ``task_sets[i]``.

    The text depends on the task sets alone. Tables that several sets have in common (the uses of
    one program under several bindings) are written once.

    Raises:
        UsageError: The batch is empty.
    """
    if not task_sets:
        raise UsageError("a batch without task sets", "give at least one")
    batch = _Batch()
    for index, task_set in enumerate(task_sets):
        batch.add(index, task_set)
    return batch.text(len(task_sets))


class _Batch:
    """Grows the body of the file; remembers which table is already in it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._names: dict[str, str] = {}
        self._fragments: set[str] = set()

    def add(self, index: int, task_set: TaskSet) -> None:
        layouts = [_layout(task) for task in task_set.tasks]
        set_id = _identify(task_set, layouts)
        self._parts.append(
            f"\n/* ==== task set {index}: M={task_set.cores} N={len(task_set.tasks)} "
            f"rho={task_set.sync_share} alpha={task_set.contended_ratio} seed={task_set.seed} "
            f"generator={task_set.generator}\n"
            f" * {set_id} */\n"
        )
        resources = self._resources(index, task_set)
        tasks = [
            self._task(f"{index}_{number}", task_set, task, layout)
            for number, (task, layout) in enumerate(zip(task_set.tasks, layouts, strict=True))
        ]
        self._parts.append(
            f"static const struct db_task tasks_{index}[] = {{\n{''.join(tasks)}}};\n"
            f"static const struct db_task_set set_{index} = {{\n"
            f'    .id = "{set_id}",\n'
            f"    .cores = {task_set.cores},\n"
            f"    .task_count = {len(tasks)},\n"
            f"    .resource_count = {len(task_set.resources)},\n"
            f"    .tasks = tasks_{index},\n"
            f"    .resources = {resources},\n"
            "};\n"
        )

    def _table(self, kind: str, name: str, lines: Iterable[str]) -> str:
        """Name of a table of these lines: a new one, or the same as before."""
        body = "".join(lines)
        if not body:
            return "NULL"
        key = kind + body
        known = self._names.setdefault(key, name)
        if known == name:
            self._parts.append(f"static const struct {kind} {name}[] = {{\n{body}}};\n")
        return known

    def _resources(self, index: int, task_set: TaskSet) -> str:
        self._fragments.update(resource.fragment for resource in task_set.resources)
        return self._table(
            "db_resource_spec",
            f"resources_{index}",
            [
                f"    {{&db_fragment_{resource.fragment}, "
                f"{'DB_ALL_CORES' if resource.core is None else resource.core}}},"
                f" /* {number}: {resource.access.value} */\n"
                for number, resource in enumerate(task_set.resources)
            ],
        )

    def _task(self, suffix: str, task_set: TaskSet, task: Task, layout: _Layout) -> str:
        self._fragments.update(entry.fragment for entry, _ in layout.contexts)
        contexts = self._table(
            "db_context_spec",
            f"contexts_{suffix}",
            [
                f"    {{&db_fragment_{entry.fragment}, {entry.size}, DB_NO_RESOURCE}},"
                f" /* {number}: {entry} */\n"
                if resource is None
                else f"    {{&db_fragment_{entry.fragment}, {entry.size}, {resource}}},"
                f" /* {number}: {entry} {task_set.resources[resource].access.value} */\n"
                for number, (entry, resource) in enumerate(layout.contexts)
            ],
        )
        lines = []
        for segment, row in zip(task.segments, layout.rows, strict=True):
            cells = [f"{{{context}, {repeats}}}," for context, repeats in row]
            for begin in range(0, len(cells), _PER_LINE):
                lines.append(
                    f"    /* {segment.kind.value} */ {' '.join(cells[begin : begin + _PER_LINE])}\n"
                )
        uses = self._table("db_use", f"uses_{suffix}", lines)
        lines = []
        first = 0
        for segment, row in zip(task.segments, layout.rows, strict=True):
            lines.append(
                f"    {{DB_{segment.kind.value}, {first}, {len(row)}, {segment.budget_ps}u}},"
                f" /* cost {segment.cost_ps} ps */\n"
            )
            first += len(row)
        segments = self._table("db_segment", f"segments_{suffix}", lines)
        return (
            "    {\n"
            f"        .core = {task.core},\n"
            f"        .context_count = {len(layout.contexts)},\n"
            f"        .segment_count = {len(task.segments)},\n"
            f"        .use_count = {sum(len(row) for row in layout.rows)},\n"
            f"        .priority = {task.priority},\n"
            f"        .wcet_ns = {task.wcet_ns}u,\n"
            f"        .period_ns = {task.period_ns}u,\n"
            f"        .deadline_ns = {task.deadline_ns}u,\n"
            f"        .offset_ns = {task.offset_ns}u,\n"
            f"        .seed = {task.seed}u,\n"
            f"        .contexts = {contexts},\n"
            f"        .segments = {segments},\n"
            f"        .uses = {uses},\n"
            "    },\n"
        )

    def text(self, count: int) -> str:
        externs = "".join(
            f"extern const struct db_fragment db_fragment_{name};\n"
            for name in sorted(self._fragments)
        )
        pointers = "".join(f"    &set_{index},\n" for index in range(count))
        return (
            "/*\n"
            " * Task sets by deadbeat: const tables, no code (deadbeat/tables.h). Do not edit.\n"
            " * A use is {context, repeats}; a segment is {kind, first use, uses, budget in ps}.\n"
            " */\n"
            '#include "deadbeat/tables.h"\n\n'
            f"{externs}"
            f"{''.join(self._parts)}\n"
            f"const uint32_t db_tables_version = {TABLES_VERSION};\n"
            f"const uint32_t db_task_set_count = {count};\n"
            f"const struct db_task_set *const db_task_sets[] = {{\n{pointers}}};\n"
        )
