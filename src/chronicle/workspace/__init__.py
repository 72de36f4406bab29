"""What a team keeps: runs with facts and notes, settings, and the places of logs and of shipped files."""
