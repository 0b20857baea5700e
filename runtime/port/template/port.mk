# What this port adds to the Makefile above.
PORT_SOURCES =
PORT_FLAGS =
PORT_LIBS = -lm

# How the program is brought to its machine and run, and its records come back.
check: $(PROGRAM)
	@echo "port/port.mk does not say yet how to run ./$(PROGRAM)"; exit 1
