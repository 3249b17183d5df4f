"""Writing the files that a user names: into the file of that name, never through a link to another one."""

import errno
import os
from pathlib import Path

DEVICES = Path("/dev")  # /dev/stdout is a link, and is meant as one


def write(path: Path, content: bytes | str, *, append: bool = False) -> None:
    """Write a file, its folder made where it is not there; an OSError says so when a link stands in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    how = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else os.O_TRUNC)
    follow = 0 if path.parent == DEVICES else os.O_NOFOLLOW
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        with os.fdopen(os.open(path, how | follow, 0o666), "wb") as file:
            file.write(data)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link to another place") from None
        raise
