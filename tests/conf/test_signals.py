"""Ctrl-C and SIGTERM, handled for the time of a block."""

import signal
import threading

import pytest

from conf.signals import SIGNALS, handled_by, interrupted_once


def work(number, cleaned):
    try:
        signal.raise_signal(number)
    finally:
        signal.raise_signal(number)
        cleaned.append(number)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_interrupts_and_a_second_one_does_not_disturb_the_clean_up(number):
    before, cleaned = signal.getsignal(number), []

    with pytest.raises(KeyboardInterrupt), interrupted_once():
        work(number, cleaned)

    assert cleaned == [number]
    assert signal.getsignal(number) is before


def test_a_block_in_another_thread_leaves_the_signals_alone():
    seen = []

    def block():
        with handled_by(seen.append):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()

    assert seen == [signal.getsignal(signal.SIGTERM)]
