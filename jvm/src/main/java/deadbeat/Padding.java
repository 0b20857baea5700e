package deadbeat;

/** Keeps what a thread writes with every sample off the cache lines of another thread's. */
class Padding {
    long p00, p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11, p12, p13, p14, p15;
}
