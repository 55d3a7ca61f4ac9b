"""Boosting: one Newton tree, the rounds, and the losses of held-out rows."""
