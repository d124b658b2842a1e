"""From a record to bronze and silver files: tasks parse and write, the driver commits."""
