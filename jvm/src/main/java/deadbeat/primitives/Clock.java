/*+++
 * summary = "Nothing between two readings of the clock: what a sample costs and cannot resolve"
 +++*/
package deadbeat.primitives;

import deadbeat.Primitive;
import deadbeat.Sampler;

public final class Clock extends Primitive {
    @Override
    public void sample(Sampler sampler) {
        long begin = System.nanoTime();
        sampler.add(begin, System.nanoTime());
    }
}
