"""What holds for the repository as a whole, read from its files."""
