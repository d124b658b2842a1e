"""`python -m plumbline` is `plumbline`."""

from plumbline.cli import app

app()
