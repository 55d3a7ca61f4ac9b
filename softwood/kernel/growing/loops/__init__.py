"""Sources of the compiled loops that grow kernel trees."""
