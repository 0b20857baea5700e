/*+++
 * summary = "How late a thread wakes up that parked until a given moment, every 200 us"
 * waits = true
 +++*/
package deadbeat.primitives;

import deadbeat.Primitive;
import deadbeat.Releases;
import deadbeat.Sampler;

public final class Sleep extends Primitive {
    private static final long PERIOD_NS = 200_000;

    @Override
    public void run(Sampler sampler) {
        long period = sampler.periodNs() > 0 ? sampler.periodNs() : PERIOD_NS;
        long release = System.nanoTime();
        while (sampler.goesOn()) {
            release += period;
            Releases.await(release);
            long now = System.nanoTime();
            sampler.forget(release); // to sleep is no gap
            sampler.add(release, now);
            while (release + period < now) { // releases that were slept through
                release += period;
            }
            sampler.work();
        }
    }
}
