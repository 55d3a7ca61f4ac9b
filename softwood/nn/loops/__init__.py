"""Sources of `softwood.compiled.layers`."""
