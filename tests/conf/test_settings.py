"""Settings from TOML: a bad file raises one error that names file, section and key."""

import pytest

from conf.settings import Settings


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "[spark]\nmastr = 'local'",
            "[spark] mastr: unknown key; did you mean 'master'? known are driver_memory",
        ),
        ("[warehous]\nroot = 'x'", "warehous: unknown key; did you mean 'warehouse'?"),
        ("warehouse = 5", "warehouse = 5: must be a section of keys and values, as in [warehouse]"),
        ("[collector]\nfiles = 1", "[collector] files = 1: must be a valid array"),
        ("[collector]\nfiles = [1]", "[[collector.files]] 1 = 1: must be a section of keys and values"),
        (
            "[[collector.files]]\npath = 'a'",
            "[[collector.files]] 1: kind is missing; [[collector.files]] 1: node is missing",
        ),
        (
            "[collector]\nfiles = [{ path = 'a', kind = 'requests', node = 'broker-1' }]",
            "[[collector.files]] 1: kind = 'requests': must be 'request-log', 'client-log' or 'state-change'",
        ),
        (
            "[collector]\nfiles = [{ path = 'a', kind = 'request-log', node = 'broker-one' }]",
            "[[collector.files]] 1: node = 'broker-one': must end in the broker's id, as in broker-1",
        ),
        ("[ingest]\nmetrics_port = true", "[ingest] metrics_port = True: must be a valid integer"),
        ("[ingest]\ntrigger = 2", "[ingest] trigger = 2: must be a valid string"),
        ("[ingest", "not valid TOML"),
        ("[warehouse]\nroot = 's3a://bucket/x'", "[warehouse] root = 's3a://bucket/x': must be a folder"),
        (
            "[warehouse]\ncheckpoints = 'hdfs://n/x'",
            "[warehouse] checkpoints = 'hdfs://n/x': must be a folder",
        ),
        (
            "[warehouse]\ncommitter = 'delta'",
            "committer = 'delta' is not supported any more: remove",
        ),
        ("[prometheus]\ndrop_labels = 'job'", "[prometheus] drop_labels = 'job': must be a valid array"),
        ("[prometheus]\ndrop_labels = [1]", "[[prometheus.drop_labels]] 1 = 1: must be a valid string"),
    ],
)
def test_a_bad_setting_is_named(tmp_path, written, message):
    path = tmp_path / "my.toml"
    path.write_text(written)

    with pytest.raises(ValueError, match=r"my\.toml") as error:
        Settings.load(path)

    assert message in str(error.value)


def test_the_client_log_of_an_application_has_a_node_without_a_broker(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text("[collector]\nfiles = [{ path = 'a', kind = 'client-log', node = 'orders-app' }]")

    assert Settings.load(path).collector.files[0].node == "orders-app"


@pytest.mark.parametrize(
    "url",
    [
        "http://ann:hunter2@b:7071/metrics",
        "https://:hunter2@b",
        "http://ann@b",
        "ann:hunter2@b:7071",
        "http://ann:hunter2\u2100@b",  # `urlsplit` shows it in an error
    ],
)
def test_a_password_in_the_url_of_an_endpoint_is_refused_and_not_shown(tmp_path, url):
    path = tmp_path / "my.toml"
    path.write_text(f"[collector]\nendpoints = [{{ url = '{url}', node = 'broker-1' }}]")

    with pytest.raises(ValueError, match=r"\[\[collector.endpoints\]\] 1: url has a password") as error:
        Settings.load(path)

    assert "hunter2" not in str(error.value)


def test_an_at_sign_of_a_path_is_no_user(tmp_path):
    url = "http://b:7071/metrics@a?of=b@c"
    (tmp_path / "a.toml").write_text(f"[collector]\nendpoints = [{{ url = '{url}', node = 'broker-1' }}]")

    assert Settings.load(tmp_path / "a.toml").collector.endpoints[0].url == url


def test_the_last_file_wins_key_by_key(tmp_path):
    (tmp_path / "a.toml").write_text("[warehouse]\nroot = 'a'\ncheckpoints = 'a'")
    (tmp_path / "b.toml").write_text("[warehouse]\nroot = 'b'")

    warehouse = Settings.load(tmp_path / "a.toml", tmp_path / "b.toml").warehouse

    assert (warehouse.root, warehouse.checkpoints) == ("b", "a")


def test_a_list_replaces_the_default(tmp_path):
    (tmp_path / "a.toml").write_text("[prometheus]\ndrop_labels = ['pod']")

    assert Settings.load(tmp_path / "a.toml").prometheus.drop_labels == ("pod",)


def test_the_triggers_of_golds_former_streams_are_still_accepted(tmp_path):
    (tmp_path / "a.toml").write_text("[build_gold]\ntrigger = '3 seconds'\nclients_trigger = '1 second'")

    assert Settings.load(tmp_path / "a.toml").build_gold.trigger == "3 seconds"


def test_the_default_committer_of_version_1_is_still_accepted(tmp_path):
    (tmp_path / "a.toml").write_text("[warehouse]\nroot = 'a'\ncommitter = 'delta-rs'")

    assert Settings.load(tmp_path / "a.toml").warehouse.root == "a"


SASL_LOGIN = """
[telemetry.security]
security_protocol = "SASL_SSL"
sasl_mechanism = "PLAIN"
sasl_username = "bob"
sasl_password_file = "/run/secrets/bob"
"""


@pytest.mark.parametrize(
    ("text", "principals"),
    [
        ("", ("User:ANONYMOUS",)),
        (SASL_LOGIN, ("User:bob", "User:ANONYMOUS")),
        ('[telemetry]\nown_principals = ["User:CN=p"]', ("User:CN=p",)),
    ],
)
def test_own_principals_are_set_or_those_of_the_logins(tmp_path, text, principals):
    conf = tmp_path / "my.toml"
    conf.write_text(text)

    assert Settings.load(conf).own_principals == principals
