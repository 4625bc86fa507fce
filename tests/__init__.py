"""The tests; a package of its own name, so that no other installed `tests` is found in its place."""
