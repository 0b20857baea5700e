package deadbeat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** The calling thread on a CPU of its own under a policy, and what the kernel tells of it. For 64-bit Linux. */
final class Placed implements Sampler.Usage {
    private static final ThreadMXBean THREADS = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
    private static final int MASK_BYTES = 1024;
    private static final int USAGE_BYTES = 144;
    private static final int INVOLUNTARY_AT = 136;
    private static final int THREAD = 1;
    private static final int TEXT_BYTES = 80;

    private final LibC.Buffer usage = new LibC.Buffer(USAGE_BYTES);
    private final LibC.Buffer text = new LibC.Buffer(TEXT_BYTES);
    private final LibC.Buffer parameters = new LibC.Buffer(8);
    private int file = -1;

    /** Refuses where it is not as it was asked. */
    void place(int cpu, Policy policy, boolean inherited) {
        LibC.Buffer mask = new LibC.Buffer(MASK_BYTES);
        if (cpu >= 8 * MASK_BYTES) {
            throw new Refusal("there is no CPU " + cpu);
        }
        mask.putLong(cpu / 64 * 8, 1L << cpu % 64);
        if (LibC.setAffinity(MASK_BYTES, mask) != 0) {
            throw new Refusal("a thread cannot be put on CPU " + cpu);
        }
        parameters.putInt(0, policy.priority());
        if (LibC.setScheduler(policy.number() | (inherited ? 0 : Policy.RESET_ON_FORK), parameters) != 0) {
            throw new Refusal("SCHED_" + policy.name().toUpperCase(Locale.ROOT) + " with priority "
                    + policy.priority() + " was refused");
        }
        file = LibC.openToRead("/proc/thread-self/schedstat");
        verify(cpu, policy);
    }

    /** Where a thread is and what it has. */
    record Found(int cpu, Policy policy) {}

    Found verify(int cpu, Policy policy) {
        Found wanted = new Found(cpu, policy);
        Found found = new Found(cpu(), Policy.of(LibC.getScheduler(), priority()));
        if (!wanted.equals(found)) {
            throw new Refusal("a thread should be " + wanted + " and is " + found);
        }
        return found;
    }

    private int priority() {
        return LibC.getParameters(parameters) == 0 ? parameters.getInt(0) : -1;
    }

    @Override
    public int cpu() {
        return LibC.getCpu();
    }

    @Override
    public long allocatedBytes() {
        return THREADS.getCurrentThreadAllocatedBytes();
    }

    @Override
    public long involuntary() {
        return LibC.usage(THREAD, usage) == 0 ? usage.getLong(INVOLUNTARY_AT) : 0;
    }

    /** The second number of its schedstat; 0 where the kernel has none. */
    @Override
    public long runDelayNs() {
        long length = file < 0 ? 0 : LibC.readAt(file, text, TEXT_BYTES, 0);
        long value = 0;
        int word = 0;
        for (int i = 0; i < length && word < 2; i++) {
            byte digit = text.getByte(i);
            if (digit < '0') {
                word++;
            } else if (word == 1) {
                value = 10 * value + digit - '0';
            }
        }
        return value;
    }
}
