"""Short definitions of the words in a report; the full ones: docs/reference/metrics.md."""

from __future__ import annotations

#: Term and definition, in the order in which a reader meets them.
TERMS: tuple[tuple[str, str], ...] = (
    (
        "M, ρ, α",
        "The three axes. M is the number of cores. ρ (synchronisation share) is the part of a "
        "task's computation that is synchronisation. α (contended ratio) is the part of the "
        "synchronisation that is bound to objects shared between cores; the rest uses the same "
        "code on core-local objects.",
    ),
    (
        "Task set, point, replica",
        "A point is one (M, ρ, α). At each point several random task sets (replicas) run. With "
        "the same M and replica number the programs are the same; α only changes which objects "
        "they use.",
    ),
    (
        "C, T, D",
        "C is a task's cost by calibration, alone on its core. Its period T and relative deadline "
        "D follow from C by the deadline factor.",
    ),
    (
        "Span, response time",
        "Release r, start s and finish f belong to a job. Span is f − s, response time f − r.",
    ),
    (
        "Slowdown",
        "Span divided by the span of the same task alone: same core, same cadence, no other task "
        "on any core, in short slots between those in which all run, in random order. 1 means "
        "that the others do no harm. It does not depend on calibration; it is the headline.",
    ),
    (
        "Delay ratio",
        "Span / C. It contains every error of the calibration, so a value other than 1 at M = 1 "
        "tells about the calibration and not about contention.",
    ),
    ("Response ratio", "(f − r) / C: contains the wake-up and waiting for the core."),
    (
        "Deadline miss",
        "A job that finished after its deadline (f − r > D), never finished, or was never "
        "started. Only jobs whose deadline lies inside their slot count. An episode is "
        "a run of consecutive misses of one task: one stall can miss many deadlines. '<' before "
        "a miss ratio means: none seen, and with 95 % confidence not more than that.",
    ),
    (
        "Interval",
        "95 %. A point's mean is the mean over its task sets, and its interval is over sets; that "
        "of a point with a single set rests on the rounds of its run and says nothing of other "
        "sets. Quantiles and the miss ratio pool jobs; the interval of the miss ratio is of these "
        "sets and allows for misses that come in bursts.",
    ),
    (
        "Smallest effect",
        "The smallest slowdown that a point of the campaign can show, from its own sets that share "
        "neither an object nor a core (M = 1, or α = 0). An effect below it is not an effect.",
    ),
    (
        "Alone, excess",
        "What the same tasks do alone on the machine, in the same rounds: the host's own floor. "
        "The excess is what is missed beyond it.",
    ),
    (
        "Deadline needed",
        "The smallest deadline, as a multiple of C, that all but one in a hundred (p99) or in a "
        "thousand (p999) of the jobs would have met. '≥' before it: the end was not seen, it is at "
        "least that.",
    ),
    (
        "Compute ratio",
        "A fixed piece of pure computation, timed beside the jobs: together over alone. Above 1 "
        "the cores share execution units or a power budget, or the host took time from the load.",
    ),
    (
        "Undecided, not measured",
        "A point without a run is undecided. A point that was not planned is not measured. Neither "
        "is filled from its neighbours.",
    ),
    (
        "ρ real, α real, overlap",
        "What the generated task sets really contain, beside what was asked for. Overlap is the "
        "estimated share of contended synchronisation time during which another core uses an "
        "object of the same class: where it is near 0 there is little to slow down.",
    ),
)

#: Of stress campaigns; TERMS follow.
STRESS_TERMS: tuple[tuple[str, str], ...] = (
    (
        "Group",
        "Random task sets that share what was fixed (M = 4; the number of critical cores k); the "
        "rest was drawn for each of them, or for each task. There is no grid: figures are spread "
        "over task sets, and a percentile is one over sets.",
    ),
    (
        "Percentile plot",
        "Reads: so many percent of the task sets have at most this value. It is the cumulative "
        "distribution turned, and shows the worst sets at its right end.",
    ),
    (
        "Sets without a miss",
        "Most sets miss nothing, and zero has no place on a logarithmic axis. They have their own "
        "bar; histogram and percentiles show the others, as shares of all sets.",
    ),
    (
        "Deadline factor",
        "T and D in multiples of C. With several factors the same task sets run at each of them: "
        "only T and D differ.",
    ),
    (
        "Critical cores k",
        "The critical tasks have k cores to themselves, computation fills the others. Figures are "
        "those of the critical tasks alone.",
    ),
)

#: Of comparisons.
COMPARISON_TERMS: tuple[tuple[str, str], ...] = (
    (
        "What is compared",
        "The identical programs, byte for byte, on both sides. A pair is one program with a result "
        "on each side, so what differs between programs drops out. The run is the unit: jobs of "
        "one run share their fate and are never counted one by one.",
    ),
    (
        "Effect",
        "Of slowdown and delay ratio: other / baseline - 1, in per cent. Of the miss ratio: other "
        "- baseline, in percentage points. Above 0 is worse.",
    ),
    (
        "Better, worse",
        "Chance is ruled out (after Holm's correction for the number of cells), the effect is at "
        "least the minimum effect asked for, and larger than what campaigns that differ in "
        "nothing show on this machine.",
    ),
    (
        "Equal",
        "Shown, not assumed: the whole interval lies inside the minimum effect (an equivalence "
        "test). 'No worse' is the same on one side only.",
    ),
    (
        "Undecided",
        "Neither a difference nor equality is shown. It does not mean equal; the page says what "
        "would decide it.",
    ),
    (
        "A/A gate",
        "The largest effect seen between campaigns that differ in nothing (the same programs on "
        "the same machine and kernel, repeated). An effect below it is this machine's own "
        "unsteadiness.",
    ),
    (
        "Cell",
        "A point (M, ρ, α) of a profile, or a group of a stress campaign, at one deadline factor.",
    ),
    (
        "Overlaid distributions",
        "Over the task sets that every campaign has. Two curves may look alike and still differ "
        "program by program, and the other way round: the verdict rests on the pairs.",
    ),
)

LATENCY_COMPARISON_TERMS: tuple[tuple[str, str], ...] = (
    (
        "What is compared",
        "Runs of the same load by the same engine, measured alike on both sides. A pair is the "
        "n-th repeat of one and the n-th of the other. The run is the unit: wake-ups of one run "
        "share what the machine did, and are never counted one by one.",
    ),
    (
        "Metrics",
        "Of each run, over all its CPUs: median, mean, 99 % and 99.9 % quantile and maximum of the "
        "latencies, corrected for missed periods where every engine knows them, and the share of "
        "periods missed.",
    ),
    (
        "Effect",
        "Of latencies: other / baseline - 1, in per cent. Of missed periods: other - baseline, in "
        "percentage points. Above 0 is worse.",
    ),
    *(term for term in COMPARISON_TERMS if term[0] in ("Better, worse", "Equal", "Undecided")),
    (
        "A/A gate",
        "The largest effect seen between matrices that differ in nothing (the same command on the "
        "same machine and kernel, repeated). An effect below it is this machine's own "
        "unsteadiness.",
    ),
    ("Cell", "A load measured by an engine; with --per-cpu, on one CPU."),
)

LOAD_COMPARISON_TERMS: tuple[tuple[str, str], ...] = (
    (
        "What is compared",
        "Runs of a real-time thread in rounds, without a remedy, among as many ordinary threads on "
        "both sides. A pair is the n-th repeat of one and the n-th of the other. The run is the "
        "unit: rounds of one run share what the machine did, and are never counted one by one.",
    ),
    (
        "Metrics",
        "Of each run: the share of its rounds that missed their deadline (releases that were "
        "skipped included), median, 99 % quantile and maximum of the response times, and the share "
        "of their work that the ordinary threads lose to the real-time thread.",
    ),
    (
        "Effect",
        "Of response times: other / baseline - 1, in per cent. Of misses and lost work: other - "
        "baseline, in percentage points. Above 0 is worse.",
    ),
    *(term for term in COMPARISON_TERMS if term[0] in ("Better, worse", "Equal", "Undecided")),
    (
        "A/A gate",
        "The largest effect seen between load tests that differ in nothing (the same command on "
        "the same machine and kernel, repeated). An effect below it is this machine's own "
        "unsteadiness.",
    ),
    ("Cell", "A number of ordinary threads."),
    (
        "Remedies",
        "Their effects are those of each load test's own page, beside each other; what one does "
        "on one side and not on the other is not tested.",
    ),
)
