"""What a signal leaves in the log of a job."""

import logging

from py4j.protocol import Py4JNetworkError

from engine.process import signals


def logged_by_py4j(error, context=None):
    """Return the record of a failed command as py4j makes it, through the root logger."""
    error.__context__ = context
    told = (type(error), error, None)
    return logging.LogRecord("root", logging.ERROR, "py4j/java_gateway.py", 1059, "failed", (), told)


def test_only_the_traceback_of_ctrl_c_is_dropped_before_a_signal():
    reentrant = RuntimeError("reentrant call inside <_io.BufferedReader name=3>")

    assert not signals._is_no_interrupt_of_py4j(logged_by_py4j(KeyboardInterrupt()))
    assert not signals._is_no_interrupt_of_py4j(logged_by_py4j(Py4JNetworkError("sending"), reentrant))
    assert signals._is_no_interrupt_of_py4j(logged_by_py4j(Py4JNetworkError("sending"), OSError("closed")))


def test_after_a_signal_no_failed_command_is_logged():
    assert not signals._is_not_of_py4j(logged_by_py4j(Py4JNetworkError("sending"), OSError("closed")))
