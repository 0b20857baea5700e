"""From a running program to its task set: what was recorded, jobs, sections, chains, arrivals."""
