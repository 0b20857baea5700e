/*+++
 * summary = "new byte[] on the heap, memory of a confined arena, or an array of a pool, cleared"
 * sizes = true
 * batches = true
 * variants = ["heap", "arena", "pool"]
 * amount = 64
 +++*/
/* heap: the oldest of --amount arrays that live is dropped before a new one comes; collecting it happens
 * whenever it does, in a sample or in a gap. arena: opened, allocated from and closed in the sample, as a
 * scoped memory is entered and left. pool: one of --amount arrays is taken and cleared. */
package deadbeat.primitives;

import deadbeat.Arenas;
import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Sampler;
import java.util.Arrays;
import java.util.List;

public final class Alloc extends Primitive {
    private static final int HEAP = 0;
    private static final int ARENA = 1;
    private static final List<String> VARIANTS = List.of("heap", "arena", "pool");
    /** Places of two threads lie on two cache lines. */
    private static final int STRIDE = 16;

    private int how;
    private int size;
    private int amount;
    private byte[][][] held;
    private int[] at;
    private byte seen;

    @Override
    public void create(Options options) {
        how = VARIANTS.indexOf(options.variant(VARIANTS));
        size = options.size();
        amount = options.amount();
        held = new byte[options.cpus().length][][];
        at = new int[STRIDE * (options.cpus().length + 1)];
        if (how == ARENA) {
            Arenas.require();
        }
    }

    @Override
    public void begin(Sampler sampler) {
        byte[][] mine = new byte[amount][];
        for (int i = 0; how > ARENA && i < amount; i++) {
            mine[i] = new byte[size];
        }
        held[sampler.place] = mine;
    }

    @Override
    public void sample(Sampler sampler) {
        if (how == ARENA) {
            inArena(sampler);
            return;
        }
        int place = STRIDE * (sampler.place + 1);
        int i = at[place] + 1 < amount ? at[place] + 1 : 0;
        at[place] = i;
        if (how == HEAP) {
            onHeap(sampler, held[sampler.place], i);
        } else {
            fromPool(sampler, held[sampler.place][i]);
        }
    }

    private void onHeap(Sampler sampler, byte[][] mine, int i) {
        mine[i] = null;
        long begin = System.nanoTime();
        for (int n = 0; n < sampler.batch; n++) {
            mine[i] = new byte[size];
        }
        sampler.add(begin, System.nanoTime());
    }

    private static void fromPool(Sampler sampler, byte[] array) {
        array[0] = 1; // it was used
        long begin = System.nanoTime();
        for (int n = 0; n < sampler.batch; n++) {
            Arrays.fill(array, (byte) 0);
        }
        sampler.add(begin, System.nanoTime());
    }

    private void inArena(Sampler sampler) {
        byte last = 0;
        long begin = System.nanoTime();
        for (int n = 0; n < sampler.batch; n++) {
            last |= Arenas.use(size);
        }
        sampler.add(begin, System.nanoTime());
        if (last != 0) {
            seen = last;
        }
    }

    @Override
    public String check() {
        return seen == 0 || size == 1 ? null : "memory of an arena was not zero";
    }
}
