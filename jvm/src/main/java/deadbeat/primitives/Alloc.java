/*+++
 * summary = "Memory of a size, cleared: of the heap, of scoped and immortal memory, or of a pool"
 * sizes = true
 * batches = true
 * variants = ["heap", "lt", "vt", "immortal", "pool"]
 * collected = ["heap", "vt"]
 * amount = 64
 +++*/
/* heap: the oldest of --amount arrays that live is dropped before a new one comes; collecting it happens
 * whenever it does, in a sample or in a gap. lt: a slice of a slab that has all its pages, which is left as a
 * whole after --amount of them. vt: an arena that is opened, allocated from and closed in the sample. immortal:
 * as lt, and never left: the run ends with its slab. pool: one of --amount arrays is taken and cleared. Threads
 * of lt, immortal and pool allocate nothing on the heap: the result says how much each did. */
package deadbeat.primitives;

import deadbeat.Arenas;
import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Sampler;
import deadbeat.Slab;
import java.util.Arrays;
import java.util.List;

public final class Alloc extends Primitive {
    private static final List<String> VARIANTS = List.of("heap", "lt", "vt", "immortal", "pool");
    private static final int HEAP = 0;
    private static final int LT = 1;
    private static final int VT = 2;
    private static final int IMMORTAL = 3;
    /** Bytes of immortal memory of all threads, where nobody says how often they allocate. */
    private static final long IMMORTAL_BYTES = 256L << 20;
    /** Places of two threads lie on two cache lines. */
    private static final int STRIDE = 16;

    private int how;
    private int size;
    private int amount;
    private byte[][][] held;
    private Slab[] slabs;
    private int[] at;
    private byte seen;

    @Override
    public void create(Options options) {
        how = VARIANTS.indexOf(options.variant(VARIANTS));
        size = options.size();
        int threads = options.cpus().length;
        amount = how == IMMORTAL ? immortal(options, threads) : options.amount();
        held = new byte[threads][][];
        slabs = new Slab[threads];
        at = new int[STRIDE * (threads + 1)];
        if (how == VT) {
            Arenas.require();
        }
    }

    /** Pieces that a thread may take before its slab ends. */
    private int immortal(Options options, int threads) {
        long pieces = options.count() * options.batch();
        return Math.toIntExact(pieces > 0 ? pieces : Math.max(IMMORTAL_BYTES / threads / size, options.batch()));
    }

    @Override
    public void begin(Sampler sampler) {
        if (how == LT || how == IMMORTAL) {
            slabs[sampler.place] = new Slab((long) amount * size, size);
        } else if (how != VT) {
            byte[][] mine = new byte[amount][];
            for (int i = 0; how != HEAP && i < amount; i++) {
                mine[i] = new byte[size];
            }
            held[sampler.place] = mine;
        }
    }

    @Override
    public void enter(Sampler sampler) {
        if (how == IMMORTAL) {
            slabs[sampler.place].leave();
            sampler.atMost(amount / sampler.batch);
        }
    }

    @Override
    public void sample(Sampler sampler) {
        if (how == VT) {
            inArena(sampler);
            return;
        }
        int place = STRIDE * (sampler.place + 1);
        if (how == LT || how == IMMORTAL) {
            ofSlab(sampler, slabs[sampler.place], place);
            return;
        }
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

    private void ofSlab(Sampler sampler, Slab slab, int place) {
        byte last = 0;
        int used = at[place];
        long begin = System.nanoTime();
        for (int n = 0; n < sampler.batch; n++) {
            if (how == LT && ++used > amount) {
                slab.leave();
                used = 1;
            }
            last |= slab.take();
        }
        sampler.add(begin, System.nanoTime());
        at[place] = used;
        keep(last);
    }

    private void inArena(Sampler sampler) {
        byte last = 0;
        long begin = System.nanoTime();
        for (int n = 0; n < sampler.batch; n++) {
            last |= Arenas.use(size);
        }
        sampler.add(begin, System.nanoTime());
        keep(last);
    }

    private void keep(byte last) {
        if (last != 0) {
            seen = last;
        }
    }

    @Override
    public String check() {
        return seen == 0 || size == 1 ? null : "memory was not cleared";
    }
}
