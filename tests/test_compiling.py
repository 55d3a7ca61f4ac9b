import io
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from numba.core.caching import IndexDataCacheFile

from softwood import compiling
from softwood.cli import main
from softwood.compiling import FAMILIES, Compiled, Progress, compile_jobs, compile_loops, jobs_of
from softwood.compiling_jobs import JOBS

COMMAND = [sys.executable, "-m", "softwood", "compile"]
# A first fit of a user, with other sizes and types than those of the jobs; prints what was not in the cache.
FIRST_FIT = """
import numpy as np
from softwood import BuddingTreeClassifier, EndToEndTreeRegressor
from softwood.compiling import _n_compiled

X = np.asfortranarray(np.random.default_rng(1).normal(size=(90, 5)).astype(np.float32))
y = np.array(["ant", "bee"])[(X[:, 0] > X[:, 1]).astype(int)]
tree = BuddingTreeClassifier(max_depth=3, max_iter=2, random_state=0).fit(X, y)
tree.predict(X), tree.predict_proba(X), tree.memberships(X), tree.input_gradient(X)
tree = EndToEndTreeRegressor(max_depth=2, level_max_iter=1, max_iter=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
tree.predict(X), tree.apply(X)
print(_n_compiled())
"""
ONE_STAGE_FIT = """
import numpy as np
from softwood import OneStageForestRegressor, OneStageTreeClassifier, OneStageTreeRegressor
from softwood.compiling import _n_compiled

X = np.asfortranarray(np.random.default_rng(1).normal(size=(90, 5)).astype(np.float32))
y = np.array(["ant", "bee"])[(X[:, 0] > X[:, 1]).astype(int)]
for way in ({}, {"init": "linear"}, {"init": "fitted"}, {"architecture": "proximal"}):
    for model, target in ((OneStageTreeClassifier, y), (OneStageTreeRegressor, X[:, 0] * X[:, 1])):
        tree = model(max_depth=3, max_iter=2, random_state=0, warm_start=True, **way).fit(X, target).fit(X, target)
        tree.predict(X), tree.memberships(X), tree.apply(X), tree.input_gradient(X)
forest = OneStageForestRegressor(2, max_depth=2, tree_parameters={"max_iter": 2}, random_state=0).fit(X, X[:, 0])
forest.predict(X)
print(_n_compiled())
"""


def end_or_work(family, kind):
    """In place of a job, in a worker process."""
    if kind == "that ends":
        os._exit(3)
    return Compiled(1, 0.5)


class Lock:
    def __init__(self, done):
        self.done = done

    def __enter__(self):
        self.done.append("taken")

    def __exit__(self, *error):
        self.done.append("given back")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def processes_of(folder):
    """Processes with this folder of compiled code, by number; on Linux."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                found += [number] if str(folder).encode() in file.read() else []
        except OSError:  # it has ended, or belongs to somebody else
            pass
    return found


def test_the_command_lists_what_there_is():
    assert [*FAMILIES] == [*JOBS]
    assert all(JOBS.values())


def test_every_job_comes_once_and_shared_code_first():
    jobs = jobs_of([*FAMILIES])
    assert Counter(jobs) == Counter((family, kind) for family in JOBS for kind in JOBS[family])
    assert jobs[0][0] == "finished-trees"
    assert jobs[-1][0] == "discriminant"
    first = [family for family, _ in jobs if family != "finished-trees"]
    assert len(set(first[:5])) == 5  # families take turns
    assert jobs_of(["generators", "boosting"])[:2] == [("boosting", "one thread"), ("generators", "streams")]


def test_what_was_compiled_is_there_for_a_new_process(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [*COMMAND, "budding", "end-to-end", "-j", "2"], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.startswith("Compiled ")
    assert str(tmp_path) in run.stdout
    assert [line.partition(":")[0] for line in sorted(run.stderr.splitlines())] in (
        ["[1/2] budding, classes and targets", "[2/2] end-to-end, classes and targets"],
        ["[1/2] end-to-end, classes and targets", "[2/2] budding, classes and targets"],
    )
    assert list(tmp_path.rglob("*.nbc"))
    fit = subprocess.run([sys.executable, "-c", FIRST_FIT], capture_output=True, text=True, check=True, env=environment)
    assert fit.stdout.split() == ["0"]


def test_one_stage_trees_are_compiled_for_all_ways_of_training(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([*COMMAND, "one-stage-forest"], capture_output=True, check=True, env=environment)
    subprocess.run([*COMMAND, "one-stage"], capture_output=True, check=True, env=environment)
    fit = subprocess.run(
        [sys.executable, "-c", ONE_STAGE_FIT], capture_output=True, text=True, check=True, env=environment
    )
    assert fit.stdout.split() == ["0"]


def test_a_job_that_fails_is_told_and_the_others_go_on(capsys, monkeypatch):
    jobs = [("generators", "no such kind"), ("generators", "streams")]
    monkeypatch.setattr(compiling, "jobs_of", lambda families: jobs)
    assert compile_loops(["generators"], 1) == 1
    out, err = capsys.readouterr()
    assert "failed: generators, no such kind: KeyError" in err
    assert "1 of 2 jobs failed: generators no such kind" in err
    assert "[2/2] generators, streams" in err
    assert out.startswith("Compiled ")


def test_a_process_that_ends_is_told_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(compiling, "_run", end_or_work)
    stream = io.StringIO()
    jobs = [("a family", "that ends"), ("a family", "that works"), ("a family", "that works as well")]
    results = compile_jobs(jobs, 2, Progress(3, stream))
    assert results[jobs[0]].error == "the process that worked on it has ended"
    assert [results[job] for job in jobs[1:]] == [Compiled(1, 0.5)] * 2
    assert "failed: a family, that ends: " in stream.getvalue()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals and processes are looked at in Linux's way")
def test_an_interrupt_ends_all_processes(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.Popen(
        [*COMMAND, "kernel-tree", "-j", "2"], stderr=subprocess.PIPE, text=True, env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # in the background it is ignored
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not list(tmp_path.rglob("*.nbc")) and time.monotonic() < deadline:
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Interrupted" in err
    assert "Traceback" not in err
    assert not processes_of(tmp_path)


@pytest.mark.parametrize("name", ["load", "save"])
def test_the_cache_is_used_in_turn(name, monkeypatch):
    """Two processes that save code of the same function at once would take the same number for it."""
    done = []
    for method in ("load", "save"):
        monkeypatch.setattr(IndexDataCacheFile, method, lambda *arguments, method=method: done.append(method))
    compiling._use_cache_in_turn(Lock(done))
    getattr(IndexDataCacheFile, name)("the file", "a key")
    assert done == ["taken", name, "given back"]


def test_without_a_place_for_the_cache(capsys, monkeypatch):
    monkeypatch.setattr(compiling, "cache_folder", lambda: None)
    assert main(["compile"]) == 1
    assert "Set NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_progress_is_one_line_on_a_terminal():
    stream = Terminal()
    progress = Progress(2, stream)
    progress.show("the first")
    progress.step("the first")
    progress.tell("something to know")
    progress.step("the second")
    progress.close()
    assert "[............" in stream.getvalue()
    assert "############] 2/2" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_is_a_line_for_each_step_elsewhere():
    stream = io.StringIO()
    progress = Progress(2, stream)
    for name in ("one", "two"):
        progress.show(name)
        progress.step(name)
    progress.close()
    assert stream.getvalue() == "[1/2] one\n[2/2] two\n"


def test_compiled_functions_are_counted_in_all_loops():
    code = (
        "import importlib, pkgutil, softwood.loops\n"
        "for module in pkgutil.iter_modules(softwood.loops.__path__):\n"
        "    importlib.import_module('softwood.loops.' + module.name)\n"
        "print(softwood.compiling._n_compiled())"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import softwood.compiling\n" + code], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "0"
