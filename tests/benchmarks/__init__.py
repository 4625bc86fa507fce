"""How fast it is, beside a bare writer and beside others, in one run on one disk."""
