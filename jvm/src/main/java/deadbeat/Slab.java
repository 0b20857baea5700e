package deadbeat;

import java.nio.ByteBuffer;

/**
 * Memory outside of the heap that has all its pages, given piece by piece and taken back as a whole: what real-time
 * Java calls linear-time scoped and immortal memory. From Java 22 on that of src/main/java22 replaces this.
 */
public final class Slab {
    private final ByteBuffer memory;
    private final ByteBuffer zeros;
    private int used;

    public Slab(long bytes, int piece) {
        if (bytes > Integer.MAX_VALUE) {
            throw new Refusal("a buffer of Java holds less than 2 GiB, and from Java 22 on more");
        }
        memory = ByteBuffer.allocateDirect((int) bytes);
        zeros = ByteBuffer.allocateDirect(piece);
        leave(); // allocateDirect has cleared it: it has its pages
    }

    /** All pieces are free again. */
    public void leave() {
        used = 0;
    }

    /** The next piece, cleared as a new object is. */
    public byte take() {
        int at = used;
        memory.put(at, zeros, 0, zeros.capacity());
        memory.put(at, (byte) 1);
        used = at + zeros.capacity();
        return memory.get(used - 1);
    }
}
