"""`conf/jars/check.sh` refuses a changed, missing or unlisted jar, and names it and the fix."""

import hashlib
import shutil
import subprocess

import pytest

from conf.settings import PROJECT

SETS = sorted((PROJECT / "conf" / "jars" / "sums").glob("*.sha256"))


@pytest.fixture
def checked(tmp_path):
    """Return a function that runs the check, and the folder of a set with two good jars."""
    folder, sums = tmp_path / ".jars" / "agent", tmp_path / "conf" / "jars" / "sums"
    for place in (folder, sums):
        place.mkdir(parents=True)
    script = shutil.copy(PROJECT / "conf" / "jars" / "check.sh", sums.parent)
    lines = []
    for name in ("a.jar", "b.jar"):
        (folder / name).write_text(name)
        lines.append(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n")
    (sums / "agent.sha256").write_text("".join(lines))

    def check(*sets):
        done = subprocess.run([script, *(sets or ("agent",))], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    return check, folder


def test_good_jars_pass_without_output(checked):
    assert checked[0]() == (0, "")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda folder: (folder / "a.jar").write_text("other"), ".jars/agent/a.jar has another SHA-256"),
        (lambda folder: (folder / "a.jar").unlink(), ".jars/agent/a.jar is missing"),
        (lambda folder: (folder / "c.jar").touch(), ".jars/agent/c.jar is not listed"),
        (shutil.rmtree, ".jars/agent is missing"),
    ],
    ids=["changed", "missing", "extra", "no folder"],
)
def test_a_jar_that_differs_is_named_with_the_fix(checked, harm, message):
    check, folder = checked
    harm(folder)
    code, output = check()

    assert code == 1
    assert message in output
    assert "Fix: rm -rf .jars" in output
    assert "b.jar" not in output


def test_a_set_without_sums_fails(checked):
    code, output = checked[0]("kafka-1.0")

    assert code == 1
    assert "conf/jars/sums/kafka-1.0.sha256 is missing" in output


@pytest.mark.parametrize("file", SETS, ids=lambda file: file.stem)
def test_every_line_of_the_sums_is_a_sha_256_and_a_jar(file):
    for line in file.read_text().splitlines():
        digest, name = line.split("  ")
        assert (len(bytes.fromhex(digest)), name.endswith(".jar")) == (32, True)
