"""Published zip files, unpacked once into the cache folder."""

import hashlib
import io
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path

from rehearsal.cloud.account import Account
from rehearsal.cloud.functions.definitions import Package

_LOCK = threading.Lock()


def unpack(package: Package, account: Account) -> Path:
    """Return the folder of a package's files, named after what is in it, so that processes can share the cache."""
    with _LOCK:
        body = account.client("s3").get_object(Bucket=package.bucket, Key=package.key)["Body"].read()
        folder = account.tools / "packages" / hashlib.sha256(body).hexdigest()[:32]
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            half = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
            try:
                _extract(body, half)
                half.rename(folder)
            finally:
                shutil.rmtree(half, ignore_errors=True)
        return folder


def _extract(body: bytes, into: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        archive.extractall(into)
        for entry in archive.infolist():
            # zipfile forgets the permissions; kubectl and helm need theirs.
            if mode := (entry.external_attr >> 16) & 0o777:
                (into / entry.filename).chmod(mode | 0o600)
