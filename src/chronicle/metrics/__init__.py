"""Metrics: the roles that their names imply, relations between their values, and how values are written."""
