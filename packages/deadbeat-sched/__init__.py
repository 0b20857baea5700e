"""The library of schedulability of deadbeat, which is installed without the rest: `deadbeat.sched`."""
