"""Writes files at paths given by the user, never through a symbolic link to another file."""

import errno
import os
from pathlib import Path

DEVICES = Path("/dev")  # /dev/stdout is a link that must be followed


def write(path: Path, content: bytes | str, *, append: bool = False) -> None:
    """Write a file and create its folder if needed; raises OSError if the path is a symbolic link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else os.O_TRUNC)
    follow = 0 if path.parent == DEVICES else os.O_NOFOLLOW
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        with os.fdopen(os.open(path, flags | follow, 0o666), "wb") as file:
            file.write(data)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link to another place") from None
        raise
