"""What is live: admission, bodies, cancelling, ends, and those who watch."""
