"""The finished form of all models: `SoftTree`, `SoftForest`, and what is computed from them."""
