"""From a table to bins: kernels, bandwidths, measurement errors, and the training data, binned once."""
