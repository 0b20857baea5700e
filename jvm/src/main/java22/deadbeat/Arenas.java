package deadbeat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Memory of an arena that only its thread has: opened, used and closed, as a scoped memory is entered and left. */
public final class Arenas {
    private Arenas() {}

    public static void require() {}

    public static byte use(long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(bytes);
            memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
            return memory.get(ValueLayout.JAVA_BYTE, bytes - 1);
        }
    }
}
