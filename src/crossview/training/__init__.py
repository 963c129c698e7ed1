"""Training of one model: passes over a stream, or all rows at once; and how a run goes on."""
