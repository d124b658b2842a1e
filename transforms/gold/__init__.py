"""Gold tables from silver: a module or package per table, each with its declaration."""
