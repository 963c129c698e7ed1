"""Description of a table before anything is learned: columns, views, warnings."""
