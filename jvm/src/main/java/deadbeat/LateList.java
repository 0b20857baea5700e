package deadbeat;

/** The longest samples or gaps of a thread, the longest first. Nothing is allocated after its making. */
final class LateList {
    static final int ROOM = 20;

    private final long[] moments = new long[ROOM];
    private final long[] values = new long[ROOM];
    private final int[] tags = new int[ROOM];
    private int count;

    void clear() {
        count = 0;
    }

    void keep(long momentNs, long valueNs, int tagged) {
        if (count == ROOM && valueNs <= values[ROOM - 1]) {
            return;
        }
        int i = count < ROOM ? count++ : ROOM - 1;
        for (; i > 0 && values[i - 1] < valueNs; i--) {
            moments[i] = moments[i - 1];
            values[i] = values[i - 1];
            tags[i] = tags[i - 1];
        }
        moments[i] = momentNs;
        values[i] = valueNs;
        tags[i] = tagged;
    }

    /** Each with what the JVM did meanwhile, where it did something. */
    String json(long startNs, Pauses pauses) {
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < count; i++) {
            text.append(i > 0 ? "," : "").append('[').append(moments[i]).append(',').append(values[i]);
            long from = startNs + moments[i];
            String cause = pauses == null ? "" : pauses.within(from, from + values[i]);
            text.append(',').append(tags[i]).append(cause.isEmpty() ? "" : ",\"" + cause + '"').append(']');
        }
        return text.append(']').toString();
    }
}
