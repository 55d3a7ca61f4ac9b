"""Looking at finished trees: text, numbers and pictures. All of it reads `SoftTree` alone."""
