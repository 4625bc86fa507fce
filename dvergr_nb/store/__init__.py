"""The durable store: one DuckDB file, one thread that writes it, and everything that reads it."""
