package deadbeat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** All threads of this process, those of collectors and compilers, too, as the kernel has them. */
final class VmThreads {
    private static final Path TASKS = Path.of("/proc/self/task");
    /** Fields of /proc/PID/stat, counted from the one after the name. */
    private static final int PRIORITY_AT = 37;

    private static final int POLICY_AT = 38;

    /** Names of HotSpot's and OpenJ9's. */
    private static final Pattern COMPILER = Pattern.compile("C[12] Comp|JIT Comp");

    private record Seen(String name, Policy policy) {}

    private VmThreads() {}

    /** Number of the calling thread. */
    static String me() {
        try {
            return Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
        } catch (IOException error) {
            throw new Refusal("/proc/thread-self cannot be read: " + error);
        }
    }

    private static Stream<Seen> seen(Path task) {
        try {
            String stat = Files.readString(task.resolve("stat"));
            int named = stat.lastIndexOf(')'); // a name may hold anything
            String[] fields = stat.substring(named + 2).trim().split(" ");
            Policy policy =
                    Policy.of(Integer.parseInt(fields[POLICY_AT]), Integer.parseInt(fields[PRIORITY_AT]));
            return Stream.of(new Seen(stat.substring(stat.indexOf('(') + 1, named), policy));
        } catch (IOException error) {
            return Stream.empty(); // it has ended meanwhile
        }
    }

    /**
     * How many threads have each policy, as JSON.
     *
     * @param mine numbers of threads that have a policy of their own, which each verifies itself
     * @param wanted of all others
     */
    static String counted(Set<String> mine, Policy wanted) {
        Map<Policy, Integer> counts =
                new TreeMap<>(Comparator.comparing(Policy::name).thenComparing(Policy::priority));
        for (Path task : tasks()) {
            seen(task).forEach(found -> {
                if (!mine.contains(task.getFileName().toString()) && !found.policy.equals(wanted)) {
                    throw new Refusal("the thread " + found.name + " of the JVM should be " + wanted + " and is "
                            + found.policy);
                }
                counts.merge(found.policy, 1, Integer::sum);
            });
        }
        return counts.entrySet().stream()
                .map(each -> "[\"" + each.getKey().name() + "\"," + each.getKey().priority() + "," + each.getValue() + "]")
                .collect(Collectors.joining(",", "[", "]"));
    }

    /** CPU time of all compilers so far, ns: of what they have not ended, too. 0 where the kernel tells none. */
    static long compilersNs() {
        long sum = 0;
        for (Path task : tasks()) {
            try {
                if (COMPILER.matcher(Files.readString(task.resolve("comm"))).lookingAt()) {
                    sum += Long.parseLong(Files.readString(task.resolve("schedstat")).split(" ")[0]);
                }
            } catch (IOException error) {
                continue; // it has ended meanwhile
            }
        }
        return sum;
    }

    private static List<Path> tasks() {
        try (Stream<Path> tasks = Files.list(TASKS)) {
            return tasks.toList();
        } catch (IOException error) {
            throw new Refusal(TASKS + " cannot be read: " + error);
        }
    }
}
