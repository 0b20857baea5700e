package deadbeat;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.Collectors;

/** Threads that repeat a primitive: in windows until their medians are steady, and then once for all. */
final class Run {
    /** From the last preparation to the first sample. */
    private static final long LEAD_NS = 2_000_000;

    private static final long WINDOW_NS = 10_000_000;
    private static final long WARM_PERIOD_NS = 50_000;
    /** Between two windows compilers have the CPUs of real-time threads: longer while they have work. */
    private static final long PAUSE_MS = 5;

    private static final long COMPILING_MS = 20;
    private static final long LAST_MS = 50;
    /** What is called once a window is compiled now and then, too: that takes less. A loop takes longer. */
    private static final long QUIET_NS = 2_000_000;

    private static final int FIRST_WINDOWS = 5;
    private static final int COMPILED_WINDOWS = 3;

    private static final int MOST_WINDOWS = 100;
    /** On a busy machine windows come late: it warms up for no longer. */
    private static final long MOST_NS = 4_000_000_000L;
    /** Steady: the median of so many medians is no further from that of as many before. */
    private static final int SAME_WINDOWS = 5;

    private static final double SAME_SHARE = 0.1;
    private static final int WATCH_MEDIANS = 4;
    private static final long WATCH_LEAST_NS = 1000;

    private final Options options;
    private final Primitive primitive;
    private final int[] cpus;
    private final Sampler[] samplers;
    private final Placed.Found[] found;
    private final long[][] medians;
    private final CyclicBarrier barrier;
    private final Set<String> numbers = ConcurrentHashMap.newKeySet();
    private final Memory memory = new Memory();
    private final Forced forced;
    private volatile Window window;
    private volatile boolean warm, over;
    private int windows;
    private boolean steady;

    Run(Options options, Primitive primitive) {
        this.options = options;
        this.primitive = primitive;
        cpus = options.cpus();
        if (cpus.length % primitive.group() != 0) {
            throw new Refusal("threads of this primitive come in pairs");
        }
        forced = new Forced(options.force());
        samplers = new Sampler[cpus.length];
        found = new Placed.Found[cpus.length];
        medians = new long[cpus.length][MOST_WINDOWS];
        barrier = new CyclicBarrier(cpus.length + 1);
    }

    private void meet() {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException error) {
            throw new IllegalStateException(error);
        }
    }

    private void threadMain(int place) {
        Policy policy = options.policy(place, primitive.group() == 2);
        Placed placed = new Placed();
        numbers.add(VmThreads.me());
        placed.place(cpus[place], policy, primitive.inherited());
        Sampler sampler = new Sampler(place, options.batch(), options.work(), options.kept(), placed);
        samplers[place] = sampler;
        primitive.begin(sampler);
        for (long medianNs = 0; ; medianNs = sampler.medianNs()) {
            meet();
            if (over) {
                break;
            }
            // while it warms up it looks at samples, too: else the first look would be new to the compiler
            long watchNs = warm ? Math.max(WATCH_MEDIANS * usual(place), WATCH_LEAST_NS) : medianNs;
            Releases.await(window.startNs());
            sampler.begin(window, watchNs);
            primitive.enter(sampler);
            primitive.run(sampler);
            sampler.end();
            meet();
        }
        found[place] = placed.verify(cpus[place], policy);
    }

    /** Compilers need samples: in windows that only warm up, releases come as often as there is time for. */
    private void run(long lengthNs, boolean counts) {
        long startNs = System.nanoTime() + LEAD_NS;
        long period = options.periodNs();
        long most = counts && options.count() > 0 ? options.count() : Long.MAX_VALUE;
        window = new Window(startNs, startNs + lengthNs, most, counts ? period : Math.min(period, WARM_PERIOD_NS));
        meet();
        if (counts && forced.wanted()) {
            forced.make(window);
        }
        meet();
    }

    /** Whether the windows of late took as long as those before them: one that was disturbed does not matter. */
    private boolean same(long[] values, long resolutionNs) {
        long now = middle(values, windows - SAME_WINDOWS);
        long before = middle(values, windows - 2 * SAME_WINDOWS);
        return Math.abs(now - before) <= Math.max(SAME_SHARE * before, resolutionNs);
    }

    private static long middle(long[] values, int from) {
        long[] sorted = Arrays.copyOfRange(values, from, from + SAME_WINDOWS);
        Arrays.sort(sorted);
        return sorted[SAME_WINDOWS / 2];
    }

    /** Median of a thread in the windows of late: a disturbed one must not say what is late. */
    private long usual(int place) {
        return middle(medians[place], Math.max(windows - SAME_WINDOWS, 0));
    }

    private void warmUp(long resolutionNs, Thread starting) throws InterruptedException {
        long compiledNs = 0;
        int quiet = 0;
        long untilNs = System.nanoTime() + MOST_NS;
        while (!steady && windows < MOST_WINDOWS && System.nanoTime() < untilNs) {
            run(WINDOW_NS, false);
            long nowNs = VmThreads.compilersNs();
            quiet = nowNs - compiledNs <= QUIET_NS && !starting.isAlive() ? quiet + 1 : 0;
            compiledNs = nowNs;
            boolean all = quiet >= COMPILED_WINDOWS;
            for (int i = 0; i < samplers.length; i++) {
                medians[i][windows] = samplers[i].medianNs();
            }
            windows++;
            for (long[] each : medians) {
                all &= windows >= 2 * SAME_WINDOWS && same(each, resolutionNs);
            }
            Thread.sleep(all ? LAST_MS : windows <= FIRST_WINDOWS || quiet == 0 ? COMPILING_MS : PAUSE_MS);
            steady = all && VmThreads.compilersNs() - compiledNs <= QUIET_NS;
        }
        starting.join();
    }

    /** All of it, as JSON. */
    String json() throws InterruptedException, IOException {
        // a runtime made for an application may lack the recorder
        boolean recorded = ModuleLayer.boot().findModule("jdk.jfr").isPresent();
        Pauses pauses = recorded ? new Pauses() : null;
        // it takes as long as all else before the first sample
        Thread starting = new Thread(() -> Main.orRefuse(pauses == null ? () -> {} : pauses::start), "recorder");
        starting.start();
        Costs costs = new Costs();
        long resolutionNs = costs.resolutionNs();
        primitive.create(options);
        if (options.lockMemory()) {
            memory.lock();
        }
        Thread[] threads = new Thread[cpus.length];
        for (int i = 0; i < threads.length; i++) {
            int place = i;
            threads[i] = new Thread(() -> Main.orRefuse(() -> threadMain(place)), "sample" + i);
            threads[i].start();
        }
        warmUp(resolutionNs, starting);
        warm = true;
        System.gc(); // what was left by then is no pause of the run
        VmThreads.counted(numbers, options.ofVm());
        if (pauses != null) {
            pauses.mark();
        }
        memory.begin();
        run(options.secondsNs(), true);
        memory.end();
        if (pauses != null) {
            pauses.mark();
        }
        String counted = VmThreads.counted(numbers, options.ofVm());
        over = true;
        meet();
        for (Thread thread : threads) {
            thread.join();
        }
        if (pauses != null) {
            pauses.end();
        }
        // now that the CPUs are free, and the code of a sample is compiled
        long[] taken = costs.clockAndSamplePs(new Sampler(0, 1, 0, 0, new Placed()));
        String[] results = new String[cpus.length];
        for (int i = 0; i < results.length; i++) {
            results[i] = samplers[i].json(found[i], pauses);
        }
        if (primitive.check() != null) {
            throw new Refusal(primitive.check());
        }
        return "{\"version\":1,\"batch\":" + options.batch() + ",\"clock_cost_ps\":" + taken[0]
                + ",\"sample_cost_ps\":" + taken[1] + ",\"resolution_ns\":" + resolutionNs
                + ",\"measured_ns\":" + options.secondsNs() + ",\"warm_up\":{\"windows\":" + windows
                + ",\"steady\":" + steady + "},\"runtime\":" + runtime(counted, memory.json()) + forcedJson() + ",\"threads\":[\n"
                + String.join(",\n", results) + "]}\n";
    }

    private String forcedJson() {
        return forced.wanted() ? ",\"forced\":" + forced.json() : "";
    }

    static String runtime(String threads, String memory) {
        String collectors = ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(GarbageCollectorMXBean::getName)
                .collect(Collectors.joining(", "));
        String flags = String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments());
        return "{\"name\":" + quoted(System.getProperty("java.vm.name")) + ",\"version\":"
                + quoted(System.getProperty("java.vm.version")) + ",\"gc\":" + quoted(collectors)
                + ",\"flags\":" + quoted(flags) + ",\"calls\":" + quoted(LibC.by()) + ",\"threads\":" + threads + ",\"memory\":" + memory + "}";
    }

    static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + '"';
    }
}
