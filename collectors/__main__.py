"""`python -m collectors --conf FILE`: a collector on a machine that has no Spark."""

import typer

from collectors.cli import collect

if __name__ == "__main__":
    typer.run(collect)
