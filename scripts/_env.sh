# Sourced by the other scripts: puts a virtual environment holding softwood first on the PATH.
#
#   softwood_env EXTRA
#
# installs the package, editable, with that extra. The environment is .venv, or SOFTWOOD_VENV;
# it is made with python3, or PYTHON. Installing is skipped while pyproject.toml stays the same.

softwood_env() {
    local extra=$1 python=${PYTHON:-python3} venv=${SOFTWOOD_VENV:-.venv}

    # a half-made environment has no pip: make it again
    if [[ ! -x $venv/bin/pip ]]; then
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
            echo "softwood needs Python 3.11 or later; $python is $("$python" --version 2>&1). Set PYTHON to another one." >&2
            return 1
        }
        echo "== making the environment $venv"
        "$python" -m venv "$venv"
    fi

    # The stamp holds what was installed, and from where: a moved repository is installed anew.
    local stamp=$venv/.softwood-$extra wanted
    wanted="$PWD $("$venv/bin/python" -c 'import hashlib; print(hashlib.sha256(open("pyproject.toml", "rb").read()).hexdigest())')"
    if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
        echo "== installing softwood[$extra] into $venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extra]"
        echo "$wanted" >"$stamp"
    fi

    PATH=$(cd "$venv/bin" && pwd):$PATH
    export PATH
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
