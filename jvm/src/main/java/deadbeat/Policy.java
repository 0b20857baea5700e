package deadbeat;

/** A policy of the kernel's for ordinary or real-time threads, and a priority; as sched_setscheduler(2) has them. */
record Policy(String name, int priority) {
    /** Threads that it starts are ordinary ones. */
    static final int RESET_ON_FORK = 0x40000000;

    static final Policy ORDINARY = new Policy("other", 0);

    static Policy of(int number, int priority) {
        String name = switch (number & ~RESET_ON_FORK) {
            case 0 -> "other";
            case 1 -> "fifo";
            case 2 -> "rr";
            default -> "unknown";
        };
        return new Policy(name, priority);
    }

    int number() {
        return switch (name) {
            case "fifo" -> 1;
            case "rr" -> 2;
            default -> 0;
        };
    }

    @Override
    public String toString() {
        return priority == 0 ? name : name + " " + priority;
    }
}
