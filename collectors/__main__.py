"""Run a collector on a machine without Spark: `python -m collectors --conf FILE`."""

import typer

from collectors.cli import collect

if __name__ == "__main__":
    typer.run(collect)
