"""A real language model in this process, for who has its two packages: `DVERGR_NB_LOCAL_MODEL=1 pytest tests/local_model`."""
