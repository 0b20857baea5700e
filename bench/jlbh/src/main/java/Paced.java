import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import net.openhft.affinity.Affinity;
import net.openhft.chronicle.jlbh.JLBH;
import net.openhft.chronicle.jlbh.JLBHOptions;
import net.openhft.chronicle.jlbh.JLBHResult;
import net.openhft.chronicle.jlbh.JLBHTask;

/** Paced CPU PERIOD_NS SAMPLES BYTES: copies at a rate, from each release to the end of its copy; prints "p50 p99" in ns. */
public final class Paced implements JLBHTask {
    private final byte[] from;
    private final byte[] to;
    private JLBH jlbh;

    private Paced(int bytes) {
        from = new byte[bytes];
        to = new byte[bytes];
        Arrays.fill(from, (byte) 1);
    }

    @Override
    public void init(JLBH jlbh) {
        this.jlbh = jlbh;
    }

    @Override
    public void run(long startTimeNS) {
        System.arraycopy(from, 0, to, 0, from.length);
        jlbh.sample(System.nanoTime() - startTimeNS);
    }

    public static void main(String[] words) {
        Affinity.setAffinity(Integer.parseInt(words[0]));
        int perSecond = 1_000_000_000 / Integer.parseInt(words[1]);
        JLBHOptions options = new JLBHOptions()
                .throughput(perSecond, TimeUnit.SECONDS)
                .warmUpIterations(60_000)
                .iterations(Integer.parseInt(words[2]))
                .runs(2)
                .recordOSJitter(false)
                .accountForCoordinatedOmission(true)
                .acquireLock(() -> null)
                .jlbhTask(new Paced(Integer.parseInt(words[3])));
        new JLBH(options, System.err, Paced::print).start();
    }

    private static void print(JLBHResult result) {
        JLBHResult.RunResult last = result.endToEnd().summaryOfLastRun();
        System.out.println(last.get50thPercentile().toNanos() + " " + last.get99thPercentile().toNanos());
    }
}
