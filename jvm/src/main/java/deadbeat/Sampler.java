package deadbeat;

/** A thread of a run, and every sample that it takes. As struct db_sampler of the runtime. */
public final class Sampler extends Padding {
    private static final int PREEMPTED = 1;
    private static final int MIGRATED = 2;
    private static final int WAITED = 4;
    /** No more than one sample of so many is looked at: the next look begins later. */
    private static final int LOOK_SHARE = 64;

    private long lastNs;
    private long endNs;
    private long watchNs;
    public final int place;
    public final int batch;
    private final Histogram times = new Histogram();
    private final Histogram gaps = new Histogram();
    private final LateList lateTimes = new LateList();
    private final LateList lateGaps = new LateList();
    private final Usage usage;
    private long startNs;
    private long looked, preempted, migrated, waited;
    private long seenInvoluntary, seenDelayNs;
    private int seenCpu;

    /** What the kernel tells of the thread that asks. */
    interface Usage {
        long involuntary();

        long runDelayNs();

        int cpu();
    }

    Sampler(int place, int batch, Usage usage) {
        this.place = place;
        this.batch = batch;
        this.usage = usage;
    }

    /** Empties it; in the thread, right before it runs. */
    void begin(long startNs, long endNs, long watchNs) {
        times.clear();
        gaps.clear();
        lateTimes.clear();
        lateGaps.clear();
        looked = preempted = migrated = waited = 0;
        this.startNs = startNs;
        this.endNs = endNs;
        this.watchNs = watchNs;
        look();
        lastNs = System.nanoTime();
    }

    public boolean goesOn() {
        return lastNs < endNs;
    }

    public long endNs() {
        return endNs;
    }

    public void add(long beginNs, long endNs) {
        long took = endNs - beginNs;
        long gap = Math.max(beginNs - lastNs, 0);
        times.add(took);
        gaps.add(gap);
        lastNs = endNs;
        if (took > watchNs || gap > watchNs) {
            late(beginNs, took, gap);
        }
    }

    /** What was done since the last sample is no gap. */
    public void forget() {
        lastNs = System.nanoTime();
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

    String json(Placed.Found found, Pauses pauses) {
        return "{\"thread\":" + place + ",\"cpu\":" + found.cpu() + ",\"policy\":\"" + found.policy()
                + "\",\"priority\":" + found.priority()
                + ",\"looked\":" + looked + ",\"preempted\":" + preempted + ",\"migrated\":" + migrated
                + ",\"waited\":" + waited + ",\"watch_ns\":" + watchNs + ",\"times\":" + times.json()
                + ",\"gaps\":" + gaps.json() + ",\"late_times\":" + lateTimes.json(startNs, pauses)
                + ",\"late_gaps\":" + lateGaps.json(startNs, pauses) + "}";
    }
}
