/*+++
 * summary = "System.arraycopy from one source that all threads read to an array that only this thread has"
 * shares = true
 * batches = true
 +++*/
package deadbeat.primitives;

import deadbeat.Options;
import deadbeat.Primitive;
import deadbeat.Sampler;
import java.util.Arrays;

public final class CopyShared extends Primitive {
    private byte[] source;
    private byte[][] to;

    @Override
    public void create(Options options) {
        super.create(options);
        source = new byte[options.size()];
        Arrays.fill(source, (byte) 7);
        to = new byte[options.cpus().length][];
    }

    @Override
    public void begin(Sampler sampler) {
        to[sampler.place] = new byte[source.length];
    }

    @Override
    public void sample(Sampler sampler) {
        byte[] from = source;
        byte[] destination = to[sampler.place];
        long begin = System.nanoTime();
        for (int i = 0; i < sampler.batch; i++) {
            System.arraycopy(from, 0, destination, 0, from.length);
        }
        sampler.add(begin, System.nanoTime());
    }

    @Override
    public String check() {
        boolean same = Arrays.stream(to).allMatch(each -> Arrays.equals(each, source));
        return same ? null : "the copy differs from its source";
    }
}
