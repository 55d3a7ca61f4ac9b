"""Inspecting finished trees: text, numbers and pictures, for trees of all families."""
