"""The compiled loops: one module a unit, see meson.build. Their sources are the folders ``loops`` of the families."""

from importlib import import_module

UNITS = ("trees", "growing", "gradient", "stream", "explain", "layers", "boosting")


def use_sources() -> None:
    """Replace the compiled functions by their sources, for tests and traces.

    Must be called before other modules import functions from the units.
    """
    for name in UNITS:
        unit = import_module(f"softwood.compiled.{name}")
        for attribute, source in unit.SOURCES.items():
            setattr(unit, attribute, getattr(import_module(source), attribute))
