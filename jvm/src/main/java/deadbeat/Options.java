package deadbeat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** What a run is asked for; the same words as the runtime's verb `primitive`. */
public final class Options {
    private static final List<String> KNOWN = List.of("--primitive", "--variant", "--size", "--amount", "--cpus",
            "--policy", "--priority", "--second-priority", "--batch", "--seconds-ns", "--period-ns", "--count", "--work",
            "--keep", "--lock-memory", "--vm-priority", "--force", "--out");

    private static final List<String> POLICIES = List.of("fifo", "rr", "other");

    /** As of the runtime in C. */
    private static final long MOST_KEPT = 1L << 24;

    private final Map<String, String> words = new HashMap<>();

    Options(String[] given) {
        for (int i = 0; i < given.length; i += 2) {
            if (!KNOWN.contains(given[i]) || i + 1 == given.length) {
                throw new Refusal("cannot use " + given[i]);
            }
            words.put(given[i], given[i + 1]);
        }
        if (primitive().isEmpty() || out().isEmpty() || secondsNs() <= 0 || cpus().length == 0) {
            throw new Refusal("--primitive, --cpus, --out and --seconds-ns are needed");
        }
    }

    private long number(String key, long otherwise) {
        try {
            return words.containsKey(key) ? Long.parseLong(words.get(key)) : otherwise;
        } catch (NumberFormatException error) {
            throw new Refusal("cannot use " + key + " " + words.get(key));
        }
    }

    String primitive() {
        return words.getOrDefault("--primitive", "");
    }

    /** One of `known`. */
    public String variant(List<String> known) {
        String word = words.getOrDefault("--variant", known.isEmpty() ? "" : known.get(0));
        if (!word.isEmpty() && !known.contains(word)) {
            throw new Refusal("the primitive has no such variant");
        }
        return word;
    }

    /** None. */
    void variant() {
        variant(List.of());
    }

    public int size() {
        return Math.toIntExact(number("--size", 1));
    }

    public int amount() {
        return Math.toIntExact(Math.max(number("--amount", 1), 1));
    }

    public int[] cpus() {
        String list = words.getOrDefault("--cpus", "");
        return list.isEmpty() ? new int[0] : Arrays.stream(list.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    /** Of a pair the handler, which is second, may have another priority. */
    Policy policy(int place, boolean pairs) {
        String name = words.getOrDefault("--policy", "fifo");
        if (!POLICIES.contains(name)) {
            throw new Refusal("cannot use --policy " + name);
        }
        long second = number("--second-priority", 0);
        long priority = pairs && place % 2 == 1 && second > 0 ? second : number("--priority", 0);
        return new Policy(name, name.equals("other") ? 0 : (int) priority);
    }

    /** The same of a probe, which needs nothing else. */
    static Policy ofVm(String[] words) {
        String[] run = {"--primitive", "clock", "--cpus", "0", "--out", "-", "--seconds-ns", "1"};
        return new Options(Stream.concat(Arrays.stream(run), Arrays.stream(words)).toArray(String[]::new)).ofVm();
    }

    /** Of threads that the JVM starts for itself; it inherits its own from whoever started it. */
    Policy ofVm() {
        int priority = (int) number("--vm-priority", 0);
        return priority > 0 ? new Policy("fifo", priority) : Policy.ORDINARY;
    }

    boolean lockMemory() {
        return number("--lock-memory", 0) != 0;
    }

    /** Between releases; 0: back to back. */
    public long periodNs() {
        return number("--period-ns", 0);
    }

    /** Samples of each thread, at most; 0: as many as there is time for. */
    public long count() {
        return number("--count", 0);
    }

    /** Samples of each thread that are kept in their order. */
    int kept() {
        if (number("--keep", 0) == 0) {
            return 0;
        }
        if (count() <= 0 || count() > MOST_KEPT) {
            throw new Refusal("--keep needs a --count that memory holds");
        }
        return (int) count();
    }

    /** Rounds of work between two samples. */
    long work() {
        return number("--work", 0);
    }

    /** What the JVM is made to do in the run, for a test of what is said of it: "gc:10", "safepoint:10"; "". */
    String force() {
        return words.getOrDefault("--force", "");
    }

    public int batch() {
        return (int) number("--batch", 1);
    }

    long secondsNs() {
        return number("--seconds-ns", 0);
    }

    String out() {
        return words.getOrDefault("--out", "");
    }
}
