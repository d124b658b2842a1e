"""What an experiment's file may say: the error names file and key."""

import re

import pytest

from conf.exit_codes import WrongUseError
from conf.settings import PROJECT
from lab.experiments.spec import read

WHOLE = """
name = "tried"
repeats = 2
for_s = 4
[load]
records_per_s = 500
[[arms]]
name = "old"
[[arms]]
name = "new"
"""


def told(tmp_path, text):
    file = tmp_path / "e.toml"
    file.write_text(text)
    return read(file)


@pytest.mark.parametrize(
    "file", sorted((PROJECT / "conf" / "experiments").glob("*.toml")), ids=lambda of: of.stem
)
def test_the_experiments_that_are_shipped_can_be_read(file):
    assert read(file).name == file.stem


def test_settings_are_written_as_kafka_writes_them(tmp_path):
    """An unquoted key with dots is a table to TOML."""
    row = '[arms.properties]\nlinger.ms = 5\n"enable.idempotence" = false\nacks = "all"'
    arm = told(tmp_path, WHOLE + row).arms[1]

    assert arm.properties == {"linger.ms": "5", "enable.idempotence": "false", "acks": "all"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "repeats",
            "repeat",
            "e.toml: repeats is missing; repeat: unknown key; did you mean 'repeats'. known are ",
        ),
        ("repeats = 2", "", "repeats is missing"),
        ("repeats = 2", "repeats = 0", "repeats = 0: must be greater than 0"),
        ("repeats = 2", "repeats = 2.5", "repeats = 2.5: must be a valid integer"),
        ("repeats = 2", "repeats = true", "repeats = True: must be a valid integer"),
        ("for_s = 4", "for_s = inf", "for_s = inf: must be a finite number"),
        ("for_s = 4", "for_s = 4\nwarm_up_s = -1", "warm_up_s = -1: must be greater than or equal to 0"),
        ("records_per_s = 500", "rate = 5", r"\[load\] rate: unknown key; known are"),
        (
            "records_per_s = 500",
            'records_per_s = "5"',
            r"\[load\] records_per_s = '5': must be a valid number",
        ),
        (
            "records_per_s = 500",
            'records_per_s = 5\ntopic = "a b"',
            r"\[load\] topic = 'a b': must match pattern",
        ),
        ('"new"', '"old"', "'old' is listed twice"),
        ('[[arms]]\nname = "new"', "", "arms = .*: must have at least 2 items"),
        ('"new"', '"../new"', "name = .*: must match pattern"),
        ('"tried"', '".."', "name = .*: must match pattern"),
        ('"new"', '"new"\nversion = "3.9.1"', r"\[\[arms\]\] 2: version: unknown key"),
        ('"new"', '"new"\nproperties = {"client.id" = "x"}', "client.id cannot be set"),
        ('"new"', '"new"\nproperties = {"bootstrap.servers" = "x:1"}', "--bootstrap-server sets"),
        ('"new"', '"new"\nproperties = {"ssl.key.password" = "x"}', "is a secret: .* --properties"),
        (
            '"new"',
            '"new"\nproperties = {"linger.ms" = [1]}',
            r"\[\[arms\]\] 2: \[properties\] linger.ms = \[1\]: must be a valid string",
        ),
        ('"new"', '"new"\n[lab]\nhold_ms = 5', "broker and hold_ms go together"),
        ('name = "tried"', "name = tried", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, said):
    assert old in WHOLE
    before, _, after = WHOLE.rpartition(old)

    with pytest.raises(WrongUseError) as error:
        told(tmp_path, before + new + after)

    assert re.search(said, str(error.value))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(WrongUseError, match=r"there is no file .*none\.toml"):
        read(tmp_path / "none.toml")
