"""Versions of scikit-learn without callbacks: what is printed and kept is the same."""

import subprocess
import sys
from importlib.util import find_spec

import softwood

SCRIPT = """
import sys
import numpy as np
import sklearn.ensemble, sklearn.metrics, sklearn.model_selection  # which import the callbacks themselves

sys.modules["sklearn.callback"] = None  # as in a version that has none
import softwood

X = np.linspace(0.0, 1.0, 40)[:, None]
for name in sys.argv[1:]:
    model = getattr(softwood, name)(verbose=2, random_state=0)
    assert not hasattr(model, "set_callbacks")
    model.fit(X, X[:, 0] > 0.5)
    print(model.history_ if hasattr(model, "history_") else "")
    print(model.predict_proba(X).sum(axis=0))
"""
NAMES = ["KernelForestClassifier", "KernelBoostingClassifier", "SoftTreeClassifier", "OneStageForestClassifier"]


def printed(script):
    done = subprocess.run(
        [sys.executable, "-c", script, *NAMES], capture_output=True, text=True, check=True, timeout=120
    )
    return [line.rpartition(",")[0] if line.endswith(" s") else line for line in done.stdout.splitlines()]  # no times


def test_the_steps_are_the_same_without_callbacks():
    without = printed(SCRIPT)
    assert {f"[{name}]" for name in NAMES} <= {line.partition(" ")[0] for line in without}
    if find_spec("sklearn.callback"):
        with_them = SCRIPT.replace('sys.modules["sklearn.callback"] = None', "").replace("not hasattr", "hasattr")
        assert printed(with_them) == without


def test_estimators_take_callbacks_where_scikit_learn_has_them():
    assert hasattr(softwood.KernelTreeClassifier, "set_callbacks") == bool(find_spec("sklearn.callback"))
