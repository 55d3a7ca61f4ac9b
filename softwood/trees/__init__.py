"""Loops of finished trees."""
