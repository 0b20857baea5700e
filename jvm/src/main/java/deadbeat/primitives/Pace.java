/*+++
 * summary = "From a release every 20 us, for which the thread spins, to the end of a copy"
 * sizes = true
 * named = true
 +++*/
package deadbeat.primitives;

import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Sampler;
import java.util.Arrays;

public final class Pace extends Primitive {
    private static final long PERIOD_NS = 20_000;

    private int size;

    @Override
    public void create(Options options) {
        super.create(options);
        size = options.size();
    }

    @Override
    public void run(Sampler sampler) {
        byte[] from = new byte[size];
        byte[] to = new byte[size];
        Arrays.fill(from, (byte) 1);
        long period = sampler.periodNs() > 0 ? sampler.periodNs() : PERIOD_NS;
        long release = System.nanoTime();
        while (sampler.goesOn()) {
            release += period;
            release += paced(sampler, from, to, release);
            sampler.work();
        }
    }

    /** A late one delays those after it, and each counts from its release; to look at it delays none. */
    private static long paced(Sampler sampler, byte[] from, byte[] to, long releaseNs) {
        while (System.nanoTime() < releaseNs) {
            java.lang.Thread.onSpinWait();
        }
        System.arraycopy(from, 0, to, 0, from.length);
        long now = System.nanoTime();
        sampler.forget(releaseNs); // to wait is no gap
        sampler.add(releaseNs, now);
        return sampler.sinceNs(now);
    }
}
