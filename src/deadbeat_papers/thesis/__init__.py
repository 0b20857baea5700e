"""Studies of a thesis on multiprocessor scheduling: its six figures, and its whole grid."""
