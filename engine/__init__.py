"""The code that jobs run: the programs in `jobs/` are thin and call this package."""
