package deadbeat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** What the JVM itself did meanwhile, from its flight recorder. */
final class Pauses {
    /** Events and what they are called; what stops a thread comes before what only takes its CPU. */
    private static final String[][] KINDS = {
        {"jdk.GCPhasePause", "GC pause"},
        {"jdk.ZAllocationStall", "allocation stall"},
        {"jdk.ExecuteVMOperation", "VM operation"},
        {"jdk.SafepointEnd", "safepoint"},
        {"jdk.Deoptimization", "deoptimisation"},
        {"jdk.GarbageCollection", "GC at work"},
        {"jdk.Compilation", "compiler at work"},
    };
    /** From it to the end of the same number lasts a safepoint. */
    private static final String SAFEPOINT = "jdk.SafepointBegin";

    /** Ties the recorder's clock to System.nanoTime(). */
    @Name("deadbeat.Mark")
    @StackTrace(false)
    static final class Mark extends Event {
        long nanos;
    }

    private record Pause(int kind, String words, long fromNs, long toNs) {}

    private record Tie(Instant instant, long nanos) {}

    private Recording recording;
    private final List<Tie> ties = new ArrayList<>();
    private final List<Pause> found = new ArrayList<>();

    void start() {
        recording = new Recording();
        for (String[] kind : KINDS) {
            recording.enable(kind[0]).withoutStackTrace().withoutThreshold();
        }
        recording.enable(SAFEPOINT).withoutStackTrace().withoutThreshold();
        recording.enable(Mark.class);
        recording.start();
        mark(); // the first takes long
    }

    /** A reading of both clocks. */
    void mark() {
        Mark mark = new Mark();
        mark.begin();
        mark.nanos = System.nanoTime();
        mark.commit();
    }

    /** Ends the recording, and reads it. */
    void end() throws IOException {
        Path file = Files.createTempFile("deadbeat", ".jfr");
        try {
            recording.stop();
            recording.dump(file);
            recording.close();
            List<RecordedEvent> events = RecordingFile.readAllEvents(file);
            events.stream().filter(each -> nameOf(each).equals("deadbeat.Mark")).forEach(this::tie);
            Map<Long, Instant> begun = new HashMap<>();
            for (RecordedEvent event : events) {
                if (nameOf(event).equals(SAFEPOINT)) {
                    begun.put(event.getLong("safepointId"), event.getStartTime());
                }
            }
            events.forEach(event -> keep(event, begun));
        } finally {
            Files.delete(file);
        }
    }

    private static String nameOf(RecordedEvent event) {
        return event.getEventType().getName();
    }

    private void tie(RecordedEvent mark) {
        ties.add(new Tie(mark.getStartTime(), mark.getLong("nanos")));
        ties.sort((one, other) -> one.instant.compareTo(other.instant));
    }

    /** Its moment of System.nanoTime(), by the two last marks: the clocks do not run alike. */
    private long nanosOf(Instant instant) {
        Tie last = ties.get(ties.size() - 1);
        Tie before = ties.get(ties.size() - 2);
        double rate = (double) (last.nanos - before.nanos)
                / Duration.between(before.instant, last.instant).toNanos();
        return before.nanos + Math.round(rate * Duration.between(before.instant, instant).toNanos());
    }

    private void keep(RecordedEvent event, Map<Long, Instant> begun) {
        for (int i = 0; i < KINDS.length; i++) {
            if (KINDS[i][0].equals(nameOf(event)) && ties.size() > 1) {
                boolean safepoint = event.hasField("safepointId");
                Instant from = event.getStartTime();
                from = safepoint ? begun.getOrDefault(event.getLong("safepointId"), from) : from;
                String more = event.hasField("operation") ? " " + event.getString("operation") : "";
                found.add(new Pause(i, KINDS[i][1] + more, nanosOf(from), nanosOf(event.getEndTime())));
            }
        }
    }

    /** What was done within; "" if nothing. */
    String within(long fromNs, long toNs) {
        Pause first = null;
        for (Pause pause : found) {
            boolean meets = pause.toNs >= fromNs && pause.fromNs <= toNs;
            if (meets && (first == null || pause.kind < first.kind)) {
                first = pause;
            }
        }
        return first == null ? "" : first.words;
    }
}
