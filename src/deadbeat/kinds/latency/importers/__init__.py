"""Results of other tools: a module with an ``IMPORTER`` reads one format; there is no list."""
