/*+++
 * summary = "System.arraycopy of memory that only this thread has"
 * sizes = true
 * batches = true
 +++*/
package deadbeat.primitives;

import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Sampler;
import java.util.Arrays;

public final class Copy extends Primitive {
    private int size;
    private byte[][] from;
    private byte[][] to;

    @Override
    public void create(Options options) {
        super.create(options);
        size = options.size();
        from = new byte[options.cpus().length][];
        to = new byte[options.cpus().length][];
    }

    @Override
    public void begin(Sampler sampler) {
        from[sampler.place] = new byte[size];
        to[sampler.place] = new byte[size];
        Arrays.fill(from[sampler.place], (byte) (1 + sampler.place));
    }

    @Override
    public void sample(Sampler sampler) {
        byte[] source = from[sampler.place];
        byte[] destination = to[sampler.place];
        long begin = System.nanoTime();
        for (int i = 0; i < sampler.batch; i++) {
            System.arraycopy(source, 0, destination, 0, source.length);
        }
        sampler.add(begin, System.nanoTime());
    }

    @Override
    public String check() {
        return Arrays.deepEquals(from, to) ? null : "the copy differs from its source";
    }
}
