"""What all houses stand on: kinds, runs, statistics, stored results, pages, verdicts."""
