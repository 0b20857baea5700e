"""Wake-up latencies, cyclic load tests and primitives."""
