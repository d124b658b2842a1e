"""Code that every process uses."""
