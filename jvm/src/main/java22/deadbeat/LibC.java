package deadbeat;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The calls of the C library that Java lacks, by its foreign functions. */
public final class LibC {
    private static final ValueLayout INT = ValueLayout.JAVA_INT;
    private static final ValueLayout LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout AT = ValueLayout.ADDRESS;

    private static final MethodHandle SET_AFFINITY = find("sched_setaffinity", INT, INT, LONG, AT);
    private static final MethodHandle SET_SCHEDULER = find("sched_setscheduler", INT, INT, INT, AT);
    private static final MethodHandle GET_SCHEDULER = find("sched_getscheduler", INT, INT);
    private static final MethodHandle GET_PARAMETERS = find("sched_getparam", INT, INT, AT);
    private static final MethodHandle GET_CPU = find("sched_getcpu", INT);
    private static final MethodHandle USAGE = find("getrusage", INT, INT, AT);
    private static final MethodHandle LOCK_ALL = find("mlockall", INT, INT);
    private static final MethodHandle PARENT = find("getppid", INT);
    private static final MethodHandle OPEN = find("open", INT, AT, INT);
    private static final MethodHandle READ_AT = find("pread", LONG, INT, AT, LONG, LONG);

    private LibC() {}

    static String by() {
        return "FFM";
    }

    @SuppressWarnings("restricted")
    private static MethodHandle find(String name, MemoryLayout result, MemoryLayout... arguments) {
        Linker linker = Linker.nativeLinker();
        MemorySegment address = linker.defaultLookup().find(name).orElseThrow(() -> new Refusal("no " + name));
        return linker.downcallHandle(address, FunctionDescriptor.of(result, arguments));
    }

    /** Memory of a thread for these calls. */
    static final class Buffer {
        private final MemorySegment memory;

        Buffer(int bytes) {
            memory = Arena.global().allocate(bytes, 8);
        }

        long getLong(int offset) {
            return memory.get(ValueLayout.JAVA_LONG, offset);
        }

        int getInt(int offset) {
            return memory.get(ValueLayout.JAVA_INT, offset);
        }

        byte getByte(int offset) {
            return memory.get(ValueLayout.JAVA_BYTE, offset);
        }

        void putLong(int offset, long value) {
            memory.set(ValueLayout.JAVA_LONG, offset, value);
        }

        void putInt(int offset, int value) {
            memory.set(ValueLayout.JAVA_INT, offset, value);
        }
    }

    /** invokeExact throws whatever: nothing is known that it could be. */
    private static IllegalStateException never(Throwable error) {
        return new IllegalStateException(error);
    }

    static int setAffinity(long bytes, Buffer mask) {
        try {
            return (int) SET_AFFINITY.invokeExact(0, bytes, mask.memory);
        } catch (Throwable error) {
            throw never(error);
        }
    }

    static int setScheduler(int policy, Buffer parameters) {
        try {
            return (int) SET_SCHEDULER.invokeExact(0, policy, parameters.memory);
        } catch (Throwable error) {
            throw never(error);
        }
    }

    /** Number of the calling thread's policy. */
    public static int getScheduler() {
        try {
            return (int) GET_SCHEDULER.invokeExact(0);
        } catch (Throwable error) {
            throw never(error);
        }
    }

    static int getParameters(Buffer parameters) {
        try {
            return (int) GET_PARAMETERS.invokeExact(0, parameters.memory);
        } catch (Throwable error) {
            throw never(error);
        }
    }

    static int getCpu() {
        try {
            return (int) GET_CPU.invokeExact();
        } catch (Throwable error) {
            throw never(error);
        }
    }

    static int usage(int who, Buffer usage) {
        try {
            return (int) USAGE.invokeExact(who, usage.memory);
        } catch (Throwable error) {
            throw never(error);
        }
    }

    static int lockAll(int flags) {
        try {
            return (int) LOCK_ALL.invokeExact(flags);
        } catch (Throwable error) {
            throw never(error);
        }
    }

    /** A system call that does nothing. */
    public static int parent() {
        try {
            return (int) PARENT.invokeExact();
        } catch (Throwable error) {
            throw never(error);
        }
    }

    static int openToRead(String path) {
        try (Arena arena = Arena.ofConfined()) {
            return (int) OPEN.invokeExact(arena.allocateFrom(path), 0);
        } catch (Throwable error) {
            throw never(error);
        }
    }

    static long readAt(int file, Buffer bytes, long count, long offset) {
        try {
            return (long) READ_AT.invokeExact(file, bytes.memory, count, offset);
        } catch (Throwable error) {
            throw never(error);
        }
    }
}
