"""Files: models, their header and schema, checkpoints, and the atomic writer."""
