"""The version of the Plumbline that is running."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of


def version() -> str:
    """Return the version, for example `0.1.0`."""
    try:
        return version_of("plumbline")
    except PackageNotFoundError:  # shipped by --py-files, without its metadata
        return "of an unknown version"
