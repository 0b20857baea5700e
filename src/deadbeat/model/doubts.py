"""Why a number may be wrong: one text per kind of finding.

The page docs/explanation/why-your-numbers-may-be-wrong.md is written from this (`tools/docs`); a
report shows the texts of its own findings, and ``deadbeat explain`` prints them.
"""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Doubt:
    """What a finding means for the numbers.

    Attributes:
        id: Identifier of the finding; one that ends in ``-`` stands for all that begin with it.
        title: What it is about, in a few words.
        wrong: What it does to the numbers.
        check: How to see whether it did, and what to do.
    """

    id: str
    title: str
    wrong: str
    check: str


def _doubt(id_: str, title: str, wrong: str, check: str) -> Doubt:
    return Doubt(id=id_, title=title, wrong=" ".join(wrong.split()), check=" ".join(check.split()))


DOUBTS: tuple[Doubt, ...] = (
    _doubt(
        "virtual-machine",
        "The machine is virtual",
        """A hypervisor stops virtual CPUs when it likes. Inside, nothing is seen of it but time
        that is gone: a computation that takes 60 us takes 60 ms once in a while, and there are
        whole seconds in which everything is 1.5 times slower. A slowdown, and above all a maximum,
        may be the host's and not the kernel's.""",
        """Look at the share of windows that was left out and at the smallest effect that can be
        seen. Medians and comparisons of runs that lie next to each other in time survive; maxima
        do not. Confirm what matters on hardware.""",
    ),
    _doubt(
        "steal",
        "The hypervisor took time",
        """While a CPU was stolen its task stood still, yet the clock ran: spans and response times
        contain the loss. Stolen time is counted in ticks of 4 to 10 ms, so short losses are not in
        the figure; and no steal at all does not prove that there was none.""",
        """Use a machine of its own or dedicated virtual CPUs. With --causes, jobs that stood still
        in pure computation are put down to a suspected host stall.""",
    ),
    _doubt(
        "throttled",
        "The processor throttled",
        """Heat or a power limit lowered the clock while it was measured. Everything after that
        moment is slower than the calibration says, on one core or on all: it looks like
        contention that grows with the load.""",
        """Improve cooling, or fix a lower frequency for everything, and calibrate again.""",
    ),
    _doubt(
        "governor",
        "The frequency follows the load",
        """A governor that saves power lets a core that waits for its next release run slowly, and
        makes it fast when it is busy. Then a busier core is a faster one: slowdown below 1, and
        wake-up latencies that depend on the period.""",
        """Set the governor performance (or fix minimum = maximum), then calibrate again.""",
    ),
    _doubt(
        "rt-bandwidth",
        "Real-time tasks may be stopped",
        """The kernel keeps a share of every core for ordinary threads: after 0.95 s in a second,
        real-time tasks are stopped for up to 50 ms. It can only happen where a core is nearly
        full; there it causes misses that no task of the set is to blame for.""",
        """sysctl kernel.sched_rt_runtime_us=-1 while measuring; newer kernels have a fair server
        beside it. With --causes such jobs are named: throttled.""",
    ),
    _doubt(
        "no-housekeeping-core",
        "No core is left to the system",
        """Interrupts, kernel threads and this program itself need a core. Where the tasks use all
        of them, the largest M suffers from the system's own work as well as from contention, and
        the step from M - 1 to M shows both.""",
        """Measure one core less than there are, or read the last M with this in mind.""",
    ),
    _doubt(
        "clocksource",
        "Reading the clock is expensive",
        """Every job reads the clock twice. Where that takes a system call or a device, microseconds
        are added to each span, and the cores contend for the clock itself.""",
        """See why the kernel gave up the fast clock (dmesg), or boot with clocksource=tsc where it
        is sound.""",
    ),
    _doubt(
        "kernel-changed",
        "The kernel changed within the campaign",
        """Some runs are of one kernel and some of another; every mean mixes the two.""",
        """Measure each kernel in a campaign of its own (--programs-from runs the identical
        programs) and compare them with deadbeat compare.""",
    ),
    _doubt(
        "environment-not-recorded",
        "The machine's state is not known",
        """Nothing tells whether the machine was throttled, stolen from or busy.""",
        """Measure with deadbeat profile or stress, which record it before and after.""",
    ),
    _doubt(
        "environment-unknown",
        "The machine does not tell everything",
        """What cannot be read was not checked: the absence of a finding about it means nothing.""",
        """Run as root, or see in the environment's record why each value is missing.""",
    ),
    _doubt(
        "session-not-closed",
        "A session has no closing record",
        """It was killed. Its runs are whole, but steal and throttling during it are not known.""",
        """Repeat the command: it resumes and records again.""",
    ),
    _doubt(
        "rejected",
        "Many windows were left out",
        """Windows beside which the host was off its quiet mode do not count. What remains describes
        the quiet part of the machine's time; if the machine is off that mode because of the very
        load that is measured (heat, power limits), the worst was left out.""",
        """See in which windows it happened: only together windows point to the load itself.
        Quieten the machine, or measure longer.""",
    ),
    _doubt(
        "never-quiet",
        "Some sets have no result",
        """The sets without a result are missing from the means. If long or busy sets miss more
        often, the rest is not a fair sample.""",
        """Measure them again at a quieter time: --retry-failed.""",
    ),
    _doubt(
        "failed-runs",
        "Some runs failed",
        """A run that ended badly has no figures; a set that cannot finish may be the most
        interesting one.""",
        """Read the reason of each in the report; --retry-failed runs them again.""",
    ),
    _doubt(
        "no-runs",
        "The campaign holds no run",
        """There is no number to doubt: no task set was run yet, or the files of the runs are gone.
        The machine has nothing to do with it.""",
        """Repeat the campaign's command: it runs what is lacking.""",
    ),
    _doubt(
        "undecided-points",
        "Some points are undecided",
        """A point without a quiet set has no value. It is drawn as undecided, never filled from its
        neighbours.""",
        """Resume when the machine is quieter.""",
    ),
    _doubt(
        "single-set",
        "A point rests on one set",
        """Sets differ by their classes far more than jobs do: a contended mutex may cost hundreds
        of times a contended queue. One set says nothing about the next, so there is no
        interval.""",
        """More replicas, not longer runs; or --precision.""",
    ),
    _doubt(
        "few-sets",
        "Points rest on few sets",
        """Intervals from few sets are approximate, and too narrow where sets are very unequal (see
        the table of coverages on the page of metrics).""",
        """More replicas, or --precision, which measures until the interval is tight.""",
    ),
    _doubt(
        "thin-tail",
        "A quantile rests on a handful of sets",
        """Of fewer than a hundred task sets fewer than five lie beyond the 95 % quantile, and none
        surely beyond the 99 % one. Another seed draws another handful: two such quantiles may
        differ much though nothing else does.""",
        """More sets (--sets); compare medians and means with their intervals meanwhile.""",
    ),
    _doubt(
        "no-unshielded-group",
        "Nothing to compare shielded sets with",
        """The slowdown of critical tasks is against the same tasks alone on the machine. It says
        what still reaches them, not what they are spared.""",
        """--critical-cores 0,1 runs the same sets unshielded beside.""",
    ),
    _doubt(
        "overloaded",
        "Some task sets ask too much",
        """Where C/T of the tasks of a core sums to more than 1, the core falls behind whatever runs
        beside it: jobs are skipped or late for want of time. Misses and response times of such
        sets are load and not contention; ratios describe the jobs that survived.""",
        """Compare with the predicted response times, which have the load and no contention; or
        raise --deadline-factor, or lower --tasks-per-core.""",
    ),
    _doubt(
        "critical-tasks-contend",
        "Critical tasks slow each other down",
        """The slowdown of a task is against the same task alone on the machine. On several critical
        cores with contended objects (alpha above 0) critical tasks wait for one another, and that
        is in the same figure as what the filled cores do to them.""",
        """--contended-ratio 0, or one critical core, leaves only what the others do.""",
    ),
    _doubt(
        "calibration",
        "Tasks alone do not take what calibration says",
        """The delay ratio divides by the calibrated C. Where tasks take more or less than C even
        when nothing else runs, that share of the delay ratio is no contention.""",
        """Read the slowdown, which compares a task with itself alone. Calibrate again, longer.""",
    ),
    _doubt(
        "no-calibration",
        "The calibration is not there",
        """Platform, quiet references and overlap are not known; windows cannot be judged.""",
        """Put the file back with which the campaign was generated.""",
    ),
    _doubt(
        "no-solo-reference",
        "Tasks without a job of their own",
        """Tasks that had no counted job alone have no slowdown and are left out of it: usually the
        slowest ones.""",
        """Lengthen the solo windows: --solo-seconds.""",
    ),
    _doubt(
        "no-program",
        "The programs are not stored",
        """What was really run is not known: realised shares and overlap are missing, and the
        campaign cannot be compared.""",
        """Keep the programs folder with the runs.""",
    ),
    _doubt(
        "policy-other",
        "The tasks were ordinary threads",
        """Without a real-time policy any program may preempt a task. Response times measure how
        busy the rest of the system was.""",
        """Run as root or grant RLIMIT_RTPRIO: docs/howto/allow-sched-fifo.md.""",
    ),
    _doubt(
        "foreign-programs",
        "The programs are another campaign's",
        """The task sets were built for and calibrated in another campaign, on the same hardware and
        with the same toolchain. C, T and D are those of that campaign: on another kernel a
        synchronising fragment may take longer even when nobody else uses it, and then the delay
        ratio is above 1 without any contention. That is what a comparison is after.""",
        """Compare the two campaigns. Slowdown refers to the programs alone on this kernel; a
        difference that is there alone as well shows in the delay ratio only.""",
    ),
    _doubt(
        "foreign-costs",
        "The costs are of another platform",
        """C was measured on other hardware, under another frequency policy or with another
        toolchain. The delay ratio divides what a job takes here by what it took there, and with it
        T and D are longer or shorter than ten times what the work takes here: a faster machine has
        a lower utilisation and fewer misses.""",
        """Read slowdown, which refers to the same programs alone on this machine. Compare delay
        ratios of the two campaigns with each other, never one with 1.""",
    ),
    _doubt(
        "references-moved",
        "The machine is quiet at another speed",
        """A loop that only computes should take the same time on the same hardware under any
        kernel. Here it does not: the host has another state, or a frequency or power limit
        applies in one of the two campaigns. C was measured at the other speed, so every delay
        ratio is off by about as much, and a comparison of delay ratios compares the states.""",
        """Look for the cause and measure again. Slowdown survives: it refers to the same programs
        alone at the same speed.""",
    ),
    _doubt(
        "simulated",
        "Nothing was measured",
        """A simulation follows its model exactly: no caches, no buses, no interrupts, no kernel.
        What it says holds for the model.""",
        """Compare with a measured campaign of the same sets: the report draws predicted beside
        measured.""",
    ),
    _doubt(
        "emulated",
        "The machine was emulated",
        """An emulator's instructions take its own time. Counts of instructions compare kernel
        paths; times of parallel programs mean nothing.""",
        """Confirm on hardware.""",
    ),
    _doubt(
        "noise-floor-missing",
        "The noise floor is not known",
        """Without it a slowdown of 1.03 may be an effect or the machine.""",
        """deadbeat selftest, or --noise-seconds above 0.""",
    ),
    _doubt(
        "noise-floor-undecided",
        "The machine was too noisy for a noise floor",
        """Too few quiet windows: no smallest effect can be stated, so none is proven.""",
        """Quieten the machine and repeat.""",
    ),
    _doubt(
        "control-",
        "A control failed",
        """An experiment whose answer is known came out wrong on this machine at this time: one task
        alone was not flat, local objects were not as fast in parallel, or an injected delay was not
        recovered. Effects of the same size in the campaign may be artefacts.""",
        """deadbeat selftest repeats the controls at length and says what failed.""",
    ),
    _doubt(
        "controls-undecided",
        "Controls are undecided",
        """They had no quiet window; they neither support nor contradict the results.""",
        """Repeat deadbeat selftest at a quieter time.""",
    ),
    _doubt(
        "campaign-unfinished",
        "A compared campaign is unfinished",
        """Only what both campaigns have run so far is compared, the rest is not known. Which
        programs come first is random, but not which of them ran when the machine was in what state;
        cells without data are undecided, and the whole is not called equal.""",
        """Repeat the command that began the campaign: it continues. Then compare again.""",
    ),
    _doubt(
        "unpaired-runs",
        "Programs without a result on one side of a comparison",
        """Only programs with a result on both sides are compared. If those that failed are the ones
        that suffered most, the difference looks smaller than it is.""",
        """See why they failed in the campaign's report, then repeat its command with
        --retry-failed.""",
    ),
    _doubt(
        "run-settings-differ",
        "Compared campaigns were run with other settings",
        """The programs are the same, but not what was done with them: another policy, length or
        treatment of overruns moves slowdown and misses by itself. The difference may be theirs.""",
        """Run both with the same settings: --programs-from keeps them (of deadbeat profile, or of
        deadbeat stress for a stress campaign).""",
    ),
    _doubt(
        "no-aa-repeat",
        "How far two sessions differ without a reason is not known",
        """All runs of a campaign share what the host did in that hour. From the two campaigns alone
        that cannot be told from an effect of the kernel, nor from its absence: in simulated
        sessions that drift by 1.5 %, almost half of the comparisons find a difference that is none,
        and a quarter call a slowdown of 3 % equal. So measured campaigns are undecided without a
        repeat; --ungated gives verdicts all the same, on a guess from stretches of time within
        them.""",
        """Run the baseline's programs (of a latency matrix or a load test: its command, under
        another --name) once more where the baseline ran and name the repeat with --aa; several
        repeats make the gate smaller and surer.""",
    ),
    _doubt(
        "survivors-differ",
        "More was lost on one side of a comparison",
        """A run that failed has no slowdown, a task that never finishes no response time, a skipped
        job no span. What is averaged is what survived, and looks the better the more was lost: a
        kernel that starves the slowest task for good would win. So the side that lost more is
        called neither equal nor better; that it is worse still counts.""",
        """Look at the misses, which count every lost job. deadbeat show tells which runs failed and
        why; --retry-failed repeats them. A task that never finishes needs no comparison.""",
    ),
    _doubt(
        "host-state-differs",
        "The host was faster or slower in one of the compared campaigns",
        """The yardstick, pure computation beside the tasks, took longer in one campaign than in the
        other on the same machine. Every delay ratio moves with it; a slowdown does not, because its
        reference was measured in the same run.""",
        """Rely on the slowdown, or repeat both campaigns close together in time.""",
    ),
    _doubt(
        "gate-above-minimum",
        "Results that differ in nothing differ by more than the minimum effect",
        """On this machine, with so many task sets or runs, an effect as small as the one asked for
        cannot be told from nothing: neither a small difference nor equality can be shown.""",
        """Use a quieter machine, more task sets or --repeats, add repeats of the baseline (--aa),
        or ask for a larger --minimum-effect.""",
    ),
    _doubt(
        "campaign-doubtful",
        "A compared campaign has serious findings of its own",
        """What makes one side doubtful makes the difference doubtful: a throttled processor in one
        of the campaigns looks like a slower kernel.""",
        """Read the campaign's own findings first (deadbeat show NAME).""",
    ),
    _doubt(
        "precision-not-reached",
        "A precision was not reached",
        """Some points are known less well than was asked: they got the most sets they may get, lost
        runs to a busy host, or the time was over. Their means are right on average, but further
        from the truth than the target says; their intervals say how far.""",
        """The column stopped says why of each point, half_width how well it is known. Continue with
        another --budget, or begin anew with a higher --sets-max or a looser --precision.""",
    ),
    _doubt(
        "latency-no-valid-run",
        "A cell of the matrix has no figures",
        """Every run of it was found invalid: the load did not run, the measuring thread had another
        priority, the processor throttled. Its figures would describe something else; they are in
        the files, and count nowhere.""",
        """Each invalid run names its problems with their figures. Put them right and repeat the
        command with --retry-invalid: it measures these runs again, and says so.""",
    ),
    _doubt(
        "latency-invalid-runs",
        "Some runs do not count",
        """What was asked for did not happen in them. If it is the load itself that makes runs
        invalid (heat, a hypervisor), those that are left are the mild ones.""",
        """See in which cells they are, and what their figures would be with these runs: the table
        of the terminal and the page's part on validity have both. Where the two are far apart, the
        answer is about the machine as it should have been.""",
    ),
    _doubt(
        "verdict-by-validity",
        "The verdict rests on leaving invalid runs out",
        """Runs that are not what they say they are do not count, on either side. With them some
        verdict would be another: then the answer depends on what was left out. If the kernel or
        the setting that is compared makes runs invalid itself (a load that it does not let run, a
        thread that it throttles), leaving them out hides just what was asked.""",
        """See why they are invalid, on which side, and beside which load (deadbeat show). Where the
        cause has nothing to do with what is compared, measure again without it.""",
    ),
    _doubt(
        "latency-repeated-runs",
        "Invalid runs were measured again",
        """Only bad runs were repeated, until they were good or nobody asked again: that is a
        selection. Where what made them invalid comes with lateness (a host that takes time, heat),
        the figures are those of the quiet part of the machine's time. They were also measured later
        than the rest of their block, so what drifts slowly did not fall on all alike.""",
        """See which cells have them, how often, and why; what was measured before is kept in
        set-aside. Once the cause is gone a new matrix (--fresh) has no such runs. Where the
        cause belongs to the machine as it will be used, no figure here holds for it.""",
    ),
    _doubt(
        "latency-run-warnings",
        "Runs that count have remarks",
        """Something was less than ideal, though not so much that the figures describe another
        thing: a little steal, a load slightly off, another real-time task.""",
        """Read the remarks of the run that has the maximum first.""",
    ),
    _doubt(
        "latency-settings-mixed",
        "Runs of one matrix were measured in different ways",
        """Interval, priority and policy move latency by themselves: a longer interval lets a core
        sleep more deeply, a lower priority waits for more. Cells that differ in them cannot be set
        beside each other.""",
        """Measure all cells with one command.""",
    ),
    _doubt(
        "latency-missed",
        "Periods passed without a wake-up",
        """A wake-up that is later than a period makes the ones after it vanish: a stall of 400 ms
        is one late value among 1000 instead of 400. Raw percentiles then look fine while a task
        with a deadline would have missed 400 (coordinated omission).""",
        """Read the corrected figures, which have a value for every missed period. Those
        of cyclictest are derived from its late values: it skips such periods silently.""",
    ),
    _doubt(
        "latency-unaccounted",
        "Expected wake-ups are not accounted for",
        """The engine measured fewer wake-ups than interval and time allow, and its late values do
        not explain it. Its threads began late, or periods were missed: it does not tell which. So
        its missed periods are a least number.""",
        """Do not set its missed periods beside those of the prober, which accounts for each.""",
    ),
    _doubt(
        "latency-overflow",
        "Latencies lay beyond the histogram",
        """The engine counted them without their values. Percentiles that fall among them are not
        known and shown as such, not as the histogram's edge.""",
        """Measure with the prober, whose histogram has no upper end.""",
    ),
    _doubt(
        "latency-resolution",
        "Latencies are cut off to whole steps",
        """cyclictest's histogram has whole microseconds, cut off below: 4.9 us counts as 4. Means
        are half a step too low, small percentiles jump by whole steps.""",
        """Compare only figures of the same engine; the prober has nanoseconds.""",
    ),
    _doubt(
        "latency-engines-differ",
        "Two engines do not agree",
        """They differ in what lies between the timer's moment and the reading of the clock: the
        call they sleep in, the clock they read, whether they keep the processor from idle states.
        Neither is wrong; they are not the same quantity.""",
        """Use one engine for everything that is compared. Look at the median: a constant offset is
        the engine's, a different tail is not.""",
    ),
    _doubt(
        "latency-few-runs",
        "Cells rest on one or two runs",
        """Wake-ups of one run share what the machine did then. Thousands of them give a narrow
        interval around that minute, and say nothing of the next.""",
        """More, shorter runs (--repeats); five or more for a comparison.""",
    ),
    _doubt(
        "latency-short",
        "It was measured for less than an hour",
        """The maximum of a run grows with its length: rare events (a timer once a second, a log
        rotated once a day) are in it only if they happened. A maximum is a lower bound of the
        worst case, and of an application's even more so.""",
        """Read the tail statement instead of the maximum: it says what has been shown, and how many
        hours more would show ten times less.""",
    ),
    _doubt(
        "latency-thin-quantile",
        "A quantile is not bounded from above",
        """So far out there are not enough wake-ups for any of them to lie surely beyond the
        quantile. The figure shown is the largest value, or near it: one sample.""",
        """Measure longer; 36,887 wake-ups bound p99.99.""",
    ),
    _doubt(
        "latency-runs-differ",
        "Runs differ, and few of them have the late wake-ups",
        """Runs differ by more than chance, and fewer than about five of them have nearly all
        wake-ups beyond the 99 % quantile. How late the late runs are, and how many of all runs are
        such, is then not known: an upper end would be a guess, and is left open.""",
        """More runs (--repeats), and find out what the late ones have in common.""",
    ),
    _doubt(
        "latency-dependent",
        "Late wake-ups come together",
        """A stall makes several wake-ups late at once, a busy minute makes whole runs late.
        Formulas for independent values would then claim too much: the tail statements count
        episodes, not wake-ups, and allow for how little few of them tell of how long others are;
        intervals are between runs.""",
        """Nothing to put right; longer measurements, at different hours, tell more than faster
        ones.""",
    ),
    _doubt(
        "latency-idle-worse",
        "The idle machine is later than the loaded one",
        """An idle core sleeps deeply, lowers its frequency or is given to another guest of the
        host; a busy one is awake. So the idle cell is no reference for what load costs, and a
        system that is mostly idle is not the harmless case.""",
        """deadbeat doctor names idle states and governors. Measure with --dma-latency system and
        hold to see what idle states contribute.""",
    ),
    _doubt(
        "aa-lacks-cells",
        "A repeat of the baseline lacks cells that are compared",
        """Sessions move each load by an amount of its own. A repeat that did not measure a load
        says nothing on how far: without any that did, nothing is decided there, and over all loads
        together only repeats with all of them count.""",
        """Repeat the whole command of the baseline, not some of its loads.""",
    ),
    _doubt(
        "latency-cells-alone",
        "Some loads were measured on one side of a comparison only",
        """What is not measured on both sides is not compared, and the verdict does not speak of
        it: a kernel may be worse just there.""",
        """Measure both with the same loads and engines.""",
    ),
    _doubt(
        "load-invalid-runs",
        "Some runs of a load test do not count",
        """The thread was not what was asked for, the host or other work took too much, or a remedy
        no longer held. If what is tested makes runs invalid (a board that throttles, say), those
        that are left are the mild ones.""",
        """See in which cells they are and why; repeat the test when the machine is quieter.""",
    ),
    _doubt(
        "load-repeated-runs",
        "Runs of a load test were invalid and measured again",
        """Only bad runs were repeated, which is a selection, and they were repeated later than the
        runs they are paired with. What made them invalid may be what one kernel does more often
        than the other.""",
        """Compare load tests that were measured in one go, with --fresh; see on the page what the
        runs were invalid for.""",
    ),
    _doubt(
        "load-rounds-differ",
        "A round is not the same work in both load tests",
        """The work of a round is fixed once per test so that it takes the time asked for when
        nothing disturbs it. On a faster machine, or at another frequency, that is more work: the
        response times of both begin alike, and what is compared is how far each machine falls
        behind its own best, not how fast it is.""",
        """Where speed itself is the question, --preset paper counts its rounds in additions: the
        same work on both. On one machine, look why its best speed differs: governor, turbo, or a
        host with neighbours.""",
    ),
    _doubt(
        "latency-cpus-differ",
        "One CPU is later than another",
        """Interrupts, kernel threads and neighbours on the same chip are not spread evenly. A
        figure of all CPUs pooled describes neither.""",
        """Read the rows of the CPUs; readiness checks on interrupts say what is bound where.""",
    ),
    _doubt(
        "latency-beat",
        "Late wake-ups keep a beat",
        """Something periodic stops the CPU: a host that enforces a quota every 100 ms, bandwidth
        control every second, a watchdog. The figures then depend on how the measurement's own
        period falls on it, and the machine's part is not the kernel's. Groups of stalls at random
        moments are none: each cycle of the beat has one phase.""",
        """The worst wake-ups carry their times; a traced run tells who had the CPU.""",
    ),
)


def doubt_of(finding: str) -> Doubt | None:
    """The text for a finding's identifier; None if there is none."""
    for doubt in DOUBTS:
        if finding == doubt.id or (doubt.id.endswith("-") and finding.startswith(doubt.id)):
            return doubt
    return None
