"""What makes jobs run: the programs of `jobs/` are thin, the work is here."""
