"""Sources of `softwood.compiled.trees`."""
