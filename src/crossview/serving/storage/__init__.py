"""What servers keep: the log, which another process commits, the first model, and snapshots."""
