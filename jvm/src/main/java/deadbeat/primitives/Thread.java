/*+++
 * summary = "From Thread.start() to the new thread's first instruction, on its creator's CPU"
 * waits = true
 * collected = [""]
 +++*/
/* The creator waits for the thread to end before it makes the next: at most one lives. */
package deadbeat.primitives;

import deadbeat.LibC;
import deadbeat.Primitive;
import deadbeat.Sampler;

public final class Thread extends Primitive {
    private volatile boolean other;

    /** A new thread and what it sees first. */
    private static final class Birth extends java.lang.Thread {
        private long beganNs;
        private int policy;

        @Override
        public void run() {
            beganNs = System.nanoTime();
            policy = LibC.getScheduler();
        }
    }

    @Override
    public boolean inherited() {
        return true;
    }

    @Override
    public void run(Sampler sampler) {
        int policy = LibC.getScheduler();
        while (sampler.goesOn()) {
            Birth birth = new Birth();
            long begin = System.nanoTime();
            birth.start();
            join(birth);
            other |= birth.policy != policy;
            sampler.add(begin, birth.beganNs);
            sampler.forget(System.nanoTime()); // its end is no gap
            sampler.work();
        }
    }

    private static void join(Birth birth) {
        try {
            birth.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public String check() {
        return other ? "a new thread has another policy than its creator" : null;
    }
}
