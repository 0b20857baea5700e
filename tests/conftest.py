"""Being here puts this folder on the import path: tests share ``helpers``."""

import signal

# A suite started in the background of a script inherits SIGINT as ignored, and so would every
# program that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
