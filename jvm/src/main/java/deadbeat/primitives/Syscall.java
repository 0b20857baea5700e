/*+++
 * summary = "A call of the C library that does nothing but a system call: getppid, by FFM or JNA"
 * batches = true
 +++*/
package deadbeat.primitives;

import deadbeat.LibC;
import deadbeat.Primitive;
import deadbeat.Sampler;

public final class Syscall extends Primitive {
    @Override
    public void sample(Sampler sampler) {
        long begin = System.nanoTime();
        for (int i = 0; i < sampler.batch; i++) {
            LibC.parent();
        }
        sampler.add(begin, System.nanoTime());
    }
}
