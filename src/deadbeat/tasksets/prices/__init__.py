"""What an operation costs alone and shared, and what task sets make of it."""
