"""The truth is tests/golden/task-sets.json: made when synthesis knew only its first rules, kept."""

import json

from golden_task_sets import GOLDEN, golden_task_sets

from deadbeat.synthesis import GENERATOR_VERSION


def test_stored_seeds_still_give_stored_programs():
    assert golden_task_sets() == json.loads(GOLDEN.read_text(encoding="ascii"))
    assert GENERATOR_VERSION == "1"
