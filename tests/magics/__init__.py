"""Magics in a real IPython shell that has no kernel."""
