"""Sources of `softwood.compiled.stream`."""
