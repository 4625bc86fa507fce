"""The nouns: frozen values that know their own rules and nothing of disks, loops or screens."""
