"""Files of all format versions load, and their models say what they said."""

import gzip
import json

import numpy as np
import pytest

import softwood
from softwood.files.container import FORMAT_VERSION
from tests.files.golden import FOLDER
from tests.files.models import NAMES, answers, learn_on

FILES = sorted(FOLDER.rglob("*.softwood.gz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name.partition('.softwood')[0]}")
def test_old_files_load(path, tmp_path):
    plain = tmp_path / "model.softwood"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    model = softwood.load(plain)
    expected = json.loads(path.with_name(path.name.replace(".softwood.gz", ".json")).read_text(encoding="utf-8"))
    np.testing.assert_allclose(answers(model), expected, rtol=1e-9, atol=1e-12)
    assert np.isfinite(answers(learn_on(model))).all()
    softwood.save(model, plain)


def test_every_kind_has_a_file_of_the_present_version():
    found = {path.name.removesuffix(".softwood.gz") for path in FILES if path.parent.name == f"version{FORMAT_VERSION}"}
    assert {name.replace(" ", "_") for name in NAMES} <= found
