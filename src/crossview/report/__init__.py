"""Records to something that a person reads."""
