"""Tools: what a model may do besides talking."""
