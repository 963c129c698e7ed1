"""Which model is better, and by how much."""
