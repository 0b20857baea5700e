package deadbeat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * One run in a JVM, as the runtime's verb `primitive` is one in C: the same words, and the same result.
 *
 *   stdout  "done 0 MEASURED_NS", or "error primitive REASON"; the result, JSON, goes to --out
 */
public final class Main {
    private Main() {}

    /** In whichever thread: the process ends. */
    static void orRefuse(Runnable work) {
        try {
            work.run();
        } catch (Refusal refusal) {
            refuse(refusal.getMessage());
        } catch (OutOfMemoryError error) {
            refuse("the heap is full: " + error.getMessage());
        } catch (RuntimeException | Error error) {
            error.printStackTrace();
            refuse(error.toString().replace('\n', ' '));
        }
    }

    private static synchronized void refuse(String why) {
        System.out.println("error primitive " + why);
        System.out.flush();
        Runtime.getRuntime().halt(1);
    }

    private static Primitive primitive(String name) {
        String type = Arrays.stream(name.split("_"))
                .filter(part -> !part.isEmpty())
                .map(part -> part.substring(0, 1).toUpperCase(Locale.ROOT) + part.substring(1))
                .collect(Collectors.joining());
        try {
            Class<?> found = Class.forName("deadbeat.primitives." + type);
            return (Primitive) found.getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException error) {
            throw new Refusal("there is no such primitive");
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void run(String[] words) {
        Options options = new Options(words);
        Run run = new Run(options, primitive(options.primitive()));
        try {
            Files.writeString(Path.of(options.out()), run.json());
        } catch (IOException error) {
            throw new Refusal("the result cannot be written: " + error);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        System.out.println("done 0 " + options.secondsNs());
    }

    /** What this JVM is, once all its threads are as they should be: one line of JSON. */
    private static void probe(String[] words) {
        Memory memory = new Memory();
        memory.lock();
        String threads = VmThreads.counted(Set.of(), Options.ofVm(words));
        System.out.println(Run.runtime(threads, memory.json()));
    }

    public static void main(String[] words) {
        if (words.length > 0 && words[0].equals("buckets")) {
            for (int i = 1; i < words.length; i++) {
                System.out.println(Histogram.bucketOf(Long.parseLong(words[i])));
            }
            return;
        }
        orRefuse(() -> {
            if (words.length > 0 && words[0].equals("probe")) {
                probe(Arrays.copyOfRange(words, 1, words.length));
            } else {
                run(words);
            }
        });
    }
}
