package deadbeat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
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
        {"jdk.Deoptimization", "deoptimisation"},
        {"jdk.GarbageCollection", "GC at work"},
        {"jdk.Compilation", "compiler at work"},
    };

    /** Ties the recorder's clock to System.nanoTime(). */
    @Name("deadbeat.Mark")
    @StackTrace(false)
    static final class Mark extends Event {
        long nanos;
    }

    private record Pause(int kind, Instant from, Instant to) {}

    private final Recording recording = new Recording();
    private final List<Pause> found = new ArrayList<>();
    private long markNs;
    private Instant marked;

    Pauses() {
        for (String[] kind : KINDS) {
            recording.enable(kind[0]).withoutStackTrace().withoutThreshold();
        }
        recording.enable(Mark.class);
        recording.start();
    }

    /** A reading of both clocks. */
    void mark() {
        Mark mark = new Mark();
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
            for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
                keep(event);
            }
        } finally {
            Files.delete(file);
        }
    }

    private void keep(RecordedEvent event) {
        String name = event.getEventType().getName();
        for (int i = 0; i < KINDS.length; i++) {
            if (KINDS[i][0].equals(name)) {
                found.add(new Pause(i, event.getStartTime(), event.getEndTime()));
            }
        }
        if (name.equals("deadbeat.Mark")) {
            markNs = event.getLong("nanos");
            marked = event.getStartTime();
        }
    }

    /** What was done within; "" if nothing. */
    String within(long fromNs, long toNs) {
        if (marked == null) {
            return "";
        }
        Instant from = marked.plus(Duration.ofNanos(fromNs - markNs));
        Instant to = marked.plus(Duration.ofNanos(toNs - markNs));
        int first = KINDS.length;
        for (Pause pause : found) {
            if (!pause.to.isBefore(from) && !pause.from.isAfter(to)) {
                first = Math.min(first, pause.kind);
            }
        }
        return first < KINDS.length ? KINDS[first][1] : "";
    }
}
