"""Sources of the compiled loops of boosting."""
