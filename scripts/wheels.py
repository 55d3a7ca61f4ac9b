"""Builds distributions, and tries them in environments of their own.

    python scripts/wheels.py release              what scripts/release does
    python scripts/wheels.py versions ARGUMENTS   what scripts/test --versions does; the arguments are those of pytest

The Pythons are those that pyproject.toml names; or, of these, only those in SOFTWOOD_PYTHONS, such as "3.11 3.12".

The environments are beside `.venv` and are made again each time:

    .venv-tools         what builds and installs: uv, build, twine; kept
    .venv-plain-3.12    the wheel and what it depends on, nothing else
    .venv-oldest-3.12   the oldest versions that pyproject.toml allows and that have wheels for this Python
    .venv-newest-3.12   the newest versions, and most optional packages
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = ROOT / ".venv-tools"
BIN = "Scripts" if os.name == "nt" else "bin"
DEPENDENCIES = ("numpy", "scipy", "scikit-learn", "joblib", "pandas")
# The contract is tested with frames, so pandas and polars are in both. PyTorch and Dask are in neither: they are large.
OLDEST = ["--resolution", "lowest-direct", "-r", "pyproject.toml", "--extra", "cli", "pandas>=2.2.2", "polars>=1.0"]
NEWEST = "[cli,onnx,plots,streams]"
NEWEST_BESIDE = ["lightgbm", "polars", "xgboost-cpu"]
TEST_TOOLS = ["hypothesis", "pytest"]
UNUSUAL = ("error", "failure", "skipped")  # elements of a test case in pytest's file of results


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, cwd=options.pop("cwd", ROOT), **options)


def output(*command, **options):
    return run(*command, stdout=subprocess.PIPE, text=True, **options).stdout.strip()


def tool(name, *arguments):
    """Run a tool; they are installed on first use."""
    if not shutil.which("uv", path=TOOLS / BIN):
        run(sys.executable, "-m", "venv", TOOLS)
        run(TOOLS / BIN / "pip", "install", "--quiet", "--disable-pip-version-check", "build", "twine", "uv")
    return output(TOOLS / BIN / name, *arguments)


def install(venv, *arguments):
    tool("uv", "pip", "install", "--quiet", "--only-binary", ":all:", "--python", venv, *arguments)


# ---------------------------------------------------------------- interpreters and environments


def supported_versions():
    names = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    return [name for name in names if name in os.environ.get("SOFTWOOD_PYTHONS", " ".join(names)).split()]


def find_python(version):
    """This version of Python: the one that runs this script, from the PATH, or from pyenv; None if there is none."""
    found = [sys.executable, shutil.which(f"python{version}")]
    if pyenv := shutil.which("pyenv"):
        found += sorted(Path(output(pyenv, "root"), "versions").glob(f"{version}.*/bin/python"), reverse=True)
    for python in filter(None, found):
        # a shim of pyenv may stand for no version at all
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        answer = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout
        if answer.strip() == version:
            return python
    return None


def new_environment(kind, version, python):
    venv = ROOT / f".venv-{kind}-{version}"
    tool("uv", "venv", "--quiet", "--clear", "--python", python, venv)
    return venv


def versions_in(venv):
    lines = tool("uv", "pip", "list", "--format", "freeze", "--python", venv).splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


# ---------------------------------------------------------------- what is done in them


def try_plainly(wheel, version, python):
    """Install the wheel alone, and try it where no compiler is on the PATH."""
    venv = new_environment("plain", version, python)
    install(venv, wheel)
    path = venv / BIN
    assert not any(shutil.which(name, path=path) for name in ("cc", "gcc", "clang")), "a compiler is on the PATH"
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "PYTHONPATH")}
    script = ROOT / "scripts" / "try_installed.py"
    # not in the repository, whose sources would be imported
    done = subprocess.run([path / "python", "-I", script], cwd=venv, env=environment | {"PATH": str(path)}, check=False)
    files = [file for file in (venv / "lib").rglob("*") if file.is_file() and not file.is_symlink()]
    size = f"{len(versions_in(venv))} packages, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB"
    return venv, f"{'FAILED' if done.returncode else 'works'}; {size}"


def test(venv, arguments):
    """Run a part of the suite on a copy of the tests, so that the installed package is tested."""
    suite = venv / "suite"
    shutil.rmtree(suite, ignore_errors=True)
    shutil.copytree(ROOT / "tests", suite / "tests")
    shutil.copy(ROOT / "pyproject.toml", suite)
    results = suite / "results.xml"
    command = [venv / BIN / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={results}"]
    done = subprocess.run([*command, *arguments], cwd=suite, stdin=subprocess.DEVNULL, check=False)
    cases = ElementTree.parse(results).findall(".//testcase") if results.exists() else []
    kinds = Counter(next((child.tag for child in case if child.tag in UNUSUAL), "passed") for case in cases)
    failed = kinds["failure"] + kinds["error"]
    verdict = f"{failed} FAILED" if done.returncode else "0 failed"
    return f"{kinds['passed']} passed, {kinds['skipped']} skipped, {verdict}"


def build_wheel(version, python):
    """The wheel of the sources as they are; one that is newer than all of them is not built again."""
    folder = ROOT / "build" / "wheels" / version
    names = output("git", "ls-files", "softwood", "tools", "meson.build", "pyproject.toml", "README.md").splitlines()
    changed = max((ROOT / name).stat().st_mtime for name in names if (ROOT / name).exists())
    if not any(wheel.stat().st_mtime > changed for wheel in folder.glob("*.whl")):
        print(f"== building a wheel for Python {version}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        tool("uv", "build", "--quiet", "--wheel", "--python", python, "--out-dir", folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


# ---------------------------------------------------------------- the commands


def test_versions(arguments):
    lines = []

    def add(venv, result):
        versions = versions_in(venv)
        shown = "  ".join(f"{name} {versions[name]}" for name in DEPENDENCIES if name in versions)
        lines.append(f"{venv.name.removeprefix('.venv-'):<12}  {result:<44}  {shown}")
        print(f"== {lines[-1]}", flush=True)

    for version in supported_versions():
        python = find_python(version)
        if python is None:
            lines.append(f"{version:<12}  left out: this machine has no Python {version}")
            continue
        wheel = build_wheel(version, python)
        add(*try_plainly(wheel, version, python))

        oldest = new_environment("oldest", version, python)
        install(oldest, *OLDEST)
        install(oldest, "--no-deps", wheel)
        install(oldest, *TEST_TOOLS)
        add(oldest, test(oldest, arguments))

        newest = new_environment("newest", version, python)
        install(newest, f"{wheel}{NEWEST}", *NEWEST_BESIDE, *TEST_TOOLS)
        add(newest, test(newest, arguments))
    print("== versions", *lines, sep="\n")
    return any("FAILED" in line for line in lines)


def release():
    if output("git", "status", "--porcelain"):
        sys.exit("A source distribution holds what is committed. Commit or remove the changes that git status shows.")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    tool("uv", "--version")  # installs the tools
    run(TOOLS / BIN / "python", "-m", "build", "--installer", "uv")  # the wheel is built from the source distribution
    files = sorted((ROOT / "dist").iterdir())
    run(TOOLS / BIN / "twine", "check", "--strict", *files)
    (wheel,) = (file for file in files if file.suffix == ".whl")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    result = try_plainly(wheel, version, sys.executable)[1]
    for file in files:
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.1f} MB")
    print(f"the wheel in an environment of its own: {result}")
    return "FAILED" in result


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or [""]
    if command not in ("release", "versions"):
        sys.exit(__doc__)
    sys.exit(release() if command == "release" else test_versions(arguments))
