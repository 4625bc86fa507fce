"""Programs that each record the same Run in their own way, one process per program."""
