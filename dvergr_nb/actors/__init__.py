"""What a Run executes."""
