package deadbeat;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** A thread of a run, and every sample that it takes. As struct db_sampler of the runtime. */
public final class Sampler extends Padding {
    private static final VarHandle WORKED;
    private static final int PREEMPTED = 1;
    private static final int MIGRATED = 2;
    private static final int WAITED = 4;
    /** No more than one sample of so many is looked at: the next look begins later. */
    private static final int LOOK_SHARE = 64;

    static {
        try {
            WORKED = MethodHandles.lookup().findVarHandle(Sampler.class, "worked", long.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private long lastNs;
    private long endNs;
    private long watchNs;
    private long left;
    private long worked;
    public final int place;
    public final int batch;
    private final long work;
    /** Samples in their order, with --keep: while it warms up as well, or the first would be new to the compiler. */
    private final long[] kept;

    private int keptCount;
    private final Histogram times = new Histogram();
    private final Histogram gaps = new Histogram();
    private final LateList lateTimes = new LateList();
    private final LateList lateGaps = new LateList();
    private final Usage usage;
    private long allocatedBytes;
    private long startNs, periodNs;
    private long looked, preempted, migrated, waited;
    private long seenInvoluntary, seenDelayNs;
    private int seenCpu;

    /** What the kernel tells of the thread that asks. */
    interface Usage {
        long allocatedBytes();

        long involuntary();

        long runDelayNs();

        int cpu();
    }

    Sampler(int place, int batch, long work, int room, Usage usage) {
        this.place = place;
        this.batch = batch;
        this.work = work;
        kept = new long[room];
        this.usage = usage;
    }

    /** Empties it; in the thread, right before it runs. */
    void begin(Window window, long watchNs) {
        keptCount = 0;
        times.clear();
        gaps.clear();
        lateTimes.clear();
        lateGaps.clear();
        looked = preempted = migrated = waited = 0;
        startNs = window.startNs();
        endNs = window.endNs();
        periodNs = window.periodNs();
        this.watchNs = watchNs;
        left = window.count();
        look();
        allocatedBytes = usage.allocatedBytes();
        lastNs = System.nanoTime();
    }

    /** In the thread, right after it has run. */
    void end() {
        allocatedBytes = usage.allocatedBytes() - allocatedBytes;
    }

    /** Fewer samples than it was asked for: the primitive has room for no more. */
    public void atMost(long samples) {
        left = Math.min(left, samples);
    }

    public boolean goesOn() {
        return left > 0 && lastNs < endNs;
    }

    /** When the first sample may begin. */
    public long startNs() {
        return startNs;
    }

    /** Between releases; 0: back to back. */
    public long periodNs() {
        return periodNs;
    }

    /** Whether this thread may begin another sample of its handler then. */
    public boolean fires(long nowNs) {
        return left-- > 0 && nowNs < endNs;
    }

    /** Fake work between two samples: a store that stays is as much of a round as a loop can keep. */
    public void work() {
        for (long i = 0; i < work; i++) {
            WORKED.setOpaque(this, i);
        }
    }

    public void add(long beginNs, long endNs) {
        long took = endNs - beginNs;
        long gap = Math.max(beginNs - lastNs, 0);
        times.add(took);
        gaps.add(gap);
        lastNs = endNs;
        left--;
        if (keptCount < kept.length) {
            kept[keptCount++] = took;
        }
        if (took > watchNs || gap > watchNs) {
            late(beginNs, took, gap);
        }
    }

    /** What was done until then is no gap. */
    public void forget(long untilNs) {
        lastNs = untilNs;
    }

    /** What the look at a sample took that ended then; 0: there was none. */
    public long sinceNs(long endNs) {
        return lastNs - endNs;
    }

    private int look() {
        long involuntary = usage.involuntary();
        long delayNs = usage.runDelayNs();
        int cpu = usage.cpu();
        int tags = involuntary != seenInvoluntary ? PREEMPTED : 0;
        tags |= cpu != seenCpu ? MIGRATED : 0;
        tags |= delayNs - seenDelayNs > watchNs ? WAITED : 0;
        seenInvoluntary = involuntary;
        seenDelayNs = delayNs;
        seenCpu = cpu;
        return tags;
    }

    private void late(long beginNs, long tookNs, long gapNs) {
        int tags = look();
        long moment = beginNs - startNs;
        looked++;
        preempted += tags & PREEMPTED;
        migrated += (tags & MIGRATED) / MIGRATED;
        waited += (tags & WAITED) / WAITED;
        if (tookNs > watchNs) {
            lateTimes.keep(moment, tookNs, tags);
        }
        if (gapNs > watchNs) {
            lateGaps.keep(moment - gapNs, gapNs, tags);
        }
        if (looked > 2 * LateList.ROOM && looked > times.total() / LOOK_SHARE) {
            watchNs += watchNs / 2 + 1;
        }
        lastNs = System.nanoTime(); // the look is no gap
    }

    long medianNs() {
        return times.medianNs();
    }

    long samples() {
        return times.total();
    }

    private String keptJson() {
        if (kept.length == 0) {
            return "";
        }
        String listed = LongStream.of(kept).limit(keptCount).mapToObj(Long::toString).collect(Collectors.joining(","));
        return ",\"samples\":[" + listed + "]";
    }

    String json(Placed.Found found, Pauses pauses) {
        return "{\"thread\":" + place + ",\"cpu\":" + found.cpu() + ",\"policy\":\"" + found.policy().name()
                + "\",\"priority\":" + found.policy().priority() + ",\"allocated_bytes\":" + allocatedBytes
                + ",\"looked\":" + looked + ",\"preempted\":" + preempted + ",\"migrated\":" + migrated
                + ",\"waited\":" + waited + ",\"watch_ns\":" + watchNs + ",\"times\":" + times.json()
                + ",\"gaps\":" + gaps.json() + ",\"late_times\":" + lateTimes.json(startNs, pauses)
                + ",\"late_gaps\":" + lateGaps.json(startNs, pauses) + keptJson() + "}";
    }
}
