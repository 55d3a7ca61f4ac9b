"""Damaged files: mutations of good ones, and a command that tries many.

    python tests/files/mutate.py --count 20000

Each mutated file must end in an InvalidFileError, or load (not every number that is changed is wrong). A model that
loads is asked and learns on, which must end, too. Memory must stay below twice the length of the file and 50 MB. The
table that is printed says how many of each mutation were refused, and by which check.
"""

from __future__ import annotations

import argparse
import collections
import copy
import faulthandler
import json
import struct
import sys
import tempfile
import time
import traceback
import tracemalloc
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import softwood
from softwood.files.errors import InvalidFileError
from softwood.files.kinds import KINDS
from tests.files.models import NAMES, answers, fitted, learn_on

PREFIX = struct.Struct("<8sIIQQII24x")
TYPES = ["|b1", "|i1", "<i4", "<i8", "<u8", "<f8", "<f4", "<U3", "|S8", "<M8[D]", "|O", ">f8", "<c16", "|V8", "<U0"]
NUMBERS = [-1, 0, 1, 2, 255, -(2**31), 2**31 - 1, 2**62, -(2**62)]
FLOATS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e-320]


def split(data: bytes) -> tuple[dict, list[bytearray]]:
    """Header and arrays of a file."""
    n_header = PREFIX.unpack(data[:64])[3]
    header = json.loads(data[64 : 64 + n_header])
    at, blocks = 64 + n_header, []
    for kind, shape in header["arrays"]:
        at += -at % 64
        n = np.dtype(kind).itemsize * int(np.prod(shape, dtype=object))
        blocks.append(bytearray(data[at : at + n]))
        at += n
    return header, blocks


def seal(header: Any, blocks: list[bytes | bytearray]) -> bytes:
    """A file with right lengths and checksums."""
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    rest = bytearray(-len(encoded) % 64)
    for block in blocks:
        rest += block + bytes(-len(block) % 64)
    length = 64 + len(encoded) + len(rest)
    crcs = zlib.crc32(encoded), zlib.crc32(bytes(rest))
    return PREFIX.pack(b"\x89SWOOD\r\n", 1, 1, len(encoded), length, *crcs) + encoded + bytes(rest)


def places(found: Any, path: tuple = ()) -> list[tuple]:
    """Paths of all pieces of a JSON value."""
    out = [path]
    items = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, item in items:
        out += places(item, (*path, key))
    return out


def at(found: Any, path: tuple) -> Any:
    for key in path:
        found = found[key]
    return found


# Mutations of bytes, with checksums that are then wrong


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for k in rng.integers(len(out), size=rng.integers(1, 9)):
        out[k] ^= 1 << int(rng.integers(8))
    return bytes(out)


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def extend(data: bytes, rng: np.random.Generator) -> bytes:
    return data + rng.bytes(int(rng.integers(1, 200)))


def overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    begin, size = int(rng.integers(len(data))), int(rng.integers(1, 300))
    return data[:begin] + rng.bytes(size) + data[begin + size :]


def prefix(data: bytes, rng: np.random.Generator) -> bytes:
    """Other versions and lengths."""
    fields = list(PREFIX.unpack(data[:64]))
    fields[int(rng.integers(1, 5))] = int(rng.choice([0, 1, 2, 99, 2**31, 2**32 - 1]))
    return PREFIX.pack(*fields) + data[64:]


# Mutations of content, with right checksums


def change_value(data: bytes, rng: np.random.Generator) -> bytes:
    """Another value at some place of the header."""
    header, blocks = split(data)
    path = _any_place(header, rng)
    others: list[Any] = [
        None, True, False, -1, 0, 1, 10**30, 1.5, -0.0, 1e308, "", "x", "nan", [], {}, [[]],
        {"is": "array", "array": 0},
        {"is": "float", "value": "nan"}, {"is": "tuple", "items": []}, {"is": "dict", "entries": [[1, 2], [1, 3]]},
        {"is": "objects", "shape": [2**31, 0], "items": []}, {"is": str(rng.choice(list(KINDS.by_name))), "state": {}},
        {"is": "os.system", "state": {}}, copy.deepcopy(at(header, _any_place(header, rng))),
    ]  # fmt: skip
    at(header, path[:-1])[path[-1]] = others[int(rng.integers(len(others)))]
    return seal(header, blocks)


def drop_entry(data: bytes, rng: np.random.Generator) -> bytes:
    header, blocks = split(data)
    path = _any_place(header, rng)
    del at(header, path[:-1])[path[-1]]
    return seal(header, blocks)


def rename_entry(data: bytes, rng: np.random.Generator) -> bytes:
    header, blocks = split(data)
    path = _any_place(header, rng)
    parent = at(header, path[:-1])
    if isinstance(parent, dict):
        names = ["is", "state", "x", "__class__", "__init__", "fit", "tree_", "classes_", *parent]
        parent[names[int(rng.integers(len(names)))]] = parent.pop(path[-1])
    else:
        parent.append(copy.deepcopy(parent[path[-1]]))
    return seal(header, blocks)


def swap_entries(data: bytes, rng: np.random.Generator) -> bytes:
    header, blocks = split(data)
    one, other = _any_place(header["content"], rng), _any_place(header["content"], rng)
    if one[: len(other)] != other and other[: len(one)] != one:
        first, second = at(header["content"], one), at(header["content"], other)
        at(header["content"], one[:-1])[one[-1]] = second
        at(header["content"], other[:-1])[other[-1]] = first
    return seal(header, blocks)


def change_text(data: bytes, rng: np.random.Generator) -> bytes:
    """JSON that is none, or that has what Python's reader takes though it should not."""
    header, blocks = split(data)
    text = json.dumps(header)
    how = int(rng.integers(7))
    if how == 0:
        text = text.replace('"content": {', '"content": {"is": "SoftTree", ', 1)
    elif how == 1:
        text = text.replace('"state": {', '"state": {"x": NaN, ', 1)
    elif how == 2:
        text = text.replace('"content":', '"content": ' + "[" * int(rng.integers(1, 100_000)), 1)
    elif how == 3:
        text = text.replace('"library": "', '"library": "é', 1)
    elif how == 4:
        text = "[" * 50_000 + "]" * 50_000
    elif how == 5:
        text = text.replace('"content":', '"content": [' + "[]," * int(rng.choice([10, 10**6])) + '[]], "more":', 1)
    else:
        k = int(rng.integers(len(text)))
        text = text[:k] + str(rng.choice(list('{}[],:"0e-'))) + text[k + 1 :]
    return seal(text.encode(), blocks)


def change_entry(data: bytes, rng: np.random.Generator) -> bytes:
    """Another type or shape of an array."""
    header, blocks = split(data)
    entries = header["arrays"]
    k = int(rng.integers(len(entries)))
    sizes = [0, 1, -1, 2**31, 2**47, 2**63, 10**30, 1.0, True, None]
    how = int(rng.integers(6))
    if how == 0:
        entries[k][0] = str(rng.choice(TYPES))
    elif how == 1:
        entries[k][1] = [sizes[int(i)] for i in rng.integers(len(sizes), size=rng.integers(4))]
    elif how == 2:
        j = int(rng.integers(len(entries)))
        entries[k], entries[j] = entries[j], entries[k]
    elif how == 3:
        entries[k][1] = entries[k][1][::-1]
    elif how == 4:
        entries[k][1] = [0, *entries[k][1]]
    else:
        entries.insert(k, copy.deepcopy(entries[k]))
    return seal(header, blocks)


def change_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    """Other numbers in an array: nan, infinity, places that are not there."""
    header, blocks = split(data)
    k = _any_array(blocks, rng)
    array = np.frombuffer(blocks[k], dtype=header["arrays"][k][0]).copy()
    for place in rng.integers(array.size, size=rng.integers(1, 4)):
        if array.dtype.kind == "f":
            array[place] = rng.choice(FLOATS)
        elif array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            array[place] = np.clip(int(rng.choice(NUMBERS)), limits.min, limits.max)
        else:
            array = np.frombuffer(rng.bytes(array.nbytes), dtype=array.dtype)
    blocks[k] = bytearray(array.tobytes())
    return seal(header, blocks)


def shuffle_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    """The numbers of an array in another order: cycles in children."""
    header, blocks = split(data)
    k = _any_array(blocks, rng)
    array = np.frombuffer(blocks[k], dtype=header["arrays"][k][0]).copy()
    how = int(rng.integers(3))
    if how == 0:
        rng.shuffle(array)
    elif how == 1:
        array = np.roll(array, int(rng.integers(1, 5)))
    else:
        array[:] = array[int(rng.integers(array.size))]
    blocks[k] = bytearray(array.tobytes())
    return seal(header, blocks)


def swap_arrays(data: bytes, rng: np.random.Generator) -> bytes:
    """Contents and entries of two arrays exchanged: right lengths, wrong meaning."""
    header, blocks = split(data)
    one, other = int(rng.integers(len(blocks))), int(rng.integers(len(blocks)))
    header["arrays"][one], header["arrays"][other] = header["arrays"][other], header["arrays"][one]
    blocks[one], blocks[other] = blocks[other], blocks[one]
    return seal(header, blocks)


def cut_arrays(data: bytes, rng: np.random.Generator) -> bytes:
    """An array that is shorter or longer, with a shape that says so."""
    header, blocks = split(data)
    k = _any_array(blocks, rng)
    kind, shape = header["arrays"][k]
    array = np.frombuffer(blocks[k], dtype=kind).reshape(shape)
    if array.ndim:
        axis = int(rng.integers(array.ndim))
        n = array.shape[axis]
        kept = rng.integers(n, size=int(rng.integers(0, 2 * n + 1)))
        array = np.take(array, np.sort(kept), axis=axis)
    header["arrays"][k][1] = list(array.shape)
    blocks[k] = bytearray(array.tobytes())
    return seal(header, blocks)


def _any_place(header: Any, rng: np.random.Generator) -> tuple:
    paths = places(header)
    return paths[int(rng.integers(1, len(paths)))]


def _any_array(blocks: list[bytearray], rng: np.random.Generator) -> int:
    full = [k for k, block in enumerate(blocks) if block]
    return full[int(rng.integers(len(full)))]


OF_BYTES = [flip_bits, truncate, extend, overwrite, prefix]
OF_CONTENT = [
    change_value, change_value, drop_entry, rename_entry, swap_entries, change_text, change_entry, change_numbers,
    change_numbers, change_numbers, shuffle_numbers, swap_arrays, cut_arrays,
]  # fmt: skip
# What a damaged parameter may end with when the model is used, not when it is loaded.
IN_USE = (ValueError, TypeError, KeyError, AttributeError, OverflowError)


def try_file(path: Path, *, with_memory: bool = False) -> str:
    """Load a file and use it; returns what came of it."""
    size = path.stat().st_size
    if with_memory:
        tracemalloc.reset_peak()
    try:
        model = softwood.load(path)
    except InvalidFileError as error:
        message = str(error)
        assert str(path) in message, message
        found = message.partition("damaged: ")[2]
        if error.__cause__ is not None:
            found = f"unforeseen, {found}"
    else:
        found = "loads"
    if with_memory:
        peak = tracemalloc.get_traced_memory()[1]
        assert peak <= 2 * size + 50_000_000, f"{peak} bytes for a file of {size}"
    if found == "loads":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers(model)
                answers(learn_on(model))
        except IN_USE:
            return "loads, and a parameter is refused in use"
    return found


def good_files(folder: Path, names: list[str]) -> dict[str, bytes]:
    """A file of each kind."""
    found = {}
    for name in names:
        softwood.save(fitted(name), folder / "good.softwood")
        found[name] = (folder / "good.softwood").read_bytes()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=NAMES)
    chosen = parser.parse_args()
    counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    reasons: collections.Counter = collections.Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.softwood"
        good = good_files(Path(folder), chosen.kinds)
        for name, data in good.items():
            path.write_bytes(data)
            assert try_file(path) == "loads", name  # compiles what is compiled, before time and memory are measured
        tracemalloc.start()
        for number in range(chosen.count):
            rng = np.random.default_rng([chosen.seed, number])
            name = chosen.kinds[number % len(chosen.kinds)]
            ways = OF_BYTES if rng.random() < 0.2 else OF_CONTENT
            way = ways[int(rng.integers(len(ways)))]
            mutated = way(good[name], rng)
            path.write_bytes(mutated)
            faulthandler.dump_traceback_later(60, exit=True)  # a hang ends here, in compiled code too
            begin = time.perf_counter()
            try:
                found = "unchanged" if mutated == good[name] else try_file(path, with_memory=True)
            except Exception:
                found = "FAILED"
                print(f"seed {chosen.seed}, number {number}: {name}, {way.__name__}", file=sys.stderr)
                traceback.print_exc()
            slowest = max(slowest, time.perf_counter() - begin)
            faulthandler.cancel_dump_traceback_later()
            is_refused = not found.startswith(("loads", "unchanged", "FAILED"))
            counts[way.__name__]["refused" if is_refused else found] += 1
            if is_refused:
                reasons[found[:100] if found.startswith("unforeseen") else found.rpartition(": ")[2][:60]] += 1
    for way_name, table in counts.items():
        print(f"{way_name:<16}", dict(table))
    total = sum(sum(table.values()) for table in counts.values())
    refused = sum(table["refused"] for table in counts.values())
    for reason, n in reasons.items():
        if reason.startswith("unforeseen"):
            print(f"{n:6}  {reason}")
    print(f"{total} files of {len(chosen.kinds)} kinds: {refused} refused, slowest {slowest:.2f} s")
    for reason, n in reasons.most_common(25):
        print(f"{n:6}  {reason}")
    n_failed = sum(table["FAILED"] for table in counts.values())
    if n_failed:
        sys.exit(f"{n_failed} failed, see above")


if __name__ == "__main__":
    main()
