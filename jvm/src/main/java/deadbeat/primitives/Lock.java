/*+++
 * summary = "Taking a lock that all threads share; it guards one increment"
 * variants = ["monitor", "reentrant", "stamped", "tas", "ttas", "ticket"]
 * spins = ["tas", "ttas", "ticket"]
 * collected = ["reentrant", "stamped"]
 * contends = true
 +++*/
/* It is given back outside of the sample. monitor: synchronized. reentrant, stamped (for writing): of
 * java.util.concurrent. tas, ttas, ticket: words of an array by VarHandle, two cache lines apart. */
package deadbeat.primitives;

import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Sampler;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;

public final class Lock extends Primitive {
    private static final VarHandle SLOT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int WORD = 16;
    private static final int NEXT = 32;
    private static final int COUNTER = 48;
    private static final int SLOTS = 64;
    private static final int STRIDE = 16;

    private static final List<String> VARIANTS =
            List.of("monitor", "reentrant", "stamped", "tas", "ttas", "ticket");

    /** One way of taking a lock and giving it back; a run has one only, so that its calls are inlined. */
    private abstract static class Way {
        /** Returns what `release` needs. */
        abstract long acquire();

        abstract void release(long stamp);
    }

    private static final class Reentrant extends Way {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        long acquire() {
            lock.lock();
            return 0;
        }

        @Override
        void release(long stamp) {
            lock.unlock();
        }
    }

    private static final class Stamped extends Way {
        private final StampedLock lock = new StampedLock();

        @Override
        long acquire() {
            return lock.writeLock();
        }

        @Override
        void release(long stamp) {
            lock.unlockWrite(stamp);
        }
    }

    private static final class TestAndSet extends Way {
        private final long[] slots = new long[SLOTS];

        @Override
        long acquire() {
            while ((long) SLOT.getAndSetAcquire(slots, WORD, 1L) != 0) {
                // over and over
            }
            return 0;
        }

        @Override
        void release(long stamp) {
            SLOT.setRelease(slots, WORD, 0L);
        }
    }

    private static final class TestAndTestAndSet extends Way {
        private final long[] slots = new long[SLOTS];

        @Override
        long acquire() {
            while ((long) SLOT.getAndSetAcquire(slots, WORD, 1L) != 0) {
                while ((long) SLOT.getOpaque(slots, WORD) != 0) {
                    java.lang.Thread.onSpinWait();
                }
            }
            return 0;
        }

        @Override
        void release(long stamp) {
            SLOT.setRelease(slots, WORD, 0L);
        }
    }

    private static final class Ticket extends Way {
        private final long[] slots = new long[SLOTS];

        @Override
        long acquire() {
            long mine = (long) SLOT.getAndAdd(slots, NEXT, 1L);
            while ((long) SLOT.getAcquire(slots, WORD) != mine) {
                java.lang.Thread.onSpinWait();
            }
            return mine;
        }

        @Override
        void release(long mine) {
            SLOT.setRelease(slots, WORD, mine + 1);
        }
    }

    private Way way;
    /** What it guards, and how often each thread held it. */
    private final long[] guarded = new long[SLOTS];

    private long[] taken;

    @Override
    public void create(Options options) {
        taken = new long[STRIDE * (options.cpus().length + 1)];
        way = switch (options.variant(VARIANTS)) {
            case "reentrant" -> new Reentrant();
            case "stamped" -> new Stamped();
            case "tas" -> new TestAndSet();
            case "ttas" -> new TestAndTestAndSet();
            case "ticket" -> new Ticket();
            default -> null;
        };
    }

    @Override
    public void sample(Sampler sampler) {
        if (way == null) {
            inMonitor(sampler);
            return;
        }
        long begin = System.nanoTime();
        long stamp = way.acquire();
        long end = System.nanoTime();
        guarded[COUNTER]++;
        way.release(stamp);
        taken[STRIDE * (sampler.place + 1)]++;
        sampler.add(begin, end); // not under the lock: what keeps a sample is no hold time
    }

    private void inMonitor(Sampler sampler) {
        long begin = System.nanoTime();
        long end;
        synchronized (this) {
            end = System.nanoTime();
            guarded[COUNTER]++;
        }
        taken[STRIDE * (sampler.place + 1)]++;
        sampler.add(begin, end);
    }

    @Override
    public String check() {
        long all = 0;
        for (int i = STRIDE; i < taken.length; i += STRIDE) {
            all += taken[i];
        }
        return all == guarded[COUNTER] ? null : "the lock let two threads in at once";
    }
}
