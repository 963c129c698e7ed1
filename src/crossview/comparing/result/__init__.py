"""The result of a comparison: its rows, the order of these, the answer, and it in plain words."""
