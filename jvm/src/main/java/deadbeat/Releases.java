package deadbeat;

import java.util.concurrent.locks.LockSupport;

/** Moments that a thread waits for. */
public final class Releases {
    private Releases() {}

    /** Returns at that moment of System.nanoTime() or later, never before. */
    public static void await(long releaseNs) {
        for (long left; (left = releaseNs - System.nanoTime()) > 0; ) {
            LockSupport.parkNanos(left);
        }
    }
}
