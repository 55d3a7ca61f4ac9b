"""Sources of `softwood.compiled.growing` and `softwood.compiled.boosting`."""
