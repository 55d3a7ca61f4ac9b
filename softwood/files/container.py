r"""The container: one text in JSON and plain arrays, in one file whose every byte is checked.

======== ====================================================================================
bytes    content
======== ====================================================================================
0 - 7    ``\x89SWOOD\r\n``; a transfer that converts text damages it
8 - 15   format version of the file, and the smallest version of a reader that understands it
16 - 31  length of the header, and of the file
32 - 39  CRC-32 of the header, and of everything after it
40 - 63  zeros
64 -     header, in ASCII: a JSON object with ``library``, ``arrays`` and ``content``
...      the arrays in the order of ``arrays``, little-endian, each at a multiple of 64
======== ====================================================================================

``arrays`` has the type and the shape of each array. Where an array begins follows from those before it, so entries
cannot overlap, and together they must fill the file. All is checked against the length of the file before any memory is
taken.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, NoReturn

import numpy as np

from softwood import __version__
from softwood.files.errors import InvalidFileError

MAGIC = b"\x89SWOOD\r\n"
# The version of files that are written. Readers must be at least of SMALLEST_READER.
FORMAT_VERSION, SMALLEST_READER = 1, 1
_PREFIX = struct.Struct("<8sIIQQII24x")
_ALIGNMENT = 64
# Little-endian numbers, truth values, text, bytes and dates, of sizes that are the same on all machines.
_TYPE = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,8}|\|S[1-9][0-9]{0,8}|<[mM]8(\[[0-9a-zA-Z/]{1,16}\])?"
)
_MAX_DIMENSIONS = 8
# Memory that the objects of a header may take, besides the length of the file; see `_check_weight`.
_HEADER_MEMORY = 32 * 2**20


@dataclass(frozen=True)
class Content:
    """What a file holds.

    Attributes
    ----------
    content : the JSON
    arrays : the arrays that the JSON refers to by number
    library : version of softwood that wrote the file
    """

    content: Any
    arrays: list[np.ndarray]
    library: str = __version__


def write_container(file: IO[bytes], content: Any, arrays: Sequence[np.ndarray]) -> None:
    """Write a file; what is written depends on the arguments alone.

    Parameters
    ----------
    file : open for writing in binary mode, at its beginning
    content : what JSON can hold
    arrays : of the types that the container takes, see `storable`
    """
    arrays = [storable(array) for array in arrays]
    entries = [[array.dtype.str, list(array.shape)] for array in arrays]
    header = json.dumps({"library": __version__, "arrays": entries, "content": content}, allow_nan=False).encode()
    blocks: list[bytes | memoryview] = [*_padding(_PREFIX.size + len(header))]
    for array in arrays:
        blocks += [_bytes_of(array), *_padding(array.nbytes)]
    checksum = 0
    for block in blocks:
        checksum = zlib.crc32(block, checksum)
    length = _PREFIX.size + len(header) + sum(len(block) for block in blocks)
    prefix = _PREFIX.pack(
        MAGIC, FORMAT_VERSION, SMALLEST_READER, len(header), length, zlib.crc32(header), checksum
    )  # fmt: skip
    for block in (prefix, header, *blocks):
        file.write(block)


def storable(array: np.ndarray) -> np.ndarray:
    """The array in C order and little-endian; an error if the container has no such type."""
    array = np.asarray(array, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if not _TYPE.fullmatch(array.dtype.str) or array.ndim > _MAX_DIMENSIONS:
        raise TypeError(f"an array of type {array.dtype} with {array.ndim} dimensions")
    return array


def read_container(path: str | os.PathLike) -> Content:
    """Read a file and check it.

    Raises
    ------
    InvalidFileError
        If it is not such a file, or damaged.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(22, "Not a regular file", str(path))
        n_header, checksums = _read_prefix(file.read(_PREFIX.size), found.st_size)
        encoded = file.read(n_header)
        if zlib.crc32(encoded) != checksums[0]:
            raise InvalidFileError("its checksum is wrong")
        header = _parse(encoded, found.st_size)
        if not isinstance(header, dict) or set(header) != {"library", "arrays", "content"}:
            raise InvalidFileError("its header does not have the entries library, arrays and content")
        entries = _entries(header["arrays"], _PREFIX.size + n_header, found.st_size)
        arrays = _read_arrays(file, _PREFIX.size + n_header, entries, checksums[1])
    if not isinstance(header["library"], str):
        raise InvalidFileError("'library' of its header must be a string")
    return Content(header["content"], arrays, header["library"])


def _read_prefix(prefix: bytes, length: int) -> tuple[int, tuple[int, int]]:
    """Length of the header, and both checksums."""
    if len(prefix) < _PREFIX.size or prefix[: len(MAGIC)] != MAGIC:
        raise InvalidFileError("it does not start with the signature of one")
    _, version, smallest_reader, n_header, n_bytes, *checksums = _PREFIX.unpack(prefix)
    if version < 1 or smallest_reader < 1 or smallest_reader > version:
        raise InvalidFileError(f"there is no format version {version} for readers from {smallest_reader} on")
    if smallest_reader > FORMAT_VERSION:
        raise InvalidFileError(
            f"it has format version {version}, and this release (softwood {__version__}) reads up to "
            f"{FORMAT_VERSION}; install a later release"
        )
    if n_bytes != length:
        raise InvalidFileError(f"it has {length} bytes and should have {n_bytes}")
    if n_header > length - _PREFIX.size or any(prefix[40:]):
        raise InvalidFileError("its prefix is wrong")
    return n_header, (checksums[0], checksums[1])


def _parse(header: bytes, length: int) -> Any:
    _check_weight(header, length)
    try:
        return json.loads(header.decode("ascii"), object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except InvalidFileError:
        raise
    except RecursionError:
        raise InvalidFileError("its header is nested too deeply") from None
    except ValueError as error:
        raise InvalidFileError(f"its header is not valid JSON: {error}") from None


def _check_weight(header: bytes, length: int) -> None:
    """Raise an error if the objects of the header would take far more memory than the file: "[]," becomes 64 bytes."""
    n_entries = header.count(b",") + header.count(b"[") + header.count(b"{")
    wide = 4 if b"\\u" in header else 1
    weight = 100 * n_entries + 150 * header.count(b":") + wide * len(header)
    if weight > _HEADER_MEMORY + length:
        raise InvalidFileError("its header has too many entries for a file of this length")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidFileError("its header has a duplicate entry")
    return found


def _no_constant(name: str) -> NoReturn:
    raise InvalidFileError(f"its header holds {name}")


def _entries(found: Any, begin: int, length: int) -> list[tuple[np.dtype, tuple[int, ...]]]:
    """Type and shape of each array; an error if they do not fill the file from `begin` on."""
    if not isinstance(found, list):
        raise InvalidFileError("'arrays' of its header must be a list")
    entries = [_type_and_shape(entry, number) for number, entry in enumerate(found)]
    begin += -begin % _ALIGNMENT
    for number, (dtype, shape) in enumerate(entries):
        begin += math.prod(shape) * dtype.itemsize
        if begin > length:
            raise InvalidFileError(f"array {number} of shape {shape} does not fit into the file")
        begin += -begin % _ALIGNMENT
    if begin != length:
        raise InvalidFileError("the arrays do not fill the file")
    return entries


def _read_arrays(
    file: IO[bytes], begin: int, entries: list[tuple[np.dtype, tuple[int, ...]]], expected: int
) -> list[np.ndarray]:
    """The arrays, each in memory of its own, so that one can be given up without the others."""
    arrays: list[np.ndarray] = []
    padding = file.read(-begin % _ALIGNMENT)
    checksum = zlib.crc32(padding)
    for dtype, shape in entries:
        array = np.empty(math.prod(shape), dtype=dtype)
        block = _bytes_of(array)
        if file.readinto(block) != len(block):  # type: ignore[attr-defined]
            raise InvalidFileError("it became shorter while it was read")
        checksum = zlib.crc32(file.read(-len(block) % _ALIGNMENT), zlib.crc32(block, checksum))
        arrays.append(_reshaped(array, shape, len(arrays)))
    if checksum != expected:
        raise InvalidFileError("its checksum is wrong")
    return [_native(array, number) for number, array in enumerate(arrays)]


def _type_and_shape(entry: Any, number: int) -> tuple[np.dtype, tuple[int, ...]]:
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str) or not _TYPE.fullmatch(entry[0]):
        raise InvalidFileError(f"array {number} has an unknown type")
    shape = entry[1]
    if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS:
        raise InvalidFileError(f"array {number} has an invalid shape")
    if not all(type(size) is int and 0 <= size < 2**48 for size in shape):
        raise InvalidFileError(f"array {number} has the shape {shape}")
    try:
        return np.dtype(entry[0]), tuple(shape)
    except (TypeError, ValueError):
        raise InvalidFileError(f"array {number} has the type {entry[0]!r}, which is not known") from None


def _reshaped(array: np.ndarray, shape: tuple[int, ...], number: int) -> np.ndarray:
    try:
        return array.reshape(shape)
    except ValueError:
        raise InvalidFileError(f"array {number} has the shape {shape}") from None


def _native(array: np.ndarray, number: int) -> np.ndarray:
    """The array in the byte order of the machine; an error if its bytes are no values of its type."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise InvalidFileError(f"array {number} contains bools other than 0 and 1")
    if array.dtype.kind == "U" and array.size and array.reshape(-1).view("<u4").max() > 0x10FFFF:
        raise InvalidFileError(f"array {number} contains invalid text")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _bytes_of(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(bytearray())


def _padding(n_before: int) -> list[bytes]:
    """Zeros up to the next multiple of the alignment."""
    missing = -n_before % _ALIGNMENT
    return [bytes(missing)] if missing else []
