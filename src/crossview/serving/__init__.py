"""A model behind HTTP that predicts, waits for labels, learns them once, and loses nothing."""
