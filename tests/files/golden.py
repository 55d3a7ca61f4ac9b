"""Files of every format version, which must always load.

    python tests/files/golden.py

writes those of the present version that are not there yet: one of each kind, compressed, and what its model says of the
rows of `tests.files.models.answers`. Existing files are never written again. (The answers of kernel models were, once:
since 0.2, predictions have no cutoff.)
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import softwood
from softwood.files.container import FORMAT_VERSION
from tests.files.models import NAMES, answers, fitted

FOLDER = Path(__file__).parent / "golden"


def main() -> None:
    folder = FOLDER / f"version{FORMAT_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in NAMES:
            path = folder / f"{name.replace(' ', '_')}.softwood.gz"
            if path.exists():
                continue
            plain = Path(scratch) / "model.softwood"
            softwood.save(fitted(name), plain)
            path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
            said = json.dumps(answers(fitted(name)).tolist())
            path.with_name(path.name.replace(".softwood.gz", ".json")).write_text(said + "\n", encoding="utf-8")
            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
