"""The whole in real kernels, driven by messages."""
