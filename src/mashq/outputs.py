"""Writes files at paths given by the user, never through a symbolic link to another file."""

import errno
import os
from pathlib import Path

DEVICES = Path("/dev")  # /dev/stdout is a link that must be followed


def check_folder(path: Path) -> None:
    """Raise OSError unless the folder that `path` is to be written into exists."""
    if not os.path.isdir(path.parent):
        raise OSError(errno.ENOENT, f"there is no folder {path.parent}")


def make_folder(path: Path) -> None:
    """Create a folder within an existing one, unless it is there."""
    check_folder(path)
    path.mkdir(exist_ok=True)


def write(path: Path, content: bytes | str, *, append: bool = False) -> None:
    """Write a file into an existing folder; raises OSError if there is none, or the path is a symbolic link."""
    check_folder(path)
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
