"""What may be wrong with a comparison."""

from __future__ import annotations

from deadbeat.model.doubt import Doubt, doubt

COMPARISONS: tuple[Doubt, ...] = (
    doubt(
        "campaign-unfinished",
        "A compared campaign is unfinished",
        """Only what both campaigns have run so far is compared, the rest is not known. Which
        programs come first is random, but not which of them ran when the machine was in what state;
        cells without data are undecided, and the whole is not called equal.""",
        """Repeat the command that began the campaign: it continues. Then compare again.""",
    ),
    doubt(
        "unpaired-runs",
        "Programs without a result on one side of a comparison",
        """Only programs with a result on both sides are compared. If those that failed are the ones
        that suffered most, the difference looks smaller than it is.""",
        """See why they failed in the campaign's report, then repeat its command with
        --retry-failed.""",
    ),
    doubt(
        "run-settings-differ",
        "Compared campaigns were run with other settings",
        """The programs are the same, but not what was done with them: another policy, length or
        treatment of overruns moves slowdown and misses by itself. The difference may be theirs.""",
        """Run both with the same settings: --programs-from keeps them (of deadbeat profile, or of
        deadbeat stress for a stress campaign).""",
    ),
    doubt(
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
    doubt(
        "survivors-differ",
        "More was lost on one side of a comparison",
        """A run that failed has no slowdown, a task that never finishes no response time, a skipped
        job no span. What is averaged is what survived, and looks the better the more was lost: a
        kernel that starves the slowest task for good would win. So the side that lost more is
        called neither equal nor better; that it is worse still counts.""",
        """Look at the misses, which count every lost job. deadbeat show tells which runs failed and
        why; --retry-failed repeats them. A task that never finishes needs no comparison.""",
    ),
    doubt(
        "host-state-differs",
        "The host was faster or slower in one of the compared campaigns",
        """The witness, pure computation beside each task alone, took longer in one campaign than in
        the other on the same machine. Every delay ratio moves with it; a slowdown does not, because
        its reference was measured in the same run.""",
        """Rely on the slowdown, or repeat both campaigns close together in time.""",
    ),
    doubt(
        "gate-above-minimum",
        "Results that differ in nothing differ by more than the minimum effect",
        """On this machine, with so many task sets or runs, an effect as small as the one asked for
        cannot be told from nothing: neither a small difference nor equality can be shown.""",
        """Use a quieter machine, more task sets or --repeats, add repeats of the baseline (--aa),
        or ask for a larger --minimum-effect.""",
    ),
    doubt(
        "campaign-doubtful",
        "A compared campaign has serious findings of its own",
        """What makes one side doubtful makes the difference doubtful: a throttled processor in one
        of the campaigns looks like a slower kernel.""",
        """Read the campaign's own findings first (deadbeat show NAME).""",
    ),
    doubt(
        "other-work-beside",
        "Other work ran beside runs of a comparison",
        """Other programs or the host had a part of the CPUs while one side was measured. Its runs
        count all the same: left out, late wake-ups and long rounds would be left out with them.
        Such runs scatter, which widens the intervals; where only one side has them, the difference
        may be theirs.""",
        """Compare how much each side has of it. Measure both again at one time, or repeat the
        baseline in such an hour and name the repeats with --aa: the gate then holds it.""",
    ),
    doubt(
        "aa-lacks-cells",
        "A repeat of the baseline lacks cells that are compared",
        """Sessions move each load by an amount of its own. A repeat that did not measure a load
        says nothing on how far: without any that did, nothing is decided there, and over all loads
        together only repeats with all of them count.""",
        """Repeat the whole command of the baseline, not some of its loads.""",
    ),
    doubt(
        "latency-cells-alone",
        "Some loads were measured on one side of a comparison only",
        """What is not measured on both sides is not compared, and the verdict does not speak of
        it: a kernel may be worse just there.""",
        """Measure both with the same loads and engines.""",
    ),
    doubt(
        "load-invalid-runs",
        "Some runs of a load test do not count",
        """The thread was not what was asked for, ordinary threads never ran, or a remedy no longer
        held: the runs measured something else. Runs beside other work count.""",
        """See in which cells they are and why; put that right, and repeat the command with
        --retry-invalid.""",
    ),
    doubt(
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
    doubt(
        "latency-cpus-differ",
        "One CPU is later than another",
        """Interrupts, kernel threads and neighbours on the same chip are not spread evenly. A
        figure of all CPUs pooled describes neither.""",
        """Read the rows of the CPUs; readiness checks on interrupts say what is bound where.""",
    ),
)
