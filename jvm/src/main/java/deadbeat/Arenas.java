package deadbeat;

/** Memory of an arena; from Java 22 on that of src/main/java22 replaces this. */
public final class Arenas {
    private Arenas() {}

    public static void require() {
        throw new Refusal("arenas need Java 22, and a build by such a JDK");
    }

    public static byte use(long bytes) {
        throw new IllegalStateException();
    }
}
