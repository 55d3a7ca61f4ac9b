import re
import subprocess
import sys

import pytest
from sklearn.tree import DecisionTreeClassifier

import softwood
from softwood import KernelTreeClassifier
from softwood.cli import demo, main


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"softwood {softwood.__version__}\n"


def test_module_is_the_command():
    run = subprocess.run([sys.executable, "-m", "softwood", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"softwood {softwood.__version__}\n"


def test_without_a_command_it_says_what_there_is(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_demo_prints_a_table_and_saves_a_figure(capsys, tmp_path):
    figure = tmp_path / "surfaces.png"
    assert main(["demo", "--output", str(figure), "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert str(figure) in out
    header, *rows = re.search(r"^model.*\n(?:.+\n)+", out, flags=re.MULTILINE)[0].splitlines()
    assert header.split() == ["model", "accuracy", "log", "loss", "leaves", "fit", "predict"]
    assert len({len(line) for line in (header, *rows)}) == 1  # aligned
    assert [row[: row.index("   ")] for row in rows] == list(demo.demo_models(0))
    for row in rows:
        accuracy, loss, leaves = re.search(r"(\d\.\d+) +(\d+\.\d+) +(\d+) ", row).groups()
        assert 0.85 < float(accuracy) <= 1
        assert float(loss) > 0
        assert int(leaves) > 1


def test_demo_without_matplotlib(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    few = {"CART": DecisionTreeClassifier(), "kernel tree, small": KernelTreeClassifier(bandwidth=0.1, max_depth=2)}
    monkeypatch.setattr(demo, "demo_models", lambda seed: few)
    assert main(["demo", "--output", str(tmp_path / "none.png")]) == 0
    out = capsys.readouterr().out
    assert "CART" in out
    assert 'pip install "softwood[plots]"' in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("nowhere/figure.png", "there is no folder"),
        ("figure.txt", "must end in one of .png"),
        ("figure", "must end in"),
    ],
)
def test_demo_checks_its_output_first(file, message, capsys, tmp_path):
    assert main(["demo", "--output", str(tmp_path / file)]) == 2
    assert message in capsys.readouterr().err


def test_help_answers_at_once_and_imports_nothing_heavy():
    heavy = {"numpy", "pandas", "sklearn", "scipy", "rich", "matplotlib"}
    code = (
        "import sys, time; begin = time.process_time()\n"
        "from softwood.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print(time.process_time() - begin, *sorted({heavy!r} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *imported = run.stdout.splitlines()[-1].split()
    assert imported == []
    assert float(seconds) < 0.2


def test_every_verb_has_help(capsys):
    verbs = ["describe", "fit", "compare", "predict", "evaluate", "show", "explain", "export", "stream", "bench"]
    for verb in [*verbs, "demo"]:
        with pytest.raises(SystemExit) as stop:
            main([verb, "--help"])
        assert stop.value.code == 0
        assert f"softwood {verb}" in capsys.readouterr().out


def test_an_interrupt_is_told_in_one_line(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run_demo", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "softwood: interrupted\n"
