"""Settings from TOML: what is wrong with a file is one error that names file, section and key."""

import pytest

from conf.settings import Settings


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("[spark]\nmastr = 'local'", "unknown setting 'mastr'; known are driver_memory"),
        ("[warehous]\nroot = 'x'", "unknown setting 'warehous'"),
        ("warehouse = 5", "warehouse = 5: a section is wanted, as in [warehouse]"),
        ("[collector]\nfiles = 1", "files = 1: rows are wanted, as in [[collector.files]]"),
        ("[collector]\nfiles = [1]", "1 is no row of keys and values"),
        ("[[collector.files]]\npath = 'a'", "missing 2 required keyword-only arguments: 'kind' and 'node'"),
        ("[ingest]\nmetrics_port = true", "True is not of type int"),
        ("[ingest]\ntrigger = 2", "2 is not of type str"),
        ("[ingest", "not valid TOML"),
        ("[warehouse]\nroot = 's3a://bucket/x'", "[warehouse] root = 's3a://bucket/x': a folder on a file"),
        ("[warehouse]\ncheckpoints = 'hdfs://n/x'", "[warehouse] checkpoints = 'hdfs://n/x': a folder"),
        (
            "[warehouse]\ncommitter = 'delta'",
            "committer = 'delta' is gone, delta-rs commits: remove",
        ),
        ("[prometheus]\ndrop_labels = 'job'", "drop_labels = 'job': a list is wanted"),
        ("[prometheus]\ndrop_labels = [1]", "drop_labels = [1]: a list is wanted"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, written, told):
    path = tmp_path / "my.toml"
    path.write_text(written)

    with pytest.raises(ValueError, match=r"my\.toml") as error:
        Settings.load(path)

    assert told in str(error.value)


def test_the_last_file_wins_key_by_key(tmp_path):
    (tmp_path / "a.toml").write_text("[warehouse]\nroot = 'a'\ncheckpoints = 'a'")
    (tmp_path / "b.toml").write_text("[warehouse]\nroot = 'b'")

    warehouse = Settings.load(tmp_path / "a.toml", tmp_path / "b.toml").warehouse

    assert (warehouse.root, warehouse.checkpoints) == ("b", "a")


def test_a_list_of_words_takes_the_place_of_the_default(tmp_path):
    (tmp_path / "a.toml").write_text("[prometheus]\ndrop_labels = ['pod']")

    assert Settings.load(tmp_path / "a.toml").prometheus.drop_labels == ("pod",)


def test_the_committer_that_version_1_chose_by_default_is_still_accepted(tmp_path):
    (tmp_path / "a.toml").write_text("[warehouse]\nroot = 'a'\ncommitter = 'delta-rs'")

    assert Settings.load(tmp_path / "a.toml").warehouse.root == "a"
