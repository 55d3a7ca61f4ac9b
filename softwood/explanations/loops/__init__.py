"""Sources of `softwood.compiled.explain`."""
