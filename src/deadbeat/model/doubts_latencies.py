"""What may be wrong with a latency matrix."""

from __future__ import annotations

from deadbeat.model.doubt import Doubt, doubt

LATENCIES: tuple[Doubt, ...] = (
    doubt(
        "latency-no-valid-run",
        "A cell of the matrix has no figures",
        """Every run of it was found invalid: the load never ran, the measuring thread had another
        priority or saw too little. Its figures would describe something else; they are in the
        files, and count nowhere.""",
        """Each invalid run names its problems with their figures. Put them right and repeat the
        command with --retry-invalid: it measures these runs again.""",
    ),
    doubt(
        "latency-invalid-runs",
        "Some runs do not count",
        """They did not measure what they claim: the load never ran or died, the thread had another
        priority or place, wake-ups are not accounted for. What else ran beside a run, the host's
        share and heat make no run invalid.""",
        """See in which cells they are and why; --retry-invalid measures them again.""",
    ),
    doubt(
        "latency-run-warnings",
        "Runs that count have remarks",
        """Something else happened beside them: other work had a part of a CPU, the host took time,
        the processor throttled, the load got less than it wanted, another real-time task could
        preempt. The figures are those of the machine in that hour: nothing is left out for being
        noisy, as late wake-ups would be left out with it. Runs with and without it scatter, and the
        intervals between runs are wider for it.""",
        """Read the remarks of the run that has the maximum first. To know the machine by itself,
        end the other work and measure a new matrix (--fresh).""",
    ),
    doubt(
        "latency-settings-mixed",
        "Runs of one matrix were measured in different ways",
        """Interval, priority and policy move latency by themselves: a longer interval lets a core
        sleep more deeply, a lower priority waits for more. Cells that differ in them cannot be set
        beside each other.""",
        """Measure all cells with one command.""",
    ),
    doubt(
        "latency-missed",
        "Periods passed without a wake-up",
        """A wake-up that is later than a period makes the ones after it vanish: a stall of 400 ms
        is one late value among 1000 instead of 400. Raw percentiles then look fine while a task
        with a deadline would have missed 400 (coordinated omission).""",
        """Read the corrected figures, which have a value for every missed period. Those
        of cyclictest are derived from its late values: it skips such periods silently.""",
    ),
    doubt(
        "latency-unaccounted",
        "Expected wake-ups are not accounted for",
        """The engine measured fewer wake-ups than interval and time allow, and its late values do
        not explain it. Its threads began late, or periods were missed: it does not tell which. So
        its missed periods are a least number.""",
        """Do not set its missed periods beside those of the prober, which accounts for each.""",
    ),
    doubt(
        "latency-overflow",
        "Latencies lay beyond the histogram",
        """The engine counted them without their values. Percentiles that fall among them are not
        known and shown as such, not as the histogram's edge.""",
        """Measure with the prober, whose histogram has no upper end.""",
    ),
    doubt(
        "latency-resolution",
        "Latencies are cut off to whole steps",
        """cyclictest's histogram has whole microseconds, cut off below: 4.9 us counts as 4. Means
        are half a step too low, small percentiles jump by whole steps.""",
        """Compare only figures of the same engine; the prober has nanoseconds.""",
    ),
    doubt(
        "latency-engines-differ",
        "Two engines do not agree",
        """They differ in what lies between the timer's moment and the reading of the clock: the
        call they sleep in, the clock they read, whether they keep the processor from idle states.
        Neither is wrong; they are not the same quantity.""",
        """Use one engine for everything that is compared. Look at the median: a constant offset is
        the engine's, a different tail is not.""",
    ),
    doubt(
        "latency-few-runs",
        "Cells rest on one or two runs",
        """Wake-ups of one run share what the machine did then. Thousands of them give a narrow
        interval around that minute, and say nothing of the next.""",
        """More, shorter runs (--repeats); five or more for a comparison.""",
    ),
    doubt(
        "latency-short",
        "It was measured for less than an hour",
        """The maximum of a run grows with its length: rare events (a timer once a second, a log
        rotated once a day) are in it only if they happened. A maximum is a lower bound of the
        worst case, and of an application's even more so.""",
        """Read the tail statement instead of the maximum: it says what has been shown, and how many
        hours more would show ten times less.""",
    ),
    doubt(
        "latency-thin-quantile",
        "A quantile is not bounded from above",
        """So far out there are not enough wake-ups for any of them to lie surely beyond the
        quantile. The figure shown is the largest value, or near it: one sample.""",
        """Measure longer; 36,887 wake-ups bound p99.99.""",
    ),
    doubt(
        "latency-runs-differ",
        "Runs differ, and few of them have the late wake-ups",
        """Runs differ by more than chance, and fewer than about five of them have nearly all
        wake-ups beyond the 99 % quantile. How late the late runs are, and how many of all runs are
        such, is then not known: an upper end would be a guess, and is left open.""",
        """More runs (--repeats), and find out what the late ones have in common.""",
    ),
    doubt(
        "latency-dependent",
        "Late wake-ups come together",
        """A stall makes several wake-ups late at once, a busy minute makes whole runs late.
        Formulas for independent values would then claim too much: the tail statements count
        episodes, not wake-ups, and allow for how little few of them tell of how long others are;
        intervals are between runs.""",
        """Nothing to put right; longer measurements, at different hours, tell more than faster
        ones.""",
    ),
    doubt(
        "latency-idle-worse",
        "The idle machine is later than the loaded one",
        """An idle core sleeps deeply, lowers its frequency or is given to another guest of the
        host; a busy one is awake. So the idle cell is no reference for what load costs, and a
        system that is mostly idle is not the harmless case.""",
        """deadbeat doctor names idle states and governors. Measure with --dma-latency system and
        hold to see what idle states contribute.""",
    ),
    doubt(
        "latency-beat",
        "Late wake-ups keep a beat",
        """Something periodic stops the CPU: a host that enforces a quota every 100 ms, bandwidth
        control every second, a watchdog. The figures then depend on how the measurement's own
        period falls on it, and the machine's part is not the kernel's. Groups of stalls at random
        moments are none: each cycle of the beat has one phase.""",
        """The worst wake-ups carry their times; a traced run tells who had the CPU.""",
    ),
)
