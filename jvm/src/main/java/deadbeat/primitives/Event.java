/*+++
 * summary = "From firing an event to the first instruction of its handler, one handler a firer"
 * variants = ["park", "monitor", "spin"]
 * group = 2
 * spins = ["spin"]
 +++*/
/* Threads 2k and 2k + 1 are a pair, as in runtime/primitives/event.c: the first fires and waits for the
 * answer, the sample is the handler's. With a period it fires at its releases, and samples count from those. */
package deadbeat.primitives;

import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Releases;
import deadbeat.Sampler;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

public final class Event extends Primitive {
    private static final VarHandle SLOT = MethodHandles.arrayElementVarHandle(long[].class);
    /** Slots two cache lines apart, and away from the array's head. */
    private static final int RUNG = 16;
    private static final int HEARD = 32;
    private static final int WORD = 48;
    private static final int SLOTS = 64;
    /** The word of the last of all: no moment. */
    private static final long LAST = 0;

    private static final List<String> VARIANTS = List.of("park", "monitor", "spin");
    private static final int PARK = 0;
    private static final int MONITOR = 1;

    private int how;
    private Bell[] fires;
    private Bell[] answers;

    /** One direction of a pair; its word is what whoever rings it says. */
    private static final class Bell {
        private final long[] slots = new long[SLOTS];
        private volatile java.lang.Thread hearer;

        private long rung() {
            return (long) SLOT.getAcquire(slots, RUNG);
        }

        void ring(int how, long word) {
            slots[WORD] = word;
            if (how == MONITOR) {
                synchronized (this) {
                    SLOT.setRelease(slots, RUNG, slots[RUNG] + 1);
                    notify();
                }
                return;
            }
            SLOT.setRelease(slots, RUNG, slots[RUNG] + 1);
            if (how == PARK) {
                LockSupport.unpark(hearer);
            }
        }

        long hear(int how) {
            long heard = slots[HEARD]++;
            if (how == MONITOR) {
                synchronized (this) {
                    while (rung() == heard) {
                        waitHere();
                    }
                }
            } else if (how == PARK) {
                while (rung() == heard) {
                    LockSupport.park(this);
                }
            } else {
                while (rung() == heard) {
                    // as short as can be
                }
            }
            return slots[WORD];
        }

        private void waitHere() {
            try {
                wait();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    @Override
    public int group() {
        return 2;
    }

    @Override
    public void create(Options options) {
        how = VARIANTS.indexOf(options.variant(VARIANTS));
        int pairs = options.cpus().length / group();
        fires = new Bell[pairs];
        answers = new Bell[pairs];
        for (int i = 0; i < pairs; i++) {
            fires[i] = new Bell();
            answers[i] = new Bell();
        }
    }

    @Override
    public void begin(Sampler sampler) {
        (sampler.place % 2 == 0 ? answers : fires)[sampler.place / 2].hearer = java.lang.Thread.currentThread();
    }

    @Override
    public void run(Sampler sampler) {
        Bell fire = fires[sampler.place / 2];
        Bell answer = answers[sampler.place / 2];
        if (sampler.place % 2 == 0) {
            fireAll(fire, answer, sampler);
        } else {
            while (handle(fire, answer, sampler)) {
                // until the last is answered
            }
        }
    }

    private void fireAll(Bell fire, Bell answer, Sampler sampler) {
        long period = sampler.periodNs();
        long release = sampler.startNs();
        for (boolean goesOn = true; goesOn; sampler.work()) {
            if (period > 0) {
                release += period;
                Releases.await(release);
            }
            goesOn = sampler.fires(period > 0 ? release : System.nanoTime());
            fire.ring(how, !goesOn ? LAST : period > 0 ? release : System.nanoTime());
            answer.hear(how);
        }
    }

    private boolean handle(Bell fire, Bell answer, Sampler sampler) {
        long fired = fire.hear(how);
        long now = System.nanoTime();
        if (fired != LAST) {
            sampler.add(fired, now);
        }
        answer.ring(how, LAST);
        return fired != LAST;
    }
}
