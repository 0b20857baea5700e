"""A machine by its word: what it says of itself, its settings, its kernel's events."""
