"""The `Authorization` header of a token in a file."""

from pathlib import Path


def bearer(file: str) -> str:
    """
    Return the header's value.

    Raises:
        ValueError: the file contains no token; an HTTP client's message would quote it, this one does not.
        OSError: the file cannot be read.

    """
    token = Path(file).read_text(encoding="utf-8", errors="replace").strip()
    if not (token.isascii() and token.isprintable()) or not token or " " in token:
        message = f"bearer_token_file = {file!r}: must contain one token of printable ASCII characters"
        raise ValueError(message)
    return f"Bearer {token}"
