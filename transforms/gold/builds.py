"""Find the declarations of the gold tables, so that no list of them is kept by hand."""

import pkgutil
from importlib import import_module

import transforms.gold
from transforms.gold.build import Build


def declared() -> tuple[Build, ...]:
    """Return the `BUILD` of each module that has one, in the order of the modules."""
    found = pkgutil.walk_packages(transforms.gold.__path__, "transforms.gold.")
    modules = (import_module(name) for name in sorted(module.name for module in found) if name != __name__)
    return tuple(module.BUILD for module in modules if hasattr(module, "BUILD"))


BUILDS = declared()
"""How each gold table is built from silver."""
