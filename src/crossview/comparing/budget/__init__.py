"""The budget of a comparison: costs per learner, and which settings they leave time for."""
