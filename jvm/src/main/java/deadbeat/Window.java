package deadbeat;

/**
 * A stretch in which samples are taken.
 *
 * @param count samples of each thread, at most
 * @param periodNs between releases; 0: back to back
 */
record Window(long startNs, long endNs, long count, long periodNs) {
    static final Window UNBOUNDED = new Window(0, Long.MAX_VALUE, Long.MAX_VALUE, 0);
}
