"""Write files as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

# Errors while writing that concern the file: disk full, quota used up, file too large.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_unfinished: set[Path] = set()  # temporary files that are being written


def checked_path(path: Any, example: str) -> Path:
    """Check the path of a file to write, before the work for its content begins.

    `example` is a good name for such a file, for the messages.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path={path!r} must be the name of a file, for example {example!r}.")
    given = os.fspath(path)
    if not isinstance(given, str):
        raise TypeError(f"path={path!r} must be a name of text, not of bytes.")
    if not given:
        raise ValueError(f"path='' is empty. Give the name of a file, for example {example!r}.")
    if "\0" in given:
        raise ValueError(
            f"path={given!r} holds a NUL character, as no file's name can. Give another path."
        )
    target = Path(os.path.expanduser(given))
    folder = written_file(target).parent
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"path={given!r} cannot be written: there is no folder {str(folder)!r}. "
            "Create it first, or give another path."
        )
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as error:  # a circle of links, a name that is too long
        raise unwritable(given, error) from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(
            f"path={given!r} is a folder. Give the name of a file in it, for example "
            f"{str(target / example)!r}."
        )
    if not stat.S_ISREG(mode):
        raise FileExistsError(
            f"path={given!r} is not a regular file but a device, a pipe or a socket, which "
            "must not be replaced. Give another path."
        )
    if not os.access(target, os.W_OK):
        raise PermissionError(
            f"path={given!r} is read-only. Make the file writable, or give another path."
        )
    return target


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream that replaces a file as a whole: nobody finds half a file, even after a kill.

    The temporary file beside the target is created on entering, so that a folder without
    write permission is refused at once. A file that exists keeps its mode. If the path is a
    link, the link stays, and the file that it points to is replaced.
    """
    target = written_file(path)
    # Fifty letters take at most 200 of the 255 bytes that the name of a file may have.
    part = target.with_name(f".{target.name[:50]}.{uuid.uuid4().hex[:12]}.part")
    _unfinished.add(part)
    try:
        stream = part.open("xb")
    except OSError as error:
        _unfinished.discard(part)
        raise unwritable(str(path), error) from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            os.chmod(part, target.stat().st_mode & 0o777)
        os.replace(part, target)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise unwritable(str(path), error) from error
        raise
    finally:
        part.unlink(missing_ok=True)
        _unfinished.discard(part)


def remove_unfinished() -> None:
    """Remove the temporary files of unfinished writing, for a process that must end now."""
    for part in list(_unfinished):
        with suppress(OSError):  # go on with the other files
            part.unlink()


def written_file(path: Path) -> Path:
    """The file that is written for a path: the target of a link, otherwise the path."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def unwritable(path: str, error: OSError) -> OSError:
    """An error of the same type, with a message about the path that the user gave."""
    return type(error)(f"path={path!r} cannot be written: {error.strerror}. Give another path.")
