"""Task sets to C: one readable file of const tables (``runtime/include/deadbeat/tables.h``)."""

from deadbeat.emit.tables import TABLES_VERSION, emit_batch, task_set_id

__all__ = ["TABLES_VERSION", "emit_batch", "task_set_id"]
