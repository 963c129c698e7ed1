"""Files and tables to batches, and raw columns to views; knows nothing of models."""
