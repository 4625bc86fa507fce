"""The notebooks that people read, and those that only a test does."""
