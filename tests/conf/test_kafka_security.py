"""The login of a Kafka client: what each reader gets, where its secrets are, what is refused."""

import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from conf.exit_codes import WrongUseError
from conf.kafka_security import PLAINTEXT, KafkaSecurity, java_file
from conf.settings import Settings
from tests.tls import self_signed

SECRET = 'hunter"2\\ #=!'  # noqa: S105 (of this test)


@pytest.fixture
def files(tmp_path):
    """Return the files of a client: secrets with a final newline, a CA, a certificate, an encrypted key."""
    (tmp_path / "password").write_text(f"{SECRET}\n")
    _, plain = self_signed(tmp_path)
    command = ["openssl", "pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"pass:{SECRET}"]
    encrypted = tmp_path / "encrypted"
    subprocess.run([*command, "-in", plain, "-out", encrypted], check=True, capture_output=True)
    encrypted.replace(plain)
    return tmp_path


@pytest.fixture
def logins(files):
    """Give one login per mechanism."""
    password, cert = str(files / "password"), str(files / "cert.pem")
    return {
        "SCRAM-SHA-512": KafkaSecurity(
            security_protocol="SASL_SSL",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="edge-1",
            sasl_password_file=password,
            ssl_ca_location=cert,
        ),
        "mTLS": KafkaSecurity(
            security_protocol="SSL",
            ssl_ca_location=cert,
            ssl_certificate_location=cert,
            ssl_key_location=str(files / "key.pem"),
            ssl_key_password_file=password,
        ),
        "OAUTHBEARER": KafkaSecurity(
            security_protocol="SASL_SSL",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauthbearer_token_endpoint_url="https://127.0.0.1:1/token",  # noqa: S106 (no password)
            sasl_oauthbearer_client_id="edge-1",
            sasl_oauthbearer_client_secret_file=password,
            sasl_oauthbearer_scope="kafka",
            https_ca_location=cert,
            ssl_ca_location=cert,
        ),
    }


MECHANISMS = ("SCRAM-SHA-512", "mTLS", "OAUTHBEARER")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_takes_every_option(logins, mechanism):
    options = logins[mechanism].librdkafka()

    assert SECRET in options.values()
    assert Producer(options)


def test_each_reader_gets_the_names_of_its_own_client(logins, files):
    login, cert, key = logins["mTLS"], (files / "cert.pem").read_text(), (files / "key.pem").read_text()

    assert login.librdkafka() == {
        "security.protocol": "SSL",
        "ssl.ca.location": str(files / "cert.pem"),
        "ssl.certificate.location": str(files / "cert.pem"),
        "ssl.key.location": str(files / "key.pem"),
        "ssl.key.password": SECRET,
    }
    assert login.java() == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files / "cert.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": cert,
        "ssl.keystore.key": key,
        "ssl.key.password": SECRET,
    }
    assert logins["SCRAM-SHA-512"].java()["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="edge-1" password="hunter\\"2\\\\ #=!";'
    )
    assert logins["OAUTHBEARER"].java()["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'clientId="edge-1" clientSecret="hunter\\"2\\\\ #=!" scope="kafka" '
        f'ssl.truststore.type="PEM" ssl.truststore.location="{files / "cert.pem"}";'
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_plan_an_argument_and_a_repr_have_paths_alone(logins, mechanism):
    login = logins[mechanism]
    with java_file(login) as file:
        shown = f"{login!r} {login.spark(file)} {login.java_options}"

        assert login.spark(file)["kafka.security.protocol"] == f"${{file:{file}:security.protocol}}"
        assert login.spark(file).keys() > {f"kafka.{name}" for name in login.java()}
    assert "hunter" not in shown
    assert "PRIVATE KEY" not in shown


def test_only_this_user_reads_the_file_of_javas_tools_and_it_goes_with_the_block(logins):
    with java_file(logins["mTLS"]) as file:
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)]
        written = file.read_bytes()

    assert modes == [0o600, 0o700]
    assert b'ssl.key.password=hunter"2\\\\ #=!\n' in written
    assert written.count(b"\n") == len(logins["mTLS"].java())
    assert not file.parent.exists()


def test_without_security_nothing_is_set():
    with java_file(PLAINTEXT) as file:
        assert file.read_text() == ""
        assert PLAINTEXT.spark(file) == {}
    assert PLAINTEXT.java_options == ()


def test_a_jvm_may_ask_the_token_endpoint_of_the_settings_alone(logins):
    (option,) = logins["OAUTHBEARER"].java_options

    assert option == "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://127.0.0.1:1/token"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ssl_ca_location": "ca"}, "ssl_ca_location has no effect without security_protocol = '...SSL'"),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism is required with security_protocol = 'SASL_...'"),
        ({"sasl_mechanism": "PLAIN"}, "sasl_mechanism has no effect without security_protocol = 'SASL_...'"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_username": "a"},
            "sasl_password_file is required with sasl_mechanism",
        ),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
            "sasl_oauthbearer_token_endpoint_url is required",
        ),
        (
            {"security_protocol": "SSL", "ssl_certificate_location": "a"},
            "ssl_key_location is required with ssl_certificate_location",
        ),
        ({"security_protocol": "SSL", "https_ca_location": "a"}, "https_ca_location has no effect"),
        ({"security_protocol": "SSL", "ssl_key_password_file": "a"}, "ssl_key_password_file has no effect"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ValueError, match=r"security_protocol|_location|_file|_url|sasl_") as error:
        KafkaSecurity(**options)

    assert message in str(error.value)


def test_a_token_endpoint_with_a_password_is_refused_and_not_quoted(logins):
    """The URL is an argument of `java`."""
    url = "https://me:hunter2@login/"
    with pytest.raises(ValueError, match="belongs in a file") as error:
        replace(logins["OAUTHBEARER"], sasl_oauthbearer_token_endpoint_url=url)

    assert "hunter" not in str(error.value)


def test_a_path_may_name_a_folder_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    security = KafkaSecurity(security_protocol="SSL", ssl_ca_location="$CREDENTIALS_DIRECTORY/ca.pem")

    assert security.ssl_ca_location == str(tmp_path / "ca.pem")


@pytest.mark.parametrize("read", [KafkaSecurity.librdkafka, KafkaSecurity.java])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "sasl_password_file = '{}' cannot be read: No such file or directory"),
        (b"\n", "sasl_password_file = '{}' is empty: it must contain the secret alone"),
        (b"hunter\xff", "sasl_password_file = '{}' is not UTF-8 text"),
    ],
)
def test_a_secret_that_cannot_be_read_is_named_and_not_quoted(logins, files, read, content, message):
    file = files / "password"
    file.unlink()
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(WrongUseError) as error:
        read(logins["SCRAM-SHA-512"])

    assert str(error.value) == message.format(file)


@pytest.mark.parametrize("form", ["openssl rsa -traditional", "openssl pkcs8 -topk8 -passout pass:abcd"])
def test_a_key_that_java_cannot_read_is_refused_with_the_command_that_converts_it(logins, files, form):
    """Librdkafka reads both: the form before PKCS#8, and what OpenSSL 3 writes by default."""
    key, password = files / "key.pem", ["-passin", f"pass:{SECRET}", "-in", files / "key.pem"]
    subprocess.run([*form.split(), *password, "-out", files / "new"], check=True, capture_output=True)
    (files / "new").replace(key)

    assert logins["mTLS"].librdkafka()
    with pytest.raises(WrongUseError, match="openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -in"):
        logins["mTLS"].java()


FORMER = """
[telemetry.client_options]
"security.protocol" = "SASL_SSL"
"sasl.mechanisms" = "PLAIN"
"sasl.username" = "plumbline"
"sasl.password" = "hunter2"
"linger.ms" = "5"
[collector.cluster_client_options]
"security.protocol" = "SSL"
"ssl.ca.location" = "/etc/ca.pem"
"""


def test_the_login_of_former_client_options_is_read_and_its_password_moves_to_a_file(tmp_path):
    (tmp_path / "my.toml").write_text(FORMER)
    settings = Settings.load(tmp_path / "my.toml")
    security = settings.telemetry.security
    file = Path(security.sasl_password_file)

    assert (security.security_protocol, security.sasl_mechanism) == ("SASL_SSL", "PLAIN")
    assert (security.librdkafka()["sasl.password"], stat.S_IMODE(file.stat().st_mode)) == ("hunter2", 0o600)
    assert settings.telemetry.client_options == {"linger.ms": "5"}
    assert settings.collector.cluster_security.ssl_ca_location == "/etc/ca.pem"
    assert "hunter" not in repr(settings)
    assert security.has_former_secret
    assert not settings.collector.cluster_security.has_former_secret


def test_former_options_are_read_in_the_spellings_of_librdkafka_and_java(tmp_path):
    (tmp_path / "my.toml").write_text(
        '[telemetry.client_options]\n"security.protocol" = "sasl_ssl"\n"sasl.mechanism" = "oauthbearer"\n'
        '"sasl.oauthbearer.method" = "oidc"\n"sasl.oauthbearer.client.id" = "me"\n'
        '"sasl.oauthbearer.client.secret" = "hunter2"\n'
        '"sasl.oauthbearer.token.endpoint.url" = "https://auth/token"\n'
        '[collector.cluster_client_options]\n"security.protocol" = "ssl"\n'
        '"ssl.endpoint.identification.algorithm" = ""\n'
    )
    settings = Settings.load(tmp_path / "my.toml")
    options = settings.telemetry.security.librdkafka()

    assert (options["security.protocol"], options["sasl.mechanism"]) == ("SASL_SSL", "OAUTHBEARER")
    assert options["sasl.oauthbearer.client.secret"] == "hunter2"
    assert settings.collector.cluster_security.ssl_endpoint_identification_algorithm == "none"
    assert settings.own_principals == ("User:ANONYMOUS",)  # of the observed cluster; OAUTHBEARER tells none


def test_a_section_is_checked_with_its_place(tmp_path):
    (tmp_path / "my.toml").write_text("[telemetry.security]\nsasl_password = 'hunter2'")
    with pytest.raises(WrongUseError) as error:
        Settings.load(tmp_path / "my.toml")
    assert "[telemetry.security] sasl_password: unknown key; did you mean 'sasl_password_file'?" in str(
        error.value
    )
    assert "hunter" not in str(error.value)

    (tmp_path / "my.toml").write_text("[telemetry.security]\nsecurity_protocol = 'SASL_SSL'")
    with pytest.raises(WrongUseError, match=r"my\.toml: \[telemetry\.security\] sasl_mechanism is required"):
        Settings.load(tmp_path / "my.toml")
