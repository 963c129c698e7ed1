"""Tasks in several processes, which map the same arrays and give memory back."""
