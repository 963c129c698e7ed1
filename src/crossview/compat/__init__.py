"""Learners of this package as those of other libraries, which are imported only here."""
