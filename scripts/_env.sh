# Sourced by the other scripts: puts a virtual environment holding softwood first on the PATH.
#
#   softwood_env EXTRA
#
# installs the package, editable, with that extra, and builds its compiled loops. The environment is .venv, or SOFTWOOD_VENV;
# it is made with python3, or PYTHON. Installing is skipped while pyproject.toml stays the same; loops whose sources have
# changed are built again when softwood is imported.

softwood_env() {
    local extra=$1 python=${PYTHON:-python3} venv=${SOFTWOOD_VENV:-.venv}

    command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || {
        echo "softwood is built with a C compiler, and none was found (Debian: apt-get install gcc; macOS: xcode-select --install)." >&2
        return 1
    }

    # a half-made environment has no pip: make it again
    if [[ ! -x $venv/bin/pip ]]; then
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
            echo "softwood needs Python 3.11 or later; $python is $("$python" --version 2>&1). Set PYTHON to another one." >&2
            return 1
        }
        echo "== making the environment $venv"
        "$python" -m venv "$venv"
    fi
    PATH=$(cd "$venv/bin" && pwd):$PATH
    export PATH

    # The stamp holds what was installed, and from where: a moved repository is installed again.
    local stamp=$venv/.softwood-$extra wanted
    wanted="$PWD $(python -c 'import hashlib; print(hashlib.sha256(open("pyproject.toml", "rb").read()).hexdigest())')"
    if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
        local pip=(python -m pip install --disable-pip-version-check) log=$venv/install.log tools
        # Editable packages are built again on import, so the build tools stay in the environment.
        mapfile -t tools < <(python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "ninja", sep="\n")')
        echo "== installing the build tools into $venv"
        "${pip[@]}" --quiet "${tools[@]}"
        echo "== installing softwood[$extra] into $venv, and building its compiled loops"
        # The scripts set pipefail, so the pipe fails if pip does; grep may find nothing to show.
        if ! "${pip[@]}" --verbose --no-build-isolation --editable ".[$extra]" 2>&1 | tee "$log" |
            { grep --line-buffered -oE '^ *\[[0-9]+/[0-9]+\] [A-Za-z]+|Downloading [^ ]+ \([0-9.]+ MB\)' || true; }; then
            tail -n 40 "$log" >&2
            return 1
        fi
        echo "$wanted" >"$stamp"
    fi
}

# softwood_browser
#
# installs Debian's Chromium for the tests of the report, if it is missing, and apt-get is there and may install it.
# Without a browser, these tests fail and say what is missing.

softwood_browser() {
    local install="apt-get install --quiet --yes --no-install-recommends chromium chromium-driver"

    if command -v chromedriver >/dev/null || ! command -v apt-get >/dev/null || [[ $(id -u) -ne 0 ]]; then
        return
    fi
    echo "== installing Chromium"
    { $install || { apt-get update --quiet && $install; }; } >/dev/null || echo "Chromium could not be installed." >&2
}
