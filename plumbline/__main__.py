"""`python -m plumbline` is `plumbline`."""

import signal


def main() -> None:
    """Run the command. Ctrl-C during the imports, which take some seconds, ends it without a traceback."""
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from plumbline.cli import app  # noqa: PLC0415 (the imports are what the signal may interrupt)

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    app()


if __name__ == "__main__":
    main()
