"""Publications repeated with deadbeat, on nothing but its public interface (`import deadbeat`)."""
