"""The kernel's events: recorded, parsed once, and one timeline that says who delayed a thread."""
