"""What a person reads, and a program gets, when the ingest ends in a failure."""

import errno
from pathlib import Path

import pytest
import typer

from conf.exit_codes import ExitCode
from conf.progress import Progress
from conf.settings import Settings, WarehouseSettings
from engine.process.job import cause, failure, job
from engine.streams.audit.findings import StateError

OF_A_BATCH = """[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: An exception was raised by the Python Proxy. \
Return Message: Traceback (most recent call last):
  File "ingest.py", line 178, in write
    counts = write_batch(batch)
engine.ingest.batches.TakenError: another driver has written batch 3
 SQLSTATE: 39000
\tat org.apache.spark.sql"""


@pytest.fixture
def settings(tmp_path):
    return Settings(warehouse=WarehouseSettings(root=str(tmp_path / "w"), checkpoints=str(tmp_path / "c")))


def test_of_a_failed_batch_the_python_error_is_reported_and_not_spark_s_wrapping():
    assert cause(OF_A_BATCH) == "another driver has written batch 3"
    assert cause("no such topic\n\tat org.apache") == "no such topic"


@pytest.mark.parametrize(
    "within", ["{}", "Reason: Traceback (most recent call last):\n  File\npy4j.Py4JJavaError: {}"]
)
def test_of_an_error_of_the_jvm_its_message_is_reported_and_not_what_was_called(within):
    of_jvm = (
        "An error occurred while calling o230.collect.\n: org.apache.spark.SparkException: no file f\n\tat"
    )

    assert cause(within.format(of_jvm)) == "no file f"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        ValueError("Py4JJavaError: java.io.IOException: No space left on device"),
        ValueError("Generic LocalFileSystem error: Unable to copy: No space left (os error 28)"),
    ],
)
def test_a_full_disk_is_reported_with_its_folder_by_whomever_it_was_met(settings, tmp_path, error):
    message, code = failure(error, settings, "ingest")

    assert code == ExitCode.FULL
    assert "the disk is full" in message
    assert str(tmp_path) in message


def test_a_full_disk_behind_another_error_is_reported_too(settings):
    error = ValueError("the batch failed")
    error.__cause__ = OSError(errno.ENOSPC, "")

    assert failure(error, settings, "ingest")[1] == ExitCode.FULL
    assert failure(ValueError("other"), settings, "ingest") == ("ingest stopped: other", ExitCode.FAILED)
    assert failure(TimeoutError(), settings, "ingest")[0] == "ingest stopped: TimeoutError"


def test_a_failure_ends_the_job_with_one_line_and_its_code(settings, capsys):
    with pytest.raises(typer.Exit) as ended, job("replay", settings, Progress(), again="run it again"):
        raise StateError(Path("f"), "reading", "is torn", "restore it")
    assert ended.value.exit_code == ExitCode.STATE
    with pytest.raises(typer.Exit) as ended, job("replay", settings, Progress(), again="run it again"):
        raise ValueError(*["other"])
    assert ended.value.exit_code == ExitCode.FAILED

    assert capsys.readouterr().err.splitlines() == [
        "reading: f is torn; nothing was written: restore it",
        "replay stopped: other; run it again",
    ]


def test_a_stop_has_the_line_and_code_of_the_job(settings, capsys):
    with pytest.raises(typer.Exit) as ended, job("x", settings, Progress(), stopped="done", stopped_code=0):
        raise KeyboardInterrupt

    assert ended.value.exit_code == 0
    assert capsys.readouterr().err == "done\n"
