package deadbeat;

/** Why a run is not as it was asked, in words. */
public final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Refusal(String why) {
        super(why);
    }
}
