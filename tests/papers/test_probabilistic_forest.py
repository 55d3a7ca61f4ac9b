"""The script of the experiments with noise: data, runs that are stopped and go on, tables from made-up runs."""

import numpy as np
import pytest

from papers.probabilistic_forest import summary, tables


@pytest.mark.parametrize("setting", tables.LEVELS)
def test_noise_is_what_the_models_are_given(setting):
    level = tables.LEVELS[setting][-1]
    table, clean = tables.make_table(setting, level, 3), tables.make_table("complex labels", 0.0, 3)
    assert table.X.shape == (1000, 15)
    assert np.array_equal(table.y_test, clean.y_test)
    for found, true, deviations in (
        (table.X, clean.X, table.deviations),
        (table.X_test, clean.X_test, table.deviations_test),
    ):
        noisy = deviations > 0
        assert np.array_equal(found[~noisy], true[~noisy])
        if noisy.any():
            assert np.std((found - true)[noisy] / deviations[noisy]) == pytest.approx(1.0, abs=0.05)
    chance = table.shares[np.arange(1000), table.y]
    assert np.mean(table.y == clean.y) == pytest.approx(chance.mean(), abs=0.05)
    assert table.deviations.any() == (setting in ("simple noise", "complex noise"))
    assert table.deviations_test.any() == ("label" not in setting)


def test_runs_go_on_where_they_stopped_and_prf_is_optional(tmp_path, monkeypatch, capsys):
    quick = {"constant": lambda table, seed: np.zeros_like(table.y_test), "prf_10": tables.MODELS["prf_10"]}
    monkeypatch.setattr(tables, "MODELS", quick)
    monkeypatch.setitem(tables.sys.modules, "PRF", None)
    path = tmp_path / "runs.csv"
    tables.run(path, 1, 1.0)
    first = path.read_text()
    tables.run(path, 1, 1.0)
    assert path.read_text() == first
    assert len(first.splitlines()) == 1 + sum(map(len, tables.LEVELS.values()))
    assert "Skipped prf_10" in capsys.readouterr().out
    line = tables.RESULTS.read(path)[0]
    assert tables.repeat(line)["accuracy"] == pytest.approx(line["accuracy"], rel=1e-5)


def test_tables_and_the_picture(tmp_path):
    rows = [
        {
            "setting": "simple noise",
            "level": level,
            "model": model,
            "seed": seed,
            "accuracy": score + seed,
            "seconds": s,
        }
        for level in (0.5, 1.0)
        for model, score, s in (("prf_100", 80.0, 8.0), ("boosting", 81.0, 2.0))
        for seed in range(2)
    ]
    found = summary.sections(rows[:-1])  # a seed that not all models have does not count
    lines = found["accuracy"].splitlines()
    assert lines[0] == "| model | simple noise 0.5 | simple noise 1 |"
    assert lines[2] == "| PRF, 100 trees | 80.50 | 80.00 |"
    assert lines[3] == "| kernel boosting | **81.50** | **81.00** |"
    expected = "| kernel boosting | 2 of 2 | +1.00 | +1.00 | +1.00 | 4.0 | 4.0 | 4.0 |"
    assert found["differences"].splitlines()[2] == expected
    summary.write_picture(tmp_path / "picture.png", rows)
    assert (tmp_path / "picture.png").stat().st_size > 1000
