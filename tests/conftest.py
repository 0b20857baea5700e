"""Being here puts this folder on the import path: tests share ``helpers``."""
