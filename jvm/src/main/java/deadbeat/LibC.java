package deadbeat;

import com.sun.jna.Memory;
import com.sun.jna.Native;

/** The calls of the C library that Java lacks, by JNA; from Java 22 on those of src/main/java22 replace this. */
public final class LibC {
    static {
        Native.register(LibC.class, "c");
    }

    private LibC() {}

    static String by() {
        return "JNA";
    }

    private static native int sched_setaffinity(int pid, long bytes, Memory mask);

    private static native int sched_setscheduler(int pid, int policy, Memory parameters);

    private static native int sched_getscheduler(int pid);

    private static native int sched_getparam(int pid, Memory parameters);

    private static native int sched_getcpu();

    private static native int getrusage(int who, Memory usage);

    private static native int mlockall(int flags);

    private static native int getppid();

    private static native int open(String path, int flags);

    private static native long pread(int file, Memory bytes, long count, long offset);

    /** Memory of a thread for these calls. */
    static final class Buffer {
        private final Memory memory;

        Buffer(int bytes) {
            memory = new Memory(bytes);
            memory.clear();
        }

        long getLong(int offset) {
            return memory.getLong(offset);
        }

        int getInt(int offset) {
            return memory.getInt(offset);
        }

        byte getByte(int offset) {
            return memory.getByte(offset);
        }

        void putLong(int offset, long value) {
            memory.setLong(offset, value);
        }

        void putInt(int offset, int value) {
            memory.setInt(offset, value);
        }
    }

    static int setAffinity(long bytes, Buffer mask) {
        return sched_setaffinity(0, bytes, mask.memory);
    }

    static int setScheduler(int policy, Buffer parameters) {
        return sched_setscheduler(0, policy, parameters.memory);
    }

    /** Number of the calling thread's policy. */
    public static int getScheduler() {
        return sched_getscheduler(0);
    }

    static int getParameters(Buffer parameters) {
        return sched_getparam(0, parameters.memory);
    }

    static int getCpu() {
        return sched_getcpu();
    }

    static int usage(int who, Buffer usage) {
        return getrusage(who, usage.memory);
    }

    static int lockAll(int flags) {
        return mlockall(flags);
    }

    /** A system call that does nothing. */
    public static int parent() {
        return getppid();
    }

    static int openToRead(String path) {
        return open(path, 0);
    }

    static long readAt(int file, Buffer bytes, long count, long offset) {
        return pread(file, bytes.memory, count, offset);
    }
}
