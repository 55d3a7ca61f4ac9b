"""Choices by held-out loss: bandwidth, number of leaves, settings of forests and of boosting."""
