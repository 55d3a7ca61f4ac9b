"""Sources of `softwood.compiled.gradient`."""
