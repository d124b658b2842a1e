"""Make the certificates of a secured broker and its clients with openssl, in the lab's state folder."""

import shutil
import subprocess
from pathlib import Path

from lab.errors import LabError

DAYS = "2"
HOST = "subjectAltName=IP:127.0.0.1,DNS:localhost"


class Authority:
    """A certificate authority in a folder of its own; `ca.pem` is its certificate."""

    def __init__(self, folder: Path) -> None:
        """Make the authority's key and certificate."""
        folder.mkdir(mode=0o700, parents=True)
        self.folder, self.certificate = folder, folder / "ca.pem"
        self._key = folder / "ca.key"
        subject = ("-subj", "/CN=plumbline-lab-ca", "-addext", "basicConstraints=critical,CA:TRUE")
        made = ("-keyout", str(self._key), "-out", str(self.certificate))
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", DAYS, *subject, *made)

    def issue(self, name: str, *, password_file: Path | None = None) -> tuple[Path, Path]:
        """
        Return a new certificate with CN=`name` and its key in PKCS#8, encrypted if it has a password.

        The certificate is for 127.0.0.1, so it serves brokers and clients.
        """
        cert, key, request = (self.folder / f"{name}.{end}" for end in ("pem", "key", "csr"))
        new = ("-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}")
        openssl("req", *new, "-keyout", str(key), "-out", str(request))
        extensions = self.folder / f"{name}.extensions"
        extensions.write_text(f"{HOST}\n")
        signer = ("-CA", str(self.certificate), "-CAkey", str(self._key), "-CAcreateserial", "-days", DAYS)
        openssl("x509", "-req", "-in", str(request), *signer, "-extfile", str(extensions), "-out", str(cert))
        if password_file is not None:
            # Java 17 reads PKCS#8 that is encrypted in this way, and not OpenSSL's default.
            form = ("pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"file:{password_file}")
            encrypted = key.with_suffix(".encrypted")
            openssl(*form, "-in", str(key), "-out", str(encrypted))
            encrypted.replace(key)
        return cert, key


def openssl(*arguments: str, stdin: bytes = b"") -> bytes:
    """
    Run openssl; return its stdout.

    Raises:
        LabError: it failed, or is missing.

    """
    program = shutil.which("openssl")
    if program is None:
        message = "no `openssl` found: install it"
        raise LabError(message)
    done = subprocess.run([program, *arguments], input=stdin, check=False, capture_output=True)
    if done.returncode:
        message = f"openssl {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}"
        raise LabError(message)
    return done.stdout
