"""What `make sbom` writes about jars and prints about advisories, and which LZ4 is on the class paths."""

import hashlib
import json
import re
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest
from typer.testing import CliRunner

from conf.settings import PROJECT
from conf.supply_chain import app, component

PYSPARK_JARS = Path(pyspark.__file__).parent / "jars"
SUMS = sorted((PROJECT / "conf" / "jars" / "sums").glob("*.sha256"))
LZ4_FIXED = (1, 10, 1)
"""CVE-2025-12183 is fixed in 1.8.1, CVE-2025-66566 in 1.10.1; both only in at.yawk.lz4:lz4-java."""


def jar_of(folder, name, *poms):
    """Write a jar with the `pom.properties` of these artifacts (group, name, version)."""
    jar = folder / name
    with ZipFile(jar, "w") as packed:
        packed.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        for group, artifact, version in poms:
            text = f"#Created by Maven\nversion={version}\ngroupId={group}\nartifactId={artifact}\n"
            packed.writestr(f"META-INF/maven/{group}/{artifact}/pom.properties", text)
    return jar


def test_a_jar_has_its_purl_its_digest_and_what_it_bundles(tmp_path):
    jar = jar_of(tmp_path, "all-2.0.jar", ("org.inner", "inner", "1.1"), ("org.outer", "all", "2.0"))

    assert component(jar) == {
        "type": "library",
        "bom-ref": "all-2.0.jar",
        "group": "org.outer",
        "name": "all",
        "version": "2.0",
        "purl": "pkg:maven/org.outer/all@2.0",
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(jar.read_bytes()).hexdigest()}],
        "components": [
            {
                "type": "library",
                "bom-ref": "all-2.0.jar/org.inner:inner",
                "group": "org.inner",
                "name": "inner",
                "version": "1.1",
                "purl": "pkg:maven/org.inner/inner@1.1",
            }
        ],
    }


def test_a_jar_that_names_no_artifact_has_the_name_and_version_of_its_file(tmp_path):
    listed = component(jar_of(tmp_path, "scala-xml_2.13-2.4.0.jar"))

    assert (listed["name"], listed["version"], "purl" in listed) == ("scala-xml_2.13", "2.4.0", False)


def test_every_jar_of_pyspark_is_listed_once(tmp_path):
    file = tmp_path / "pyspark.cdx.json"
    done = CliRunner().invoke(app, ["jars", str(PYSPARK_JARS), str(file)])
    listed = json.loads(file.read_text())["components"]

    assert done.exit_code == 0, done.output
    assert [one["bom-ref"] for one in listed] == sorted(jar.name for jar in PYSPARK_JARS.glob("*.jar"))
    assert sum("purl" in one for one in listed) > len(listed) * 0.8


def advisories(folder, document):
    file = folder / "pip-audit.json"
    if document is not None:
        file.write_text(document)
    done = CliRunner().invoke(app, ["advisories", str(file)])
    return done.exit_code, done.stdout


CLEAN = {"name": "clean", "version": "1.0", "vulns": []}
UNKNOWN = {"name": "unknown", "skip_reason": "not found on PyPI"}
HARMFUL = {"name": "bad", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}


@pytest.mark.parametrize("document", [None, "", '{"depend'])
def test_without_a_whole_answer_nothing_counts_as_clean(tmp_path, document):
    code, said = advisories(tmp_path, document)

    assert code == 0
    assert said.startswith("Python packages: not checked for advisories")


def test_an_answer_without_a_package_fails_the_target(tmp_path):
    """The lock has packages, so nothing was looked up."""
    code, said = advisories(tmp_path, json.dumps({"dependencies": [], "fixes": []}))

    assert code == 1
    assert said.startswith("Python packages: not checked for advisories")


def test_a_package_that_could_not_be_looked_up_is_not_a_clean_one(tmp_path):
    code, said = advisories(tmp_path, json.dumps({"dependencies": [CLEAN, UNKNOWN]}))

    assert (code, said.splitlines()) == (
        0,
        [
            "Python packages: 0 of 1 have an advisory",
            "Python packages: 1 not checked for advisories: unknown. The first: not found on PyPI",
        ],
    )


def test_without_any_looked_up_package_no_number_of_advisories_is_printed(tmp_path):
    _, said = advisories(tmp_path, json.dumps({"dependencies": [UNKNOWN]}))

    assert "have an advisory" not in said


def test_an_advisory_fails_the_target_with_the_fix(tmp_path):
    code, said = advisories(tmp_path, json.dumps({"dependencies": [CLEAN, HARMFUL]}))

    assert code == 1
    assert said.splitlines()[0] == "bad 2.0: PYSEC-1 (fixed in 2.1)"


@pytest.mark.parametrize("sums", SUMS, ids=lambda sums: sums.stem)
def test_lz4_of_a_set_of_jars_has_the_fixes_of_2025(sums):
    """The sums are of the jars on the class path: `make setup` refuses other ones."""
    assert lz4_before(LZ4_FIXED, re.findall(r"lz4-java-[\w.]+\.jar", sums.read_text())) == []


def test_the_lz4_that_spark_loads_has_the_fixes_of_2025(spark):
    """It is the one of PySpark. A jar in `.jars/spark` would come before it on the class path."""
    loaded = spark._jvm.java.lang.Class.forName("net.jpountz.lz4.LZ4Factory")
    jar = loaded.getProtectionDomain().getCodeSource().getLocation().getPath()

    assert Path(jar).parent == PYSPARK_JARS
    assert lz4_before(LZ4_FIXED, [Path(jar).name]) == []


def lz4_before(fixed, jars):
    return [jar for jar in jars if tuple(map(int, re.findall(r"\d+", jar.removeprefix("lz4-java-")))) < fixed]
