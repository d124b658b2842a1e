"""The versions of Plumbline, Spark and Delta that are installed."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

PACKAGES = {"Plumbline": "plumbline", "Spark": "pyspark", "Delta": "delta-spark"}
UNKNOWN = "of an unknown version"
"""For code that --py-files shipped, without its metadata."""


def version() -> str:
    """Return the version, for example `0.1.0`."""
    return _version("plumbline")


def versions() -> dict[str, str]:
    """Return the versions by name, from the metadata of the packages: none is imported."""
    return {name: _version(package) for name, package in PACKAGES.items()}


def _version(package: str) -> str:
    try:
        return version_of(package)
    except PackageNotFoundError:
        return UNKNOWN
