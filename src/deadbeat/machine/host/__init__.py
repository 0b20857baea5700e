"""What a machine says of itself: every host file parsed once, a snapshot, and its difference."""
