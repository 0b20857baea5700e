package deadbeat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Memory outside of the heap that has all its pages, given slice by slice and taken back as a whole. */
public final class Slab {
    private final MemorySegment memory;
    private final MemorySegment zeros;
    private final int piece;
    private long used;

    public Slab(long bytes, int piece) {
        memory = Arena.global().allocate(bytes).fill((byte) 0);
        zeros = Arena.global().allocate(piece).fill((byte) 0);
        this.piece = piece;
    }

    /** All pieces are free again. */
    public void leave() {
        used = 0;
    }

    /** The next piece, cleared as a new object is. A slice would be an object of the heap until compilers find that it need not be. */
    public byte take() {
        long at = used;
        MemorySegment.copy(zeros, 0, memory, at, piece);
        memory.set(ValueLayout.JAVA_BYTE, at, (byte) 1);
        used = at + piece;
        return memory.get(ValueLayout.JAVA_BYTE, used - 1);
    }
}
