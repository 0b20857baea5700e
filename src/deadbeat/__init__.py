"""deadbeat: where a multi-core Linux system starts missing its deadlines, and why."""
