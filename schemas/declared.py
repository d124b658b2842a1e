"""Find the tables that the modules of a package declare, so that no list of them is kept by hand."""

import pkgutil
from collections.abc import Sequence
from importlib import import_module

from schemas.fields import Table


def declared(package: str, path: Sequence[str], layer: str) -> tuple[Table, ...]:
    """Return the tables of a layer in all modules of a package, each once, in the order of the modules."""
    found: dict[str, Table] = {}
    for module in sorted(pkgutil.iter_modules(path), key=lambda module: module.name):
        for value in vars(import_module(f"{package}.{module.name}")).values():
            if isinstance(value, Table) and value.layer == layer:
                found[value.name] = value
    return tuple(found.values())
