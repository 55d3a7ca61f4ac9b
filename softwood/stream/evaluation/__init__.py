"""Test then train: rows, models, scores, and the loop."""
