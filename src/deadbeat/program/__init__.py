"""Your own program as it is: recorded, derived, explained, changed."""
