"""Text files with views: the numbers in them, and one grammar per file, over raw bytes."""
