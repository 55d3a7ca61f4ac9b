import re
import subprocess
import sys

import pytest
from sklearn.tree import DecisionTreeClassifier

import softwood
from softwood import demo
from softwood.cli import main


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
    out, err = capsys.readouterr()
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert str(figure) in out
    assert "first run compiles" in out
    assert "[4/4] kernel boosting" in err
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
    monkeypatch.setattr(demo, "demo_models", lambda seed: {"CART": DecisionTreeClassifier(random_state=seed)})
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
    with pytest.raises(SystemExit):
        main(["demo", "--output", str(tmp_path / file)])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kernel-bush"], "there is no 'kernel-bush'; choose from finished-trees, kernel-tree"),
        (["-j", "0"], "must be at least 1, got 0"),
        (["-j", "two"], "invalid int value: 'two'"),
    ],
)
def test_compile_checks_its_arguments(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compile", *words])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_compile_lists_the_families(capsys):
    with pytest.raises(SystemExit):
        main(["compile", "--help"])
    assert "KernelTreeClassifier" in capsys.readouterr().out
