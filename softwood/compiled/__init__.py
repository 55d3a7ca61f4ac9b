"""The compiled loops, in one module a unit. Their sources are in the folders ``loops`` of the families; see meson.build."""

UNITS = ("boosting", "growing", "trees")
