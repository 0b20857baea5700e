"""The benchmark of parallel real-time runtimes of a thesis (chapter 6, section 4): its figures."""
