"""Models of this package in other libraries, which are imported only here."""
