"""Files that appear when they are complete: a crash at any moment leaves the old file or the new one."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO

try:
    import fcntl as _fcntl
except ImportError:  # Windows
    fcntl: ModuleType | None = None
else:
    fcntl = _fcntl


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Open a binary file whose content replaces that of `path` at the end of the block.

    The content is written to a temporary file in the same folder and flushed to the disk before the file is renamed. If
    the block or the writing fails, the temporary file is removed and `path` is as it was. A symbolic link is followed,
    and the mode of a file that is replaced is kept. Temporary files of processes that were killed are removed.

    Parameters
    ----------
    path : the file to write

    Raises
    ------
    OSError
        If it cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from softwood.files.atomic import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "notes.txt"
    ...     with replacing(target) as file:
    ...         _ = file.write(b"all or nothing")
    ...     target.read_text()
    'all or nothing'
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    _remove_left_over(target)
    part, descriptor = _create(target)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.chmod(part, mode)
            os.fsync(file.fileno())
            # Renamed while the file is open: its lock says that its process is alive.
            if os.name != "nt":
                os.replace(part, target)
        if os.name == "nt":  # which renames no open files
            os.replace(part, target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise
    _flush_folder(target.parent)


def _mode_of(target: Path) -> int | None:
    """Mode of the file that is replaced; None if there is none."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(21, "Is a directory", str(target))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(22, "Not a regular file", str(target))
    return stat.S_IMODE(found.st_mode)


def _create(target: Path) -> tuple[Path, int]:
    """A new temporary file beside the target, locked for as long as it is open."""
    while True:
        part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is None:
            return part, descriptor
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between creation and lock, another process may have taken it for a left-over.
            is_there = os.fstat(descriptor).st_nlink > 0
        except BlockingIOError:
            is_there = False
        except OSError:  # a file system without locks
            return part, descriptor
        if is_there:
            return part, descriptor
        os.close(descriptor)
        part.unlink(missing_ok=True)


def _remove_left_over(target: Path) -> None:
    """Remove temporary files of this target that no process holds open: those of processes that were killed."""
    if fcntl is None:
        return
    own = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.part")
    with suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            if own.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb+") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)


def _flush_folder(folder: Path) -> None:
    """Make the new name of a file last; systems that cannot open folders do without."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
