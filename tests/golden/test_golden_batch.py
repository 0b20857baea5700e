"""The truth is tests/golden/batch.c, read once by a person and kept: same seed, same bytes; and
task-sets.json, made when synthesis knew only its first rules."""

import json
import os
import subprocess
import sys

import golden_task_sets as task_sets
from golden_batch import GOLDEN, golden_batch

from deadbeat.tasksets.emit import emit_batch
from deadbeat.tasksets.synthesis import GENERATOR_VERSION


def test_byte_identical():
    assert emit_batch(golden_batch()) == GOLDEN.read_text(encoding="ascii")


def test_byte_identical_whatever_the_hash_seed():
    code = "import sys; from golden_batch import *;sys.stdout.write(emit_batch(golden_batch()))"
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        output = subprocess.run(
            [sys.executable, "-c", code],
            cwd=GOLDEN.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert output == GOLDEN.read_text(encoding="ascii")


def test_bindings_share_the_tables_of_their_program():
    text = GOLDEN.read_text(encoding="ascii")
    # Sets 1 and 2 differ in alpha only: no second table of uses and segments.
    assert "uses_1_0[]" in text and "uses_2_0" not in text
    assert "segments_1_0[]" in text and "segments_2_0" not in text
    assert "contexts_2_0[]" in text


def test_sources_are_ascii_without_trailing_blanks():
    lines = GOLDEN.read_bytes().decode("ascii").split("\n")
    assert lines[-1] == ""
    assert not any(line != line.rstrip() or len(line) > 200 for line in lines)


def test_stored_seeds_still_give_stored_programs():
    stored = json.loads(task_sets.GOLDEN.read_text(encoding="ascii"))
    assert (task_sets.golden_task_sets(), GENERATOR_VERSION) == (stored, "1")
