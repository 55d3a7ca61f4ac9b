import pytest

from softwood.cli.main import main


@pytest.fixture
def explain(folder, capsys, monkeypatch):
    """What ``softwood explain`` prints in the folder of a test."""
    monkeypatch.chdir(folder)

    def call(*words):
        capsys.readouterr()
        assert main(["explain", *words]) == 0
        return capsys.readouterr().out

    return call
