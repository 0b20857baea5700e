"""Studies of random task systems: what to vary, run in chunks that resume, conclusions checked."""
