/*+++
 * summary = "A cache line from CPU to CPU and back: half of a sample is one way"
 * variants = ["cas", "readwrite"]
 * group = 2
 * spins = ["cas", "readwrite"]
 * placements = ["sibling", "cache", "far"]
 * equal = true
 * batches = true
 +++*/
/* cas: both threads compare and swap one word. readwrite: each writes a line of its own and reads the other's,
 * as in runtime/primitives/line.c. The lines lie two apart in an array of each pair, which its first thread made. */
package deadbeat.primitives;

import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Sampler;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;

public final class Line extends Primitive {
    private static final VarHandle SLOT = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int PING = 16;
    private static final int PONG = 32;
    /** Windows that have ended. */
    private static final int OVER = 48;

    private static final int SLOTS = 64;
    private static final int CAS = 0;
    private static final List<String> VARIANTS = List.of("cas", "readwrite");
    /** What each thread makes of the word. */
    private static final long THERE = 1;

    private static final long BACK = 0;

    private int how;
    private volatile long[][] lines;
    private long[] turns;

    @Override
    public int group() {
        return 2;
    }

    @Override
    public void create(Options options) {
        how = VARIANTS.indexOf(options.variant(VARIANTS));
        lines = new long[options.cpus().length / group()][];
        turns = new long[options.cpus().length];
    }

    @Override
    public void begin(Sampler sampler) {
        if (sampler.place % 2 == 0) {
            lines[sampler.place / 2] = new long[SLOTS];
        }
    }

    private static void swapOnce(long[] lines) {
        while (!SLOT.weakCompareAndSetPlain(lines, PING, BACK, THERE)) {
            // as short as can be
        }
    }

    private static void writeOnce(long[] lines, long turn) {
        SLOT.setRelease(lines, PING, turn);
        while ((long) SLOT.getAcquire(lines, PONG) != turn) {
            // as short as can be
        }
    }

    @Override
    public void run(Sampler sampler) {
        long[] mine = lines[sampler.place / 2];
        if (sampler.place % 2 == 1) {
            answer(mine, sampler.place);
            return;
        }
        if (how == CAS) {
            swapOnce(mine); // the second is there: the first swap it answers
            swaps(sampler, mine);
            while ((long) SLOT.getAcquire(mine, PING) != BACK) {
                // the last is on its way
            }
        } else {
            writeOnce(mine, ++turns[sampler.place]);
            writes(sampler, mine);
        }
        SLOT.getAndAdd(mine, OVER, 1L);
    }

    private static void swaps(Sampler sampler, long[] mine) {
        while (sampler.goesOn()) {
            long begin = System.nanoTime();
            for (int i = 0; i < sampler.batch; i++) {
                swapOnce(mine);
            }
            sampler.add(begin, System.nanoTime());
            sampler.work();
        }
    }

    private void writes(Sampler sampler, long[] mine) {
        long turn = turns[sampler.place];
        while (sampler.goesOn()) {
            long begin = System.nanoTime();
            for (int i = 0; i < sampler.batch; i++) {
                writeOnce(mine, ++turn);
            }
            sampler.add(begin, System.nanoTime());
            sampler.work();
        }
        turns[sampler.place] = turn;
    }

    private void answer(long[] mine, int place) {
        long window = turns[place]++;
        long seen = (long) SLOT.getAcquire(mine, PONG);
        while ((long) SLOT.getOpaque(mine, OVER) == window) {
            if (how == CAS) {
                SLOT.weakCompareAndSetPlain(mine, PING, THERE, BACK);
            } else {
                long turn = (long) SLOT.getAcquire(mine, PING);
                if (turn != seen) {
                    SLOT.setRelease(mine, PONG, seen = turn);
                }
            }
        }
    }
}
