"""Tables of Arrow: what the values of their columns are, and writing them to files."""
