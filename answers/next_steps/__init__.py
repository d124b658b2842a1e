"""What to check or to do after a finding, with the command for it."""
