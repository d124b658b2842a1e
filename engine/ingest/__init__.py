"""The ingest, from records to bronze and silver files: tasks parse and write, the driver commits."""
