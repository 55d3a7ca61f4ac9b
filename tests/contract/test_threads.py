"""Threads inside and around models: fits and predictions give the same bits in any number of them, and after a fork."""

import multiprocessing
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import parallel_config

from softwood.kernel.growing import growing
from softwood.kernel.parts import sources
from softwood.kernel.rounds import newton, rounds
from softwood.trees import forest
from tests.contract.specs import SPECS, every
from tests.models import answer, assert_same_model

N_ROWS = 1500
N_BOOSTED = 17_000  # leaves of more than 16 384 rows are divided in threads
SECONDS = 60  # limit of a child process; a fit takes a fraction of a second
CASES = [pytest.param(spec, {}, id=spec.name) for spec in SPECS if "n_jobs" in spec.parameters]
CASES += [pytest.param(spec, {"growth": "level"}, id=f"{spec.name}-level") for spec in SPECS if spec.is_kernel]
every_case = pytest.mark.parametrize(("spec", "parameters"), CASES)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Divide small tables into as many pieces of work as large ones."""
    monkeypatch.setattr(forest, "_ROWS_PER_THREAD", 100)
    monkeypatch.setattr(growing, "_LONG", 1)
    monkeypatch.setattr(newton, "WORTH_THREADS", 1)
    monkeypatch.setattr(newton, "WORTH_DIVIDING", 1)
    monkeypatch.setattr(sources, "_SMALLEST_PART", 100)
    monkeypatch.setattr(rounds, "_BLOCK", 256)
    with parallel_config("threading"):  # forests of one-stage trees use processes otherwise
        yield


def fitted(spec, seed=0, **parameters):
    return spec.make(**parameters).fit(*spec.table(n=N_BOOSTED if "Boosting" in spec.name else N_ROWS, seed=seed))


def at_once(*works):
    """Results of functions that start at the same time, each in a thread."""
    start = threading.Barrier(len(works))

    def run(work):
        with parallel_config("threading"):  # the setting belongs to the thread
            start.wait(SECONDS)
            return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


@every_case
def test_same_bits_for_any_number_of_threads(spec, parameters, monkeypatch):
    X, _ = spec.table(n=N_ROWS, seed=1)
    started, start = [], threading.Thread.start

    def counted(thread):
        started.append(thread)
        start(thread)

    one = fitted(spec, n_jobs=1, **parameters)
    for n_jobs in (2, 3, -1):
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", counted)
            other = fitted(spec, n_jobs=n_jobs, **parameters)
        assert_same_model(one, other)
        assert np.array_equal(answer(one, X), answer(other, X))
    assert started


@every_case
def test_two_fits_at_once(spec, parameters):
    one, other = (fitted(spec, seed, n_jobs=2, **parameters) for seed in range(2))
    both = at_once(*(lambda seed=seed: fitted(spec, seed, n_jobs=2, **parameters) for seed in range(2)))
    assert_same_model(one, both[0])
    assert_same_model(other, both[1])


@every
def test_predictions_at_once(spec):
    """The first predictions also compute what later ones reuse."""
    model, (X, _) = fitted(spec), spec.table(n=N_ROWS, seed=1)
    expected = answer(model, X), model.predict(X), model.apply(X), model.memberships(X).toarray()
    methods = "predict", "apply", "memberships"
    new = fitted(spec)
    works = [lambda: answer(new, X), *(lambda name=name: getattr(new, name)(X) for name in methods)]
    found = at_once(*works * 2)
    for k, value in enumerate(found):
        assert np.array_equal(value.toarray() if k % 4 == 3 else value, expected[k % 4])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
@every_case
def test_fits_in_a_forked_process(spec, parameters):
    """The threads of a fit are not there in a child process: it needs its own, and must not wait for them."""
    here = fitted(spec, n_jobs=2, **parameters)
    X, _ = spec.table(n=N_ROWS, seed=1)
    expected = answer(here, X)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def fit():
        model = fitted(spec, n_jobs=2, **parameters)
        sender.send(np.array_equal(answer(model, X), expected) and np.array_equal(answer(here, X), expected))

    child = context.Process(target=fit, daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside other threads, which is what we test
        child.start()
    sender.close()
    try:
        assert receiver.poll(SECONDS), "the child process hangs"
        assert receiver.recv()
    finally:
        child.kill()
        child.join()
