"""Writers of tables and of rows with views."""
