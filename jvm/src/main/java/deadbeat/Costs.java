package deadbeat;

/** What the clock and the keeping of a sample take: the fastest of many turns. */
final class Costs {
    private static final int TURNS = 400;
    private static final int SAMPLES = 500;

    private long sink;

    private long bare() {
        long kept = 0;
        long began = System.nanoTime();
        for (int i = 0; i < SAMPLES; i++) {
            kept += System.nanoTime() - System.nanoTime();
        }
        long ended = System.nanoTime();
        sink += kept;
        return ended - began;
    }

    private long full(Sampler sampler) {
        long began = System.nanoTime();
        for (int i = 0; i < SAMPLES; i++) {
            long begin = System.nanoTime();
            sampler.add(begin, System.nanoTime());
        }
        return System.nanoTime() - began;
    }

    /** The shortest time that two readings can lie apart and differ. */
    long resolutionNs() {
        long least = Long.MAX_VALUE;
        long last = System.nanoTime();
        for (int i = 0; i < TURNS * SAMPLES; i++) {
            long now = System.nanoTime();
            if (now > last) {
                least = Math.min(least, now - last);
            }
            last = now;
        }
        return least;
    }

    /** Of a reading, and of a sample beyond its two readings, ps. */
    long[] clockAndSamplePs(Sampler sampler) {
        long bareNs = Long.MAX_VALUE;
        long fullNs = Long.MAX_VALUE;
        sampler.begin(Window.UNBOUNDED, Long.MAX_VALUE);
        for (int turn = 0; turn < TURNS; turn++) {
            bareNs = Math.min(bareNs, bare());
            fullNs = Math.min(fullNs, full(sampler));
        }
        return new long[] {bareNs * 1000 / (2 * SAMPLES), (fullNs - bareNs) * 1000 / SAMPLES};
    }
}
