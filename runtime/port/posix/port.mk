# POSIX threads. make check POLICY=other: without the permission for real-time priorities.
POLICY =
PORT_FLAGS = -D_GNU_SOURCE -pthread
PORT_LIBS = -lm -lrt

check: $(PROGRAM)
	./$(PROGRAM) $(SET) records.jobs $(POLICY)
