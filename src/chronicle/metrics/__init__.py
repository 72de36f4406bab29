"""What metrics are called and mean: names to roles, and how values, counts and times are written."""
