package deadbeat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a run is asked for; the same words as the runtime's verb `primitive`. */
public final class Options {
    private static final List<String> KNOWN = List.of("--primitive", "--variant", "--size", "--amount", "--cpus",
            "--policy", "--priority", "--second-priority", "--batch", "--seconds-ns", "--period-ns", "--out");

    private final Map<String, String> words = new HashMap<>();

    Options(String[] given) {
        for (int i = 0; i < given.length; i += 2) {
            if (!KNOWN.contains(given[i]) || i + 1 == given.length) {
                throw new Refusal("cannot use " + given[i]);
            }
            words.put(given[i], given[i + 1]);
        }
        if (number("--period-ns", 0) != 0) {
            throw new Refusal("events are not paced");
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

    boolean fifo() {
        return "fifo".equals(words.get("--policy"));
    }

    /** Of a pair the handler, which is second, may have another. */
    int priority(int place, boolean pairs) {
        long second = number("--second-priority", 0);
        return (int) (pairs && place % 2 == 1 && second > 0 ? second : number("--priority", 0));
    }

    int batch() {
        return (int) number("--batch", 1);
    }

    long secondsNs() {
        return number("--seconds-ns", 0);
    }

    String out() {
        return words.getOrDefault("--out", "");
    }
}
