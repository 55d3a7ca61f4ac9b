"""Optional packages, and the commands that install them."""

from importlib import import_module
from typing import Any


def require(module: str, extra: str | None, purpose: str) -> Any:
    """Import a module of an optional package.

    Parameters
    ----------
    module : dotted name of the module
    extra : extra of softwood that installs the package; None: the package is installed by its own name
    purpose : what needs the package, such as "Drawing a surface"; the error message begins with it

    Raises
    ------
    ImportError
        If it is not installed, with the command that installs it.

    Examples
    --------
    >>> from softwood.core.extras import require
    >>> require("no_such_package", "plots", "Drawing a surface")
    Traceback (most recent call last):
    ImportError: Drawing a surface needs no_such_package. Install it with: pip install "softwood[plots]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        what = package if extra is None else f'"softwood[{extra}]"'
        raise ImportError(f"{purpose} needs {package}. Install it with: pip install {what}") from error
