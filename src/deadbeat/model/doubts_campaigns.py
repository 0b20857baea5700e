"""What may be wrong with a campaign, and the machine it ran on."""

from __future__ import annotations

from deadbeat.model.doubt import Doubt, doubt

CAMPAIGNS: tuple[Doubt, ...] = (
    doubt(
        "virtual-machine",
        "The machine is virtual",
        """A hypervisor stops virtual CPUs when it likes. Inside, nothing is seen of it but time
        that is gone: a computation that takes 60 us takes 60 ms once in a while, and there are
        whole seconds in which everything is 1.5 times slower. A slowdown, and above all a maximum,
        may be the host's and not the kernel's.""",
        """Read the intervals, the misses of the same tasks alone, and the smallest effect that can
        be seen: they hold what the host did. Maxima are its own. Confirm what matters on
        hardware.""",
    ),
    doubt(
        "steal",
        "The hypervisor took time",
        """While a CPU was stolen its task stood still, yet the clock ran: spans and response times
        contain the loss, together and alone alike. It widens the intervals, and misses alone show
        how many it causes. Stolen time is counted in ticks of 4 to 10 ms: short losses are not in
        the figure, and no steal at all does not prove that there was none.""",
        """Use a machine of its own or dedicated virtual CPUs. With --causes, jobs that stood still
        in pure computation are put down to a suspected host stall.""",
    ),
    doubt(
        "throttled",
        "The processor throttled",
        """Heat or a power limit lowered the clock while it was measured. Everything after that
        moment is slower than the calibration says, on one core or on all: it looks like
        contention that grows with the load.""",
        """Improve cooling, or fix a lower frequency for everything, and calibrate again.""",
    ),
    doubt(
        "governor",
        "The frequency follows the load",
        """A governor that saves power lets a core that waits for its next release run slowly, and
        makes it fast when it is busy. Then a busier core is a faster one: slowdown below 1, and
        wake-up latencies that depend on the period.""",
        """Set the governor performance (or fix minimum = maximum), then calibrate again.""",
    ),
    doubt(
        "rt-bandwidth",
        "Real-time tasks may be stopped",
        """The kernel keeps a share of every core for ordinary threads: after 0.95 s in a second,
        real-time tasks are stopped for up to 50 ms. It can only happen where a core is nearly
        full; there it causes misses that no task of the set is to blame for.""",
        """sysctl kernel.sched_rt_runtime_us=-1 while measuring; newer kernels have a fair server
        beside it. With --causes such jobs are named: throttled.""",
    ),
    doubt(
        "no-housekeeping-core",
        "No core is left to the system",
        """Interrupts, kernel threads and this program itself need a core. Where the tasks use all
        of them, the largest M suffers from the system's own work as well as from contention, and
        the step from M - 1 to M shows both.""",
        """Measure one core less than there are, or read the last M with this in mind.""",
    ),
    doubt(
        "clocksource",
        "Reading the clock is expensive",
        """Every job reads the clock twice. Where that takes a system call or a device, microseconds
        are added to each span, and the cores contend for the clock itself.""",
        """See why the kernel gave up the fast clock (dmesg), or boot with clocksource=tsc where it
        is sound.""",
    ),
    doubt(
        "kernel-changed",
        "The kernel changed within the campaign",
        """Some runs are of one kernel and some of another; every mean mixes the two.""",
        """Measure each kernel in a campaign of its own (--programs-from runs the identical
        programs) and compare them with deadbeat compare.""",
    ),
    doubt(
        "environment-not-recorded",
        "The machine's state is not known",
        """Nothing tells whether the machine was throttled, stolen from or busy.""",
        """Measure with deadbeat profile or stress, which record it before and after.""",
    ),
    doubt(
        "environment-unknown",
        "The machine does not tell everything",
        """What cannot be read was not checked: the absence of a finding about it means nothing.""",
        """Run as root, or see in the environment's record why each value is missing.""",
    ),
    doubt(
        "session-not-closed",
        "A session has no closing record",
        """It was killed. Its runs are whole, but steal and throttling during it are not known.""",
        """Repeat the command: it resumes and records again.""",
    ),
    doubt(
        "left-out",
        "Jobs were overlapped from earlier slots",
        """A job that outlives its slot runs on beside the next ones, which are of other tasks. What
        was released there before it finished does not count, whatever became of it. Where that
        concerns many jobs, the rest is what came after the worst of each slot.""",
        """Misses are counted where they are released and stay. Longer slots (--slot-periods) or a
        larger --deadline-factor leave less to overlap.""",
    ),
    doubt(
        "long-slots",
        "Overloaded sets ran in long slots",
        """Under --overrun late a core that is asked for more than it has falls behind without end:
        response times and misses grow for as long as a slot lasts. Such sets keep slots of 50
        periods, and their figures are of that length.""",
        """Compare them only with sets of the same kind; --overrun skip bounds the backlog.""",
    ),
    doubt(
        "failed-runs",
        "Some runs failed",
        """A run that ended badly has no figures; a set that cannot finish may be the most
        interesting one.""",
        """Read the reason of each in the report; --retry-failed runs them again.""",
    ),
    doubt(
        "no-runs",
        "The campaign holds no run",
        """There is no number to doubt: no task set was run yet, or the files of the runs are gone.
        The machine has nothing to do with it.""",
        """Repeat the campaign's command: it runs what is lacking.""",
    ),
    doubt(
        "undecided-points",
        "Some points are undecided",
        """A point without a run has no value. It is drawn as undecided, never filled from its
        neighbours.""",
        """Repeat the command: it runs what is lacking.""",
    ),
    doubt(
        "single-set",
        "A point rests on one set",
        """Sets differ by their classes far more than jobs do: a contended mutex may cost hundreds
        of times a contended queue. The interval of one set comes from its own rounds: it says how
        well this set is known, and nothing of the next.""",
        """More replicas, not longer runs; or --precision.""",
    ),
    doubt(
        "few-sets",
        "Points rest on few sets",
        """Intervals from few sets are approximate, and too narrow where sets are very unequal (see
        the table of coverages on the page of metrics).""",
        """More replicas, or --precision, which measures until the interval is tight.""",
    ),
    doubt(
        "thin-tail",
        "A quantile rests on a handful of sets",
        """Of fewer than a hundred task sets fewer than five lie beyond the 95 % quantile, and none
        surely beyond the 99 % one. Another seed draws another handful: two such quantiles may
        differ much though nothing else does.""",
        """More sets (--sets); compare medians and means with their intervals meanwhile.""",
    ),
    doubt(
        "no-unshielded-group",
        "Nothing to compare shielded sets with",
        """The slowdown of critical tasks is against the same tasks alone on the machine. It says
        what still reaches them, not what they are spared.""",
        """--critical-cores 0,1 runs the same sets unshielded beside.""",
    ),
    doubt(
        "overloaded",
        "Some task sets ask too much",
        """Where C/T of the tasks of a core sums to more than 1, the core falls behind whatever runs
        beside it: jobs are skipped or late for want of time. Misses and response times of such
        sets are load and not contention; ratios describe the jobs that survived.""",
        """Compare with the predicted response times, which have the load and no contention; or
        raise --deadline-factor, or lower --tasks-per-core.""",
    ),
    doubt(
        "critical-tasks-contend",
        "Critical tasks slow each other down",
        """The slowdown of a task is against the same task alone on the machine. On several critical
        cores with contended objects (alpha above 0) critical tasks wait for one another, and that
        is in the same figure as what the filled cores do to them.""",
        """--contended-ratio 0, or one critical core, leaves only what the others do.""",
    ),
    doubt(
        "calibration",
        "Tasks alone do not take what calibration says",
        """The delay ratio divides by the calibrated C. Where tasks take more or less than C even
        when nothing else runs, that share of the delay ratio is no contention.""",
        """Read the slowdown, which compares a task with itself alone. Calibrate again, longer.""",
    ),
    doubt(
        "no-calibration",
        "The calibration is not there",
        """Platform and overlap are not known.""",
        """Put the file back with which the campaign was generated.""",
    ),
    doubt(
        "no-solo-reference",
        "Tasks without a job of their own",
        """Tasks that had no counted job alone have no slowdown and are left out of it: usually the
        slowest ones.""",
        """Lengthen the runs: --seconds.""",
    ),
    doubt(
        "no-program",
        "The programs are not stored",
        """What was really run is not known: realised shares and overlap are missing, and the
        campaign cannot be compared.""",
        """Keep the programs folder with the runs.""",
    ),
    doubt(
        "policy-other",
        "The tasks were ordinary threads",
        """Without a real-time policy any program may preempt a task. Response times measure how
        busy the rest of the system was.""",
        """Run as root or grant RLIMIT_RTPRIO: docs/howto/allow-sched-fifo.md.""",
    ),
    doubt(
        "foreign-programs",
        "The programs are another campaign's",
        """The task sets were built for and calibrated in another campaign, on the same hardware and
        with the same toolchain. C, T and D are those of that campaign: on another kernel a
        synchronising fragment may take longer even when nobody else uses it, and then the delay
        ratio is above 1 without any contention. That is what a comparison is after.""",
        """Compare the two campaigns. Slowdown refers to the programs alone on this kernel; a
        difference that is there alone as well shows in the delay ratio only.""",
    ),
    doubt(
        "foreign-costs",
        "The costs are of another platform",
        """C was measured on other hardware, under another frequency policy or with another
        toolchain. The delay ratio divides what a job takes here by what it took there, and with it
        T and D are longer or shorter than ten times what the work takes here: a faster machine has
        a lower utilisation and fewer misses.""",
        """Read slowdown, which refers to the same programs alone on this machine. Compare delay
        ratios of the two campaigns with each other, never one with 1.""",
    ),
    doubt(
        "simulated",
        "Nothing was measured",
        """A simulation follows its model exactly: no caches, no buses, no interrupts, no kernel.
        What it says holds for the model.""",
        """Compare with a measured campaign of the same sets: the report draws predicted beside
        measured.""",
    ),
    doubt(
        "emulated",
        "The machine was emulated",
        """An emulator's instructions take its own time. Counts of instructions compare kernel
        paths; times of parallel programs mean nothing.""",
        """Confirm on hardware.""",
    ),
    doubt(
        "noise-floor-undecided",
        "The smallest effect is not known",
        """Sets that share no object (M = 1, or alpha = 0) and have no two tasks on a core show by
        how much slowdowns differ from 1 without an effect. With fewer than three of them a slowdown
        of 1.03 may be an effect or the machine.""",
        """Measure M = 1 or alpha = 0 as well, with one task a core.""",
    ),
    doubt(
        "precision-not-reached",
        "A precision was not reached",
        """Some points are known less well than was asked: they got the most sets they may get, lost
        runs, or the time was over. Their means are right on average, but further
        from the truth than the target says; their intervals say how far.""",
        """The column stopped says why of each point, half_width how well it is known. Continue with
        another --budget, or begin anew with a higher --sets-max or a looser --precision.""",
    ),
)
