"""Progress without callbacks: `verbose` and ``history_``, for all estimators that are fitted to a whole table."""

import numpy as np

from tests.contract.specs import every_batch
from tests.models import answer


@every_batch
def test_verbose_prints(spec, capsys):
    X, y = spec.table()
    for verbose in (0, 1, 2):
        model = spec.make(verbose=verbose).fit(X, y)
        lines = capsys.readouterr().out.splitlines()
        assert all(line.startswith(f"[{spec.name}] ") and line.endswith(" s") for line in lines)
        assert bool(lines) >= (verbose == 2)
        assert verbose > 0 or not lines
        if verbose == 2 and hasattr(model, "history_"):
            assert len(lines) == sum(line["iteration"] > 0 for line in model.history_)
        assert np.array_equal(answer(model, X), answer(spec.fitted(), X))


@every_batch
def test_history_is_a_plain_table(spec):
    model = spec.fitted()
    lines = getattr(model, "history_", [])
    for name in dict.fromkeys(line["stage"] for line in lines):
        numbers = [line["iteration"] for line in lines if line["stage"] == name]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert numbers[0] in (0, 1)
    values = [value for line in lines for value in line.values()]
    assert all(isinstance(value, int | float | str | bool) or value is None for value in values)
