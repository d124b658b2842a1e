"""
The parts of `make sbom` that no tool does: the jars inside PySpark, and what the check for advisories means.

`python -m conf.supply_chain jars FOLDER FILE` and `python -m conf.supply_chain advisories FILE`.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from zipfile import ZipFile

import typer

from conf.atomic_file import write_atomically
from conf.exit_codes import ExitCode

NAMED = re.compile(r"(?P<name>.+?)-(?P<version>\d[\w.+-]*)\.jar")
POM = re.compile(r"META-INF/maven/(?P<group>[^/]+)/(?P<name>[^/]+)/pom\.properties")
VERSION = re.compile(r"^version\s*[=:]\s*(\S+)", re.MULTILINE)
NOT_CHECKED = "not checked for advisories"

app = typer.Typer(add_completion=False)


class Artifact(NamedTuple):
    """A Maven artifact; the group is empty if the jar does not name it."""

    group: str
    name: str
    version: str


@app.command()
def jars(
    folder: Annotated[Path, typer.Argument(help="Folder of jars.", exists=True, file_okay=False)],
    file: Annotated[Path, typer.Argument(help="File to write, CycloneDX 1.6 in JSON.")],
) -> None:
    """
    Write a bill of materials of the jars of a folder: names, versions, SHA-256, and what they bundle.

    Example: `python -m conf.supply_chain jars .jars/spark build/spark.cdx.json`
    """
    components = [component(jar) for jar in sorted(folder.glob("*.jar"))]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}
    write_atomically(file, json.dumps(document, indent=1) + "\n")


@app.command()
def advisories(
    file: Annotated[
        Path, typer.Argument(help="JSON that pip-audit has written, or that it could not write.")
    ],
) -> None:
    """
    Print what pip-audit found; a package that it could not look up is not a clean one.

    Exit code 1: a package has an advisory, or the answer has no package.

    Example: `python -m conf.supply_chain advisories build/sbom/pip-audit.json`
    """
    try:
        packages = json.loads(file.read_text())["dependencies"]
    except (OSError, ValueError, KeyError, TypeError):
        typer.echo(f"Python packages: {NOT_CHECKED}: pip-audit failed, see its log")
        return
    if not packages:
        typer.echo(f"Python packages: {NOT_CHECKED}: pip-audit found no package in the lock, see its log")
        raise typer.Exit(ExitCode.FAILED)
    skipped = [package for package in packages if "skip_reason" in package]
    found = [package for package in packages if package.get("vulns")]
    for package in found:
        ids = ", ".join(_advisory(each) for each in package["vulns"])
        typer.echo(f"{package['name']} {package['version']}: {ids}")
    if checked := len(packages) - len(skipped):
        typer.echo(f"Python packages: {len(found)} of {checked} have an advisory")
    if skipped:
        names, reason = ", ".join(package["name"] for package in skipped), skipped[0]["skip_reason"]
        typer.echo(f"Python packages: {len(skipped)} {NOT_CHECKED}: {names}. The first: {reason}")
    if found:
        raise typer.Exit(ExitCode.FAILED)


def component(jar: Path) -> dict[str, Any]:
    """
    Return the component of a jar; artifacts that it bundles are its own components.

    Raises:
        ValueError: its name has no version.

    """
    match = NAMED.fullmatch(jar.name)
    if match is None:
        message = f"{jar}: the name of a jar is NAME-VERSION.jar"
        raise ValueError(message)
    held = _artifacts(jar)
    itself = next((one for one in held if one.name == match["name"]), Artifact("", *match.groups()))
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    of_jar = _component(itself, f"{jar.name}") | {"hashes": [{"alg": "SHA-256", "content": digest}]}
    bundled = [_component(one, f"{jar.name}/{one.group}:{one.name}") for one in held if one != itself]
    return of_jar | ({"components": bundled} if bundled else {})


def _artifacts(jar: Path) -> list[Artifact]:
    """Return the artifacts that the `pom.properties` of a jar name, once each."""
    found = dict[Artifact, None]()
    with ZipFile(jar) as packed:
        for entry in packed.namelist():
            if (pom := POM.fullmatch(entry)) and (version := VERSION.search(packed.read(entry).decode())):
                found[Artifact(pom["group"], pom["name"], version[1])] = None
    return list(found)


def _component(artifact: Artifact, ref: str) -> dict[str, Any]:
    named = {"type": "library", "bom-ref": ref, "name": artifact.name, "version": artifact.version}
    if not artifact.group:
        return named
    purl = f"pkg:maven/{artifact.group}/{artifact.name}@{artifact.version}"
    return named | {"group": artifact.group, "purl": purl}


def _advisory(advisory: dict[str, Any]) -> str:
    fixed = advisory.get("fix_versions")
    return f"{advisory['id']} (fixed in {', '.join(fixed)})" if fixed else f"{advisory['id']} (no fix)"


if __name__ == "__main__":
    app()
