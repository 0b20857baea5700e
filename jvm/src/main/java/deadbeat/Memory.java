package deadbeat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Memory of this process: locked where that is allowed, and what the kernel tells of it. */
final class Memory {
    private static final int CURRENT_AND_FUTURE = 3;
    private static final int SELF = 0;
    private static final int USAGE_BYTES = 144;
    private static final int MINOR_FAULTS_AT = 64;
    private static final int MAJOR_FAULTS_AT = 72;

    private final LibC.Buffer usage = new LibC.Buffer(USAGE_BYTES);
    private boolean locked;
    private long faults;

    /** What is mapped now, and what will be. */
    void lock() {
        locked = LibC.lockAll(CURRENT_AND_FUTURE) == 0;
    }

    private long faultsNow() {
        return LibC.usage(SELF, usage) == 0 ? usage.getLong(MINOR_FAULTS_AT) + usage.getLong(MAJOR_FAULTS_AT) : 0;
    }

    void begin() {
        faults = faultsNow();
    }

    void end() {
        faults = faultsNow() - faults;
    }

    /** Bytes of a row of smaps_rollup; -1: it has none. */
    private static long bytesOf(String rollup, String name) {
        int at = rollup.indexOf("\n" + name + ":");
        return at < 0 ? -1 : 1024 * Long.parseLong(rollup.substring(at).trim().split("\\s+")[1]);
    }

    /** Pages that are there without being locked are those of the kernel's own, and those of files that others share. */
    String json() {
        String rollup;
        try {
            rollup = Files.readString(Path.of("/proc/self/smaps_rollup"));
        } catch (IOException error) {
            rollup = "";
        }
        return "{\"locked\":" + locked + ",\"resident_bytes\":" + bytesOf(rollup, "Rss") + ",\"locked_bytes\":"
                + bytesOf(rollup, "Locked") + ",\"faults\":" + faults + "}";
    }
}
