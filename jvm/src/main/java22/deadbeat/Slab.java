package deadbeat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Memory outside of the heap that has all its pages, given slice by slice and taken back as a whole. */
public final class Slab {
    private final MemorySegment memory;
    private final int piece;
    private long used;

    public Slab(long bytes, int piece) {
        memory = Arena.global().allocate(bytes).fill((byte) 0);
        this.piece = piece;
    }

    /** All pieces are free again. */
    public void leave() {
        used = 0;
    }

    /** The next piece, cleared as a new object is. */
    public byte take() {
        MemorySegment taken = memory.asSlice(used, piece).fill((byte) 0);
        used += piece;
        taken.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
        return taken.get(ValueLayout.JAVA_BYTE, piece - 1);
    }
}
