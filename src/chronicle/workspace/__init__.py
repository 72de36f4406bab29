"""What a team keeps: runs with their facts and notes, settings, and where logs and shipped files lie."""
