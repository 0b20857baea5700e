package deadbeat;

import java.util.Arrays;

/** Counts of times, numbered as src/deadbeat/base/model/histogram.py does: a golden file ties them. */
public final class Histogram {
    private static final int SUB_BITS = 10;
    private static final int BUCKETS = (63 - SUB_BITS + 1) << SUB_BITS;

    private final long[] counts = new long[BUCKETS];
    private long total;
    private long sumNs;
    private long minNs;
    private long maxNs;

    public Histogram() {
        clear();
    }

    public static int bucketOf(long value) {
        int shift = Math.max(64 - Long.numberOfLeadingZeros(value | 1) - SUB_BITS - 1, 0);
        return (shift << SUB_BITS) + (int) (value >>> shift);
    }

    static long bucketLow(int bucket) {
        int shift = Math.max((bucket >> SUB_BITS) - 1, 0);
        return (long) (bucket - (shift << SUB_BITS)) << shift;
    }

    void add(long value) {
        counts[bucketOf(value)]++;
        total++;
        sumNs += value;
        minNs = Math.min(minNs, value);
        maxNs = Math.max(maxNs, value);
    }

    void clear() {
        Arrays.fill(counts, 0);
        total = sumNs = 0;
        minNs = Long.MAX_VALUE;
        maxNs = -1;
    }

    long total() {
        return total;
    }

    long medianNs() {
        long seen = 0;
        for (int i = 0; i < BUCKETS; i++) {
            seen += counts[i];
            if (total > 0 && seen * 2 >= total) {
                return bucketLow(i + 1) - 1;
            }
        }
        return 0;
    }

    String json() {
        StringBuilder text = new StringBuilder("{\"min_ns\":").append(total > 0 ? minNs : -1);
        text.append(",\"max_ns\":").append(maxNs).append(",\"sum_ns\":").append(sumNs).append(",\"counts\":[");
        String comma = "";
        for (int i = 0; i < BUCKETS; i++) {
            if (counts[i] > 0) {
                text.append(comma).append('[').append(i).append(',').append(counts[i]).append(']');
                comma = ",";
            }
        }
        return text.append("]}").toString();
    }
}
