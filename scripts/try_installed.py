"""Tries an installed softwood, without test tools: models are fitted, saved and loaded, and the command line answers.

    python scripts/try_installed.py

is run by `scripts/release`, by `scripts/test --versions` and on the wheels of every system. It needs only what
`pip install softwood` installs.
"""

import importlib
import importlib.metadata
import importlib.util
import pickle
import subprocess
import sys
import sysconfig
import tempfile
from inspect import signature
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

import softwood
from softwood import compiled, stream

# scores of models that learned something; with other seeds, the lowest ones are 0.87 and 0.51
WORST = {"Classifier": 0.75, "Regressor": 0.3}
# modules that need another package, that package, and the extra that installs it
OPTIONAL = (("nn", "torch", "torch"), ("dask", "distributed", "dask"), ("stream.river", "river", "streams"))


def check_that_it_is_the_installed_package():
    assert softwood.__version__ == importlib.metadata.version("softwood")
    for module in (softwood, *(importlib.import_module(f"softwood.compiled.{name}") for name in compiled.UNITS)):
        assert Path(module.__file__).is_relative_to(sys.prefix), f"{module.__file__} is not in {sys.prefix}"


def check_models():
    kinds = ("Classifier", "Regressor")
    classes = [getattr(home, name) for home in (softwood, stream) for name in home.__all__ if name.endswith(kinds)]
    models = [each(**{"random_state": 0} if "random_state" in signature(each).parameters else {}) for each in classes]
    assert len(models) > 20
    tables = {"Classifier": load_iris(return_X_y=True), "Regressor": load_diabetes(return_X_y=True)}
    for model in models:
        kind = "Classifier" if type(model).__name__.endswith("Classifier") else "Regressor"
        X, y = (part[::2] for part in tables[kind])
        model.fit(X, y)
        predicted = model.predict(X)
        is_stream = type(model).__name__ in stream.__all__  # for which these rows are few
        assert is_stream or model.score(X, y) > WORST[kind], model
        assert len(predicted) == len(X), model
        with tempfile.TemporaryDirectory() as folder:
            softwood.save(model, Path(folder) / "model.softwood")
            again = softwood.load(Path(folder) / "model.softwood")
        assert np.array_equal(again.predict(X), predicted), model
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), predicted), model
    return len(models)


def check_messages():
    for module, package, extra in OPTIONAL:
        if importlib.util.find_spec(package) is None:
            message = ""
            try:
                importlib.import_module(f"softwood.{module}")
            except ImportError as error:
                message = str(error)
            assert message.endswith(f'pip install "softwood[{extra}]"'), f"softwood.{module}: {message}"


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def check_command_line():
    command = Path(sysconfig.get_path("scripts")) / "softwood"
    for call in ([command], [sys.executable, "-m", "softwood"]):
        assert printed(*call, "--version") == f"softwood {softwood.__version__}\n"
        assert "usage: " in printed(*call, "--help")


if __name__ == "__main__":
    check_that_it_is_the_installed_package()
    n_models = check_models()
    check_messages()
    check_command_line()
    print(f"softwood {softwood.__version__}: {n_models} models fitted, saved and loaded")
