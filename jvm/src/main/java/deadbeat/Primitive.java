package deadbeat;

/**
 * What is timed: a class of deadbeat.primitives, whose file describes itself as those of
 * runtime/primitives do. A process loads one only, so that its calls are inlined.
 */
public abstract class Primitive {
    /** Before the threads start. */
    public void create(Options options) {
        options.variant();
    }

    /** In the thread, on its CPU. */
    public void begin(Sampler sampler) {}

    /** Threads that only work together. */
    public int group() {
        return 1;
    }

    /** Whether threads that a thread of it starts have its policy. */
    public boolean inherited() {
        return false;
    }

    /** In the thread, before each window. */
    public void enter(Sampler sampler) {}

    /** Once. */
    public void sample(Sampler sampler) {
        throw new IllegalStateException();
    }

    /** Until it no longer goes on. */
    public void run(Sampler sampler) {
        while (sampler.goesOn()) {
            sample(sampler);
            sampler.work();
        }
    }

    /** After all: null, or what was not done. */
    public String check() {
        return null;
    }
}
