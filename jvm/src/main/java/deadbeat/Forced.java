package deadbeat;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/** Pauses that are made on purpose, each with its moment: whether they are found beside late samples is a test. */
final class Forced {
    private final Runnable pause;
    private final int count;
    private final List<String> made = new ArrayList<>();

    /** As --force has it: "gc:10", "safepoint:10"; "": none. */
    Forced(String words) {
        String[] parts = words.split(":");
        count = parts.length == 2 ? Integer.parseInt(parts[1]) : 0;
        pause = switch (parts[0]) {
            case "gc" -> System::gc;
            // a global safepoint, and no collection
            case "safepoint" -> () -> ManagementFactory.getThreadMXBean().findDeadlockedThreads();
            case "" -> () -> {};
            default -> throw new Refusal("cannot use --force " + words);
        };
    }

    boolean wanted() {
        return count > 0;
    }

    /** All of them, evenly over a window; on a busy machine those that it has room for. */
    void make(Window window) {
        long stepNs = (window.endNs() - window.startNs()) / (count + 1);
        for (int i = 1; i <= count && System.nanoTime() < window.endNs() - stepNs; i++) {
            Releases.await(window.startNs() + i * stepNs);
            long fromNs = System.nanoTime();
            pause.run();
            made.add("[" + (fromNs - window.startNs()) + "," + (System.nanoTime() - fromNs) + "]");
        }
    }

    String json() {
        return made.toString();
    }
}
