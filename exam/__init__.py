"""Real logs of training runs, kept as pointers with their labels; the logs themselves are not here."""
