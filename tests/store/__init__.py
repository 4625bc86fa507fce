"""The store: its units, its writer, its files, and what is read from it."""
